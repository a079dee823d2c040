"""How often a task with one of several periods is due: the share of updates."""

from __future__ import annotations

import math
from collections.abc import Iterable

LONGEST_HORIZON = 27_720
"""Shares are counted over the least common multiple of the periods, or over so many updates if it
is longer; it is a multiple of most small numbers, so the difference is in the fourth digit."""


class DueUpdates:
    """Multiples of periods as bits of a number, one for each update of the horizon.

    >>> due = DueUpdates([5, 2, 3])
    >>> due.horizon, due.share(due.multiples[2] | due.multiples[3]) == 2 / 3
    (30, True)
    """

    def __init__(self, periods: Iterable[int]) -> None:
        distinct = set(periods)
        self.horizon = min(math.lcm(*distinct), LONGEST_HORIZON)
        self.multiples = {p: _multiples(p, self.horizon) for p in distinct}

    def share(self, bits: int) -> float:
        """The share of updates that have a bit: at which a task is due."""
        return bits.bit_count() / self.horizon


def _multiples(period: int, horizon: int) -> int:
    """A bit for each multiple of the period from 1 to the horizon, doubled as long as it fits."""
    if period > horizon:
        return 0
    bits, count = 1 << (period - 1), 1
    wanted = horizon // period
    while count < wanted:
        step = min(count, wanted - count)
        bits |= (bits & ((1 << step * period) - 1)) << count * period
        count += step
    return bits
