"""Query indexes over virtual constructs: what UI, SCI, LCI and CEI have in common, and UI.

A *virtual construct* is one of the intervals, fixed in advance, that query intervals are cut into.
Each construct has a list of the ids of the queries that it is a piece of; a point finds its
queries in the lists of the few constructs that cover it, with no comparison of bounds (Wu, Chen,
Yu 2004, 2). A *layout* says which constructs there are over ``r`` cells: how an interval is cut,
and which of them cover a cell. Unit-length intervals, UI, have a construct for each cell: one list
for a point, the fastest search there is, and w ids for an interval of w cells.

The cells are ``[low, high)``, the range that is expected. What lies beyond is kept right: the part
of an interval inside goes into constructs; if it sticks out it is also in a skip list, where
points outside are looked up. When many intervals have an end out there, the range grows to take
them in.

Bulk changes rebuild the lists; small ones edit them. When half of the intervals have changed, all
is rebuilt with the maximal length that is best by then. So all of this is O(1) per change,
amortised.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
from numba import types

from windrow.columns.arrays import Bools, Int64s
from windrow.columns.kernels import int64, ints, kernel
from windrow.core.thresholds import Threshold
from windrow.subscriptions.indexes.idlists import (
    CapacityError,
    IdLists,
    Int32s,
    checked_entries,
    headers_in,
    ints32,
    ints32_out,
)
from windrow.subscriptions.indexes.interval_index import (
    MAX,
    MIN,
    SLACK,
    WIDE,
    Collect,
    IntervalEnds,
    U,
    append_rest,
    contiguous,
    copy_eight,
    pairs,
)
from windrow.subscriptions.indexes.segments import SegmentLists
from windrow.subscriptions.indexes.skiplist import SkipList

MOST_CELLS = 2**26
FEW = Threshold(64)
"""Ends outside that are not worth growing the range for."""
LONG = 64
"""Whole pieces of an interval from which on it is an exception."""
SAMPLE = Threshold(4096, least=1)
LONGEST = 2**14


class ConstructLayout(Protocol):
    """Which virtual constructs there are."""

    @property
    def lists(self) -> int:
        """How many numbers constructs have."""

    @property
    def header_bytes(self) -> int:
        """Bytes that lists take while they are empty."""

    def storage(self) -> Any:
        """Empty lists of ids, of the kind that the collector reads."""

    def sizes(self, lo: Int64s, hi: Int64s) -> Int64s:
        """How many constructs each interval is cut into."""

    def pieces(self, lo: Int64s, hi: Int64s, offsets: Int64s) -> Int32s:
        """The numbers of these constructs, those of an interval from its offset on."""

    def collector(self, lists: Any, low: int) -> Collect:
        """How points are looked up; ``low`` is the point of cell 0."""


def cut(layout: ConstructLayout, lo: Int64s, hi: Int64s) -> tuple[Int64s, Int32s]:
    """The constructs of intervals of cells: offsets, and numbers from each offset on."""
    offsets = np.zeros(len(lo) + 1, np.int64)
    np.cumsum(layout.sizes(lo, hi), out=offsets[1:])
    checked_entries(int(offsets[-1]))
    return offsets, layout.pieces(lo, hi, offsets)


def best_length(
    layout: Callable[[int, int], ConstructLayout], cells: int, lo: Int64s, hi: Int64s
) -> int:
    """The least maximal length that takes at most a tenth more bytes than the best one.

    The bytes are those of the lists and 4 n mu (section 4), with mu found in a sample. Intervals
    that are much longer than the others do not count, and no other may have more than LONG whole
    pieces: a layout with a shorter way for these has it for exceptions.
    """
    width = hi - lo
    usual = width > 0
    if usual.any():
        usual &= width <= LONG * np.median(width[usual])
    lo, hi = lo[usual], hi[usual]
    step = max(len(lo) // SAMPLE.value, 1)
    lo, hi = lo[::step].copy(), hi[::step].copy()
    costs = {}
    for k in range(min(cells, LONGEST).bit_length()):
        candidate = layout(cells, 1 << k)
        if (hi - lo).max(initial=0) >> k <= LONG:
            costs[1 << k] = candidate.header_bytes + 4 * step * int(candidate.sizes(lo, hi).sum())
    least = min(costs.values(), default=0)
    return next((length for length, cost in costs.items() if cost <= 1.1 * least), LONGEST)


class ConstructIndex(ABC):
    """``length`` is the maximal length L of a construct, chosen if not given."""

    def __init__(self, low: int, high: int, length: int | None = None) -> None:
        self._low, self._high = low, max(high, low + 1)
        if self._high - self._low > MOST_CELLS:
            raise CapacityError(
                where=type(self).__name__,
                expected=f"a range of at most {MOST_CELLS:,} integers",
                found=f"[{low}, {high})",
                remedy="use GriddedIntervals, which needs no range",
            )
        self._given = length
        self._bounds = IntervalEnds()
        self._outside = SkipList(self._bounds)
        self._changes = self._chosen_for = 0
        self._collect: Collect | None = None
        self.layout = self._layout(self._high - self._low, length or 1)
        self._lists: IdLists | SegmentLists = self.layout.storage()

    @abstractmethod
    def _layout(self, cells: int, length: int) -> ConstructLayout:
        """The constructs over so many cells."""

    def __getstate__(self) -> dict[str, Any]:
        # A bound kernel does not travel; the next search binds it again.
        return {**self.__dict__, "_collect": None}

    def __len__(self) -> int:
        return self._bounds.count

    @property
    def nbytes(self) -> int:
        return self._bounds.nbytes + self._lists.nbytes + self._outside.nbytes

    @property
    def entries(self) -> int:
        """Ids in lists: the intervals' pieces."""
        return self._lists.entries

    @property
    def range(self) -> tuple[int, int]:
        """The cells that have constructs."""
        return self._low, self._high

    def insert(self, ids: Int64s, lo: Int64s, hi: Int64s) -> None:
        ids, lo, hi = contiguous(ids), contiguous(lo), contiguous(hi)
        self._bounds.add(ids, lo, hi)
        self._collect = None
        if self._rebuilt_is_cheaper(len(ids)) or self._much_changed(len(ids)):
            self._rebuild()
            return
        offsets, lists = self._pieces(lo, hi)
        self._lists.push(lists, np.repeat(ids.astype(np.int32), np.diff(offsets)))
        outside = ids[self._sticks_out(lo, hi)]
        if len(outside):
            self._outside.add(outside)

    def remove(self, ids: Int64s) -> None:
        ids = contiguous(ids)
        lo, hi = self._bounds.drop(ids)
        self._collect = None
        if self._rebuilt_is_cheaper(len(ids)) or self._much_changed(len(ids)):
            self._rebuild()
            return
        _, lists = self._pieces(lo, hi)
        self._lists.drop(lists, self._bounds.live)
        outside = ids[self._sticks_out(lo, hi)]
        if len(outside):
            self._outside.drop(outside)

    def search(self, points: Int64s) -> tuple[Int64s, Int64s]:
        points = contiguous(points)
        if not len(points) or (points.min() >= self._low and points.max() < self._high):
            return self._search_inside(points)
        inside = (points >= self._low) & (points < self._high)
        near, far = np.flatnonzero(inside), np.flatnonzero(~inside)
        of, ids = self._search_inside(points[near])
        far_of, far_ids = self._outside.search(points[far])
        of = np.concatenate([near[of], far[far_of]])
        order = np.argsort(of, kind="stable")
        return of[order], np.concatenate([ids, far_ids])[order]

    def _search_inside(self, points: Int64s) -> tuple[Int64s, Int64s]:
        if self._collect is None:
            self._collect = self.layout.collector(self._lists, self._low)
        return pairs(points, self._collect)

    def _rebuilt_is_cheaper(self, changed: int) -> bool:
        """Editing costs about three times as much per interval, and no passes over all lists."""
        never_built = self._chosen_for == 0 and len(self) > 0
        return never_built or 24 * changed > self.layout.lists // 10 + 8 * len(self)

    def _much_changed(self, count: int) -> bool:
        """Whether half has changed since the length was chosen, and enough to pay for all lists."""
        self._changes += count
        return self._changes > max(self._chosen_for // 2, self.layout.lists // 40)

    def _sticks_out(self, lo: Int64s, hi: Int64s) -> Bools:
        out: Bools = ((lo < self._low) | (hi > self._high)) & (lo < hi)
        return out

    def _pieces(self, lo: Int64s, hi: Int64s) -> tuple[Int64s, Int32s]:
        """Offsets, and the constructs of what lies inside of each interval."""
        return cut(self.layout, *self._clip(lo, hi))

    def _clip(self, lo: Int64s, hi: Int64s) -> tuple[Int64s, Int64s]:
        """Intervals as cells; empty ones, and those outside, from a cell to itself."""
        first = np.clip(lo, self._low, self._high) - self._low
        last = np.clip(hi, self._low, self._high) - self._low
        return first, np.maximum(first, last)

    def _rebuild(self) -> None:
        ids = self._bounds.ids
        lo, hi = self._bounds.lo[ids], self._bounds.hi[ids]
        self._grow(lo, hi)
        cells = self._high - self._low
        length = self._given or best_length(self._layout, cells, *self._clip(lo, hi))
        self.layout = self._layout(cells, length)
        offsets, lists = self._pieces(lo, hi)
        self._lists = self.layout.storage()
        self._lists.build(lists, np.repeat(ids.astype(np.int32), np.diff(offsets)))
        self._outside = SkipList(self._bounds)
        self._outside.add(ids[self._sticks_out(lo, hi)])
        self._changes, self._chosen_for = 0, len(ids)

    def _grow(self, lo: Int64s, hi: Int64s) -> None:
        """Take in the ends that lie outside, if they are many and not too far away."""
        below = lo[(lo < self._low) & (lo != MIN) & (lo < hi)]
        above = hi[(hi > self._high) & (hi != MAX) & (lo < hi)]
        if len(below) + len(above) <= max(FEW.value, len(lo) // 8):
            return
        # As much again as there was: a range that creeps outwards is not followed step by step.
        spare = self._high - self._low
        low = min(int(below.min()) - spare, self._low) if len(below) else self._low
        high = max(int(above.max()) + spare, self._high) if len(above) else self._high
        if high - low <= MOST_CELLS and low > MIN and high < MAX:
            self._low, self._high = low, high


@dataclass(frozen=True)
class UnitLayout:
    """One list for each cell."""

    lists: int

    @property
    def header_bytes(self) -> int:
        return 8 * self.lists

    def sizes(self, lo: Int64s, hi: Int64s) -> Int64s:
        return hi - lo

    def pieces(self, lo: Int64s, hi: Int64s, offsets: Int64s) -> Int32s:
        cells = np.arange(offsets[-1]) - np.repeat(offsets[:-1] - lo, hi - lo)
        return cells.astype(np.int32)

    def storage(self) -> IdLists:
        return IdLists(self.lists)

    def collector(self, lists: IdLists, low: int) -> Collect:
        return partial(_collect_cells, lists.headers, lists.pool, low)


class UnitIntervals(ConstructIndex):
    """UI; there is no length to choose."""

    def _layout(self, cells: int, length: int) -> UnitLayout:
        return UnitLayout(cells)


@kernel(
    types.UniTuple(int64, 2), headers_in, ints32, int64,
    ints, ints32_out, ints32_out, int64, int64,
)  # fmt: skip
def _collect_cells(
    headers: Any, pool: Any, low: int,
    points: Any, buffer: Any, ends: Any, done: int, end: int,
) -> Any:  # fmt: skip
    room, at, base = U(len(buffer) - SLACK), U(end), U(low)
    for i in range(U(done), U(len(points))):
        v = U(points[i]) - base
        start, length = U(headers[v, 0]), U(headers[v, 1])
        if at + length > room:
            return np.int64(i), np.int64(at)
        copy_eight(pool, start, buffer, at)
        if length > WIDE:
            append_rest(pool, start, length, buffer, at)
        at += length
        ends[i] = at
    return np.int64(len(points)), np.int64(at)
