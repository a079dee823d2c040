"""The obvious way: every interval is compared with every point."""

from __future__ import annotations

import numpy as np

from windrow.papers.interval_indexes import LogarithmicConstructs, SimpleConstructs
from windrow.subscriptions.indexes import (
    ContainmentEncoded,
    GriddedIntervals,
    IntervalIndex,
    IntervalSkipList,
    UnitIntervals,
)

MIN, MAX = -(2**63), 2**63 - 1
RANGED = (UnitIntervals, SimpleConstructs, LogarithmicConstructs, ContainmentEncoded)
Pairs = list[tuple[int, int]]


class EveryInterval:
    """The slow twin of every index."""

    def __init__(self) -> None:
        self.held: dict[int, tuple[int, int]] = {}

    def insert(self, ids, lo, hi) -> None:
        self.held.update(zip(ids, zip(lo, hi, strict=True), strict=True))

    def remove(self, ids) -> None:
        for i in ids:
            del self.held[i]

    def search(self, points) -> Pairs:
        return sorted(
            (row, i)
            for row, x in enumerate(points)
            for i, (lo, hi) in self.held.items()
            if lo <= x < hi or (hi == MAX and lo <= x and lo < hi)
        )


def ints(values) -> np.ndarray:
    return np.array(values, np.int64)


def stabbed(index: IntervalIndex, points) -> Pairs:
    """What a search gives, sorted, having seen that rows come in order."""
    rows, ids = index.search(ints(points))
    assert rows.dtype == ids.dtype == np.int64
    assert (np.diff(rows) >= 0).all()
    return sorted(zip(rows.tolist(), ids.tolist(), strict=True))


def of_every_kind(low: int, high: int, length: int | None = None) -> list[IntervalIndex]:
    return [kind(low, high, length) for kind in RANGED] + [IntervalSkipList(), GriddedIntervals()]
