"""The description of a periodic query: all that the rules of sharing have to know of it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from windrow.core.errors import WindrowError
from windrow.sharing.rules.dnf import EVERYTHING, Predicate
from windrow.sharing.rules.interval_contents import Aggregate, Contents


@dataclass(frozen=True)
class PeriodicQuery:
    """Aggregates over a sliding window, or over a join of two (Golab 2006, 8.1 and 8.3).

    ``source`` names the stream, or the join with its condition; the same text means the same
    tuples. ``windows`` are the lengths, one or two; ``slide`` is the period. Lengths, periods and
    instants are in ticks of the source's clock (rows, if the window counts rows). Windows move at
    multiples of their slide, so synopses with the same s are updated at the same instants: they
    are *aligned* in the sense of SS2. ``finish`` is what becomes of the aggregates (HAVING, TOP):
    only CS8, by which answers are shared, looks at it.
    """

    name: str
    source: str
    aggregates: tuple[Aggregate, ...]
    windows: tuple[int, ...]
    slide: int
    predicate: Predicate = EVERYTHING
    group_by: tuple[str, ...] = ()
    priority: int = 0
    finish: str = ""

    def __post_init__(self) -> None:
        if not self.aggregates or len(self.windows) not in (1, 2):
            raise WindrowError(
                where=f"query {self.name}",
                expected="an aggregate over one window or a join of two",
                found=f"{len(self.aggregates)} aggregates, {len(self.windows)} windows",
            )
        if self.slide < 1 or min(self.windows) < 1:
            raise WindrowError(
                where=f"query {self.name}",
                expected="a window and a period of at least one tick",
                found=f"windows {self.windows}, SLIDE {self.slide}",
            )

    @property
    def window(self) -> int:
        """The longest window: that of a query without a join is its only one."""
        return max(self.windows)

    @property
    def grain(self) -> int:
        """The coarsest s that divides the windows and the period."""
        return math.gcd(*self.windows, self.slide)

    @property
    def needs(self) -> tuple[Contents, ...]:
        """What its aggregates are computed from, each once."""
        return tuple(dict.fromkeys(c for a in self.aggregates for c in a.needs))

    @property
    def has_one_grain(self) -> bool:
        """Whether no other s gives its answers; see ``Contents.depends_on_cut``."""
        return any(contents.depends_on_cut for contents in self.needs)

    def fits(self, s: int) -> bool:
        """Whether the windows and the period are multiples of s (8.4.1)."""
        return self.grain == s if self.has_one_grain else self.grain % s == 0

    def period(self, s: int) -> int:
        """The period in updates of synopses with this s."""
        return self.slide // s
