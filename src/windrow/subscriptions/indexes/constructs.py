"""Query indexes over virtual constructs: what UI, SCI, LCI and CEI have in common.

A *virtual construct* is one of the intervals, fixed in advance, that query intervals are cut into.
Each construct has a list of the ids of the queries that it is a piece of; a point finds its
queries in the lists of the few constructs that cover it, with no comparison of bounds (Wu, Chen,
Yu 2004, 2). A *layout* says which constructs there are over ``r`` cells: how an interval is cut,
and which of them cover a cell.

The cells are ``[low, high)``, the range that is expected. What lies beyond is kept right: the part
of an interval inside goes into constructs; if it sticks out it is also among the *outsiders*,
which points outside are compared with. When outsiders with an end out there become many, the
range grows to take them in.

Bulk changes rebuild the lists; small ones edit them. When the intervals have changed by half, the
maximal length is chosen anew and the lists are rebuilt if another is clearly better, so that all
of this is O(1) per change, amortised.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Protocol

import numpy as np

from windrow.columns.arrays import Bools, Int64s
from windrow.subscriptions.indexes.base import MAX, MIN, Bounds
from windrow.subscriptions.indexes.batches import Collect, pairs
from windrow.subscriptions.indexes.idlists import IdLists, Int32s

MOST_CELLS = 2**26
FEW = 64
"""Outsiders that are not worth growing the range for."""


class Layout(Protocol):
    """Which virtual constructs there are; one list for each."""

    @property
    def lists(self) -> int: ...

    def pieces(self, lo: Int64s, hi: Int64s) -> tuple[Int64s, Int32s]:
        """The constructs of each interval: offsets, and construct numbers from each offset."""

    def collector(self, lists: IdLists) -> Collect: ...


class ConstructIndex(ABC):
    """See the module. ``length`` is the maximal length L of a construct, chosen if not given."""

    def __init__(self, low: int, high: int, length: int | None = None) -> None:
        self._low, self._high = low, max(high, low + 1)
        self._given = length
        self._bounds = Bounds()
        self._outside = np.zeros(0, np.int64)
        self._changes = 0
        self.layout = self._layout(self._high - self._low, length or 1)
        self._lists = IdLists(self.layout.lists)

    @abstractmethod
    def _layout(self, cells: int, length: int) -> Layout:
        """The constructs over so many cells."""

    @abstractmethod
    def _best_length(self, cells: int, lo: Int64s, hi: Int64s) -> int:
        """The maximal length for intervals such as these."""

    def __len__(self) -> int:
        return self._bounds.count

    @property
    def nbytes(self) -> int:
        return self._bounds.nbytes + self._lists.nbytes + self._outside.nbytes

    @property
    def range(self) -> tuple[int, int]:
        """The cells that have constructs."""
        return self._low, self._high

    def insert(self, ids: Int64s, lo: Int64s, hi: Int64s) -> None:
        self._bounds.add(ids, lo, hi)
        if 24 * len(ids) > self._lists.headers.size // 20 + 8 * len(self) or self._changed(ids):
            self._rebuild()
            return
        first, last = self._clipped(lo, hi)
        offsets, lists = self.layout.pieces(first, last)
        self._lists.push(lists, np.repeat(ids, np.diff(offsets)).astype(np.int32))
        sticks_out = self._sticks_out(lo, hi)
        if sticks_out.any():
            self._outside = np.concatenate([self._outside, ids[sticks_out]])

    def remove(self, ids: Int64s) -> None:
        lo, hi = self._bounds.drop(ids)
        if self._changed(ids):
            self._rebuild()
            return
        first, last = self._clipped(lo, hi)
        _, lists = self.layout.pieces(first, last)
        self._lists.drop(lists, self._bounds.live)
        if self._sticks_out(lo, hi).any():
            self._outside = self._outside[self._bounds.live[self._outside]]

    def search(self, points: Int64s) -> tuple[Int64s, Int64s]:
        inside = (points >= self._low) & (points < self._high)
        if inside.all():
            return self._search_inside(points)
        rows = np.flatnonzero(inside)
        of, ids = self._search_inside(points[rows])
        more_rows = np.flatnonzero(~inside)
        more_of, more_ids = self._search_outside(points[more_rows])
        of = np.concatenate([rows[of], more_rows[more_of]])
        order = np.argsort(of, kind="stable")
        return of[order], np.concatenate([ids, more_ids])[order]

    def _search_inside(self, points: Int64s) -> tuple[Int64s, Int64s]:
        cells = (points - self._low).astype(np.int32)
        return pairs(cells, self._high - self._low, self.layout.collector(self._lists))

    def _search_outside(self, points: Int64s) -> tuple[Int64s, Int64s]:
        lo, hi = self._bounds.lo[self._outside], self._bounds.hi[self._outside]
        below = points[:, None] < hi[None, :]
        stabbed = (lo[None, :] <= points[:, None]) & (below | (hi == MAX)[None, :])
        of, which = np.nonzero(stabbed)
        return of, self._outside[which]

    def _changed(self, ids: Int64s) -> bool:
        """Count changes; whether the time has come to look at the whole again."""
        self._changes += len(ids)
        return self._changes > max(len(self) // 2, self._lists.headers.size // 20, 1024)

    def _sticks_out(self, lo: Int64s, hi: Int64s) -> Bools:
        out: Bools = ((lo < self._low) | (hi > self._high)) & (lo < hi)
        return out

    def _clipped(self, lo: Int64s, hi: Int64s) -> tuple[Int64s, Int64s]:
        """Intervals as cells; empty ones, and those outside, from a cell to itself."""
        first = np.clip(lo, self._low, self._high) - self._low
        last = np.clip(hi, self._low, self._high) - self._low
        return first, np.maximum(first, last)

    def _rebuild(self) -> None:
        ids = self._bounds.ids
        lo, hi = self._bounds.lo[ids], self._bounds.hi[ids]
        self._grow(lo, hi)
        first, last = self._clipped(lo, hi)
        cells = self._high - self._low
        length = self._given or self._best_length(cells, first, last)
        self.layout = self._layout(cells, length)
        offsets, lists = self.layout.pieces(first, last)
        self._lists = IdLists(self.layout.lists)
        self._lists.build(lists, np.repeat(ids, np.diff(offsets)).astype(np.int32))
        self._outside = ids[self._sticks_out(lo, hi)]
        self._changes = 0

    def _grow(self, lo: Int64s, hi: Int64s) -> None:
        """Take in the ends that lie outside, if they are many and not too far away."""
        below = lo[(lo < self._low) & (lo != MIN) & (lo < hi)]
        above = hi[(hi > self._high) & (hi != MAX) & (lo < hi)]
        if len(below) + len(above) <= max(FEW, len(lo) // 8):
            return
        low = min(int(below.min(initial=self._low)), self._low)
        high = max(int(above.max(initial=self._high)), self._high)
        # Doubling at the least: a range that creeps outwards is not followed step by step.
        spare = self._high - self._low
        low, high = (
            (low - spare if low < self._low else low),
            (high + spare if high > self._high else high),
        )
        if high - low <= MOST_CELLS and low > MIN and high < MAX:
            self._low, self._high = low, high
