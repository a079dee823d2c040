"""When numbers that were given to values are looked through for unused ones.

Numbers are given one after another and never taken back one by one (``windrow.columns.interner``);
when most of them are unused, those in use get new ones.
"""

from __future__ import annotations

from windrow.core.thresholds import Threshold

FEW = Threshold(4096)
"""Numbers that are too few to be worth looking for unused ones among them."""
GROWTH = Threshold(2, least=1)
"""How much more numbers there are when they are looked through again."""
SPARSE = Threshold(4, least=1)
"""How many numbers there are for each used one when they are renewed."""


class Crowding:
    """When numbers are looked through for unused ones: after they have doubled, or nearly so.

    They are renewed only if three quarters are unused, so each renewal is paid for.
    """

    def __init__(self) -> None:
        self._limit = FEW.value

    def is_due(self, size: int) -> bool:
        """Whether it is time to look."""
        return size >= self._limit

    def renewal_pays(self, size: int, live: int) -> bool:
        """Whether the live ones are so few that a renewal pays; sets the time of the next look."""
        few = size > SPARSE.value * live
        self._limit = max(SPARSE.value * live if few else GROWTH.value * size, FEW.value)
        return few
