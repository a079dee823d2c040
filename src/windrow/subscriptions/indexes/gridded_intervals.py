"""Containment-encoded intervals over all of int64: the index of an attribute of any ordered type.

No range has to be known. Keys are mapped to cells by a ``KeyGrid`` that is made from the intervals
and made anew when they have changed by half. The cells that an interval takes whole are cut as
CEI cuts them. The one or two that it takes in part hold its id in a second set of lists, the
*edges*; only ids from there are compared with the point (Wu, Chen, Yu 2004, 2.1, footnote 1, has
all candidates checked).

The grid is a monotone map from 64-bit keys to a bounded number of cells. Keys that keep the order
of a type are spread over all of int64: timestamps in microseconds, doubles by the order of their
bits. An index by cells needs few of them, and where the ends of its intervals are. So the range of
the ends is cut into at most 4,096 equal *buckets*, and each bucket into a power of two of equal
cells, about in proportion to the ends in it. That is close to quantiles, and two additions and two
shifts instead of a search. The keys below and above the range are a cell each. Where keys are few
enough each is a cell of its own and the map loses nothing.

Cost: that of CEI for the cells, and one or two comparisons for each point, as there are about as
many cells as intervals. Bytes: 12 for each cell, 4 n mu for the pieces, 25 for each id.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numba import types

from windrow.columns.arrays import Int64s
from windrow.columns.kernels import inline, int64, ints, ints_out, kernel, void
from windrow.core.thresholds import Threshold
from windrow.subscriptions.indexes.constructs import best_length, cut
from windrow.subscriptions.indexes.containment_encoded import ContainmentLayout, walk
from windrow.subscriptions.indexes.idlists import IdLists, Int32s, headers_in, ints32, ints32_out
from windrow.subscriptions.indexes.interval_index import (
    MAX,
    MIN,
    SLACK,
    Collect,
    IntervalEnds,
    U,
    contiguous,
    pairs,
)
from windrow.subscriptions.indexes.segments import for_both

BUCKETS = Threshold(4096, least=2)
LEAST, MOST = Threshold(2**10, least=1), Threshold(2**22, least=4)
"""Cells."""
FEW = Threshold(16)
"""Intervals that are compared one by one sooner than put on a grid."""


@dataclass(frozen=True)
class KeyGrid:
    """Buckets of ``2**bits`` keys from ``low`` on.

    Bucket b is the cells from ``base[b]`` up to ``base[b + 1]``, each of ``2**shift[b]`` keys.
    """

    low: int
    bits: int
    base: Int64s
    shift: Int64s

    @property
    def cells(self) -> int:
        return int(self.base[-1]) + 1

    @classmethod
    def over(cls, ends: Int64s, wanted: int) -> KeyGrid:
        """For intervals with these ends: about ``wanted`` cells, at most twice that and 8,192.

        One for each key if there are no more than eight times as many keys.
        """
        low, high = (int(ends.min()), int(ends.max())) if len(ends) else (0, 0)
        width = high - low + 1
        bits = max((width - 1).bit_length() - (BUCKETS.value - 1).bit_length(), 0)
        buckets = ((width - 1) >> bits) + 1
        if width <= 8 * wanted:
            fine = np.full(buckets, bits, np.int64)
        else:
            # Unsigned, the difference is right even between the two ends of int64.
            inside = (ends.view(np.uint64) - U(low % 2**64)) >> U(bits)
            share = np.bincount(inside.astype(np.int64), minlength=buckets) / len(ends)
            fine = np.ceil(np.log2(np.maximum(share * wanted, 1))).astype(np.int64)
            fine = np.minimum(fine, bits)
        base = np.ones(buckets + 1, np.int64)
        base[1:] += np.cumsum(1 << fine)
        return cls(low, bits, base, bits - fine)

    def places(self, lo: Int64s, hi: Int64s) -> tuple[Int64s, Int64s, Int64s, Int64s]:
        """Intervals as cells: from, to (exclusive), and two more that are taken in part, or -1."""
        found = np.empty((4, len(lo)), np.int64)
        _places(lo, hi, self.low, self.bits, self.base, self.shift, *found)
        return found[0], found[1], found[2], found[3]


@inline
def cell_of(key: int, low: int, bits: int, base: Any, shift: Any) -> Any:
    """The cell of a key."""
    away = U(key) - U(low)
    bucket = away >> U(bits)
    within = np.int64(away & ((U(1) << U(bits)) - U(1)))
    if key < low:
        cell = np.int64(0)
    elif bucket >= U(len(shift)):
        cell = base[len(shift)]
    else:
        cell = base[bucket] + (within >> shift[bucket])
    return cell


@inline
def _begins(key: int, low: int, bits: int, shift: Any) -> Any:
    """Whether a cell begins with this key."""
    away = U(key) - U(low)
    bucket = away >> U(bits)
    within = np.int64(away & ((U(1) << U(bits)) - U(1)))
    if key < low:
        found = key == MIN
    elif bucket >= U(len(shift)):
        found = bucket == U(len(shift)) and within == 0
    else:
        found = within & ((1 << shift[bucket]) - 1) == 0
    return found


@kernel(void, ints, ints, int64, int64, ints, ints, ints_out, ints_out, ints_out, ints_out)
def _places(
    lo: Any, hi: Any, low: int, bits: int, base: Any, shift: Any,
    start: Any, stop: Any, left: Any, right: Any,
) -> None:  # fmt: skip
    for i in range(len(lo)):
        start[i] = stop[i] = 0
        left[i] = right[i] = -1
        if lo[i] >= hi[i]:
            continue
        first = cell_of(lo[i], low, bits, base, shift)
        if not _begins(lo[i], low, bits, shift):
            left[i] = first
            first += 1
        if hi[i] == MAX:
            last = base[len(shift)] + 1
        else:
            last = cell_of(hi[i], low, bits, base, shift)
            if not _begins(hi[i], low, bits, shift) and last != left[i]:
                right[i] = last
        start[i] = first
        stop[i] = max(first, last)


class GriddedIntervals:
    """Half-open intervals of 64-bit integers under dense ids; an ``IntervalIndex``.

    >>> import numpy as np
    >>> from windrow.subscriptions import GriddedIntervals
    >>> index = GriddedIntervals()
    >>> index.insert(np.array([0, 1]), np.array([10, 15]), np.array([20, 30]))
    >>> rows, ids = index.search(np.array([17, 25, 5]))
    >>> list(zip(rows.tolist(), ids.tolist(), strict=True))
    [(0, 0), (0, 1), (1, 1)]
    """

    def __init__(self) -> None:
        self._bounds = IntervalEnds()
        self._changes = 0
        self._collect: Collect | None = None
        self._start(np.zeros(0, np.int64))

    def _start(self, ids: Int64s) -> None:
        """Make grid and lists for intervals that are in the bounds."""
        lo, hi = self._bounds.lo[ids], self._bounds.hi[ids]
        ends = np.concatenate([lo[(lo != MIN) & (lo < hi)], hi[(hi != MAX) & (lo < hi)]])
        wanted = min(max(1 << len(ids).bit_length(), LEAST.value), MOST.value)
        self.grid = KeyGrid.over(ends, wanted)
        start, stop, left, right = self.grid.places(lo, hi)
        cells = self.grid.cells
        length = best_length(ContainmentLayout.over, cells, start, stop)
        self.layout = ContainmentLayout.over(cells, length)
        self._lists, self._edges = self.layout.storage(), IdLists(0)
        offsets, lists = cut(self.layout, start, stop)
        short = ids.astype(np.int32)
        self._lists.build(lists, np.repeat(short, np.diff(offsets)))
        self._put_on_edges(short, left, right)
        self._changes = 0

    def __getstate__(self) -> dict[str, Any]:
        # A bound kernel does not travel; the next search binds it again.
        return {**self.__dict__, "_collect": None}

    def __len__(self) -> int:
        return self._bounds.count

    @property
    def nbytes(self) -> int:
        tables = self.grid.base.nbytes + self.grid.shift.nbytes
        return self._bounds.nbytes + self._lists.nbytes + self._edges.nbytes + tables

    def insert(self, ids: Int64s, lo: Int64s, hi: Int64s) -> None:
        ids, lo, hi = contiguous(ids), contiguous(lo), contiguous(hi)
        self._bounds.add(ids, lo, hi)
        if self._much_changed(len(ids)):
            return
        start, stop, left, right = self.grid.places(lo, hi)
        offsets, lists = cut(self.layout, start, stop)
        short = ids.astype(np.int32)
        self._lists.push(lists, np.repeat(short, np.diff(offsets)))
        self._put_on_edges(short, left, right)

    def remove(self, ids: Int64s) -> None:
        ids = contiguous(ids)
        lo, hi = self._bounds.drop(ids)
        if self._much_changed(len(ids)):
            return
        start, stop, left, right = self.grid.places(lo, hi)
        self._lists.drop(cut(self.layout, start, stop)[1], self._bounds.live)
        edges = np.concatenate([left, right])
        self._edges.drop(edges[edges >= 0].astype(np.int32), self._bounds.live)

    def search(self, points: Int64s) -> tuple[Int64s, Int64s]:
        if self._collect is None:
            grid, lists, edges = self.grid, self._lists, self._edges
            self._collect = partial(
                _collect, *self.layout.walk_arguments(lists),
                grid.low, grid.bits, grid.base, grid.shift,
                edges.headers, edges.pool, self._bounds.lo, self._bounds.hi,
            )  # fmt: skip
        return pairs(contiguous(points), self._collect)

    def _put_on_edges(self, ids: Int32s, left: Int64s, right: Int64s) -> None:
        cells, of = np.concatenate([left, right]), np.concatenate([ids, ids])
        partly = cells >= 0
        if not partly.any():
            return
        put = self._edges.push
        if len(self._edges.headers) == 0:
            self._edges.extend(self.grid.cells)
            put = self._edges.build
        put(cells[partly].astype(np.int32), of[partly])

    def _much_changed(self, count: int) -> bool:
        """Count changes, and start anew if they are half of the whole."""
        self._collect = None
        self._changes += count
        if self._changes <= max(len(self) // 2, FEW.value):
            return False
        self._start(self._bounds.ids)
        return True


@for_both(
    (
        types.UniTuple(int64, 2), ints32, ints32, headers_in, ints32, int64, int64, ints,
        int64, int64, ints, ints, headers_in, ints32, ints, ints,
        ints, ints32_out, ints32_out, int64, int64,
    ),
    changed=False,
)  # fmt: skip
def _collect(
    ends: Any, starts: Any, pool: Any, tops: Any, top_pool: Any, k: int, tall: int, shifts: Any,
    low: int, bits: int, base: Any, shift: Any, edges: Any, edge_pool: Any, lo: Any, hi: Any,
    points: Any, buffer: Any, stops: Any, done: int, end: int,
) -> Any:  # fmt: skip
    room, at = U(len(buffer) - SLACK), U(end)
    for i in range(U(done), U(len(points))):
        begin = at
        x = points[i]
        cell = U(cell_of(x, low, bits, base, shift))
        at = walk(ends, starts, pool, tops, top_pool, k, tall, shifts, cell, buffer, at, room)
        if len(edges) > 0:
            start, length = U(edges[cell, 0]), U(edges[cell, 1])
            if at + length > room:
                return np.int64(i), np.int64(begin)
            for j in range(start, start + length):
                candidate = edge_pool[j]
                buffer[at] = candidate
                # No branches: whether an end is before the point is as good as random.
                first, last = lo[candidate], hi[candidate]
                at += U((first <= x) & ((x < last) | (last == MAX)))
        elif at > room:
            return np.int64(i), np.int64(begin)
        stops[i] = at
    return np.int64(len(points)), np.int64(at)
