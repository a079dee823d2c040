"""Containment-encoded intervals (Wu, Chen, Yu 2004, 3): the index to use.

The range is cut into segments of ``L = 2^k`` cells, and each segment into halves, quarters and so
on down to single cells: a perfect binary tree, whose node ``l`` has the children ``2l`` and
``2l + 1``. The list of node ``l`` of segment ``i`` is number ``l + 2iL``. The k + 1 constructs that
cover a cell are its leaf and what shifting the leaf's number to the right gives.

An interval is cut into the whole segments in it and two remnants. A remnant is walked from both
ends at once towards the root; the minimal decomposition is unique (Lemma 2), so this gives the
pieces of BestPartition, in fewer steps.

Beyond the paper, the segments are themselves the leaves of one more tree. Only intervals of more
than ``LONG`` whole segments use it, unbounded ones above all, so that they cost 2 log(r/L) ids and
not r/L; a point looks only at those of its levels where there is anything.

Cost: k + 1 lists for a point. Bytes: 4r + 4r/L + 8r/L + 4 n mu, with mu of Theorem 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numba import types

from windrow.columns.arrays import Int64s
from windrow.columns.kernels import inline, int64, ints, ints_out, kernel, void
from windrow.subscriptions.indexes.constructs import LONG, ConstructIndex
from windrow.subscriptions.indexes.idlists import Int32s, headers_in, ints32, ints32_out
from windrow.subscriptions.indexes.interval_index import (
    ONE,
    SLACK,
    WIDE,
    ZERO,
    Collect,
    U,
    append_rest,
    copy_eight,
)
from windrow.subscriptions.indexes.segments import SegmentLists, for_both

MOST_PIECES = LONG + 4 * 64


@inline
def _climb(left: int, right: int, base: int, found: Any, count: int) -> Any:
    """The fewest nodes of a tree that cover its leaves ``[left, right)``."""
    while left < right:
        if left & 1:
            found[count] = base + left
            count += 1
            left += 1
        if right & 1:
            right -= 1
            found[count] = base + right
            count += 1
        left >>= 1
        right >>= 1
    return count


@kernel(int64, int64, int64, int64, int64, int64, ints_out)
def _cut_cells(a: int, b: int, k: int, tall: int, upper: int, found: Any) -> Any:
    """The _cut_all of ``[a, b)`` into ``found``; how many they are."""
    count = 0
    if a >= b:
        return count
    size = 1 << k
    first = (a + size - 1) >> k
    last = b >> k
    if first > last:
        base = last << k
        return _climb(a - base + size, b - base + size, 2 * base, found, 0)
    if last - first > LONG:
        leaves = 1 << tall
        count = _climb(first + leaves, last + leaves, 0, found, count)
        for j in range(count):
            node = found[j]
            found[j] = ((node - leaves) << (k + 1)) + 1 if node >= leaves else upper + node
    else:
        for segment in range(first, last):
            found[count] = (segment << (k + 1)) + 1
            count += 1
    if a < first << k:
        count = _climb(
            a - ((first - 1) << k) + size, 2 * size, (first - 1) << (k + 1), found, count
        )
    if b > last << k:
        count = _climb(size, b - (last << k) + size, last << (k + 1), found, count)
    return count


@kernel(void, ints, ints, int64, int64, ints_out)
def _count_pieces(lo: Any, hi: Any, k: int, tall: int, counts: Any) -> None:
    found = np.empty(MOST_PIECES, np.int64)
    for i in range(len(lo)):
        counts[i] = _cut_cells(lo[i], hi[i], k, tall, 0, found)


@kernel(void, ints, ints, int64, int64, int64, ints, ints32_out)
def _cut_all(lo: Any, hi: Any, k: int, tall: int, upper: int, offsets: Any, lists: Any) -> None:
    found = np.empty(MOST_PIECES, np.int64)
    for i in range(len(lo)):
        count = _cut_cells(lo[i], hi[i], k, tall, upper, found)
        for j in range(count):
            lists[offsets[i] + j] = found[j]


@inline
def walk(
    ends: Any, starts: Any, pool: Any, tops: Any, top_pool: Any, k: int, tall: int, shifts: Any,
    x: Any, buffer: Any, at: Any, room: Any,
) -> Any:  # fmt: skip
    """Append the lists over cell ``x``; the new end, which is past ``room`` if they do not fit."""
    bits, size = U(k), ONE << U(k)
    segment = x >> bits
    root, first = segment << (bits + ONE), U(starts[segment])
    node = (x & (size - ONE)) + size
    while node > ZERO:
        begin = U(ends[root + node - ONE])
        start, length = first + begin, U(ends[root + node]) - begin
        if length > WIDE:
            if at + length > room:
                # Nothing of it is copied; what follows is short, or ends here as well.
                length, at = ZERO, room + ONE
            append_rest(pool, start, length, buffer, at)
        copy_eight(pool, start, buffer, at)
        at += length
        node >>= ONE
    for shift in shifts:
        v = (segment + (ONE << U(tall))) >> U(shift)
        start, length = U(tops[v, 0]), U(tops[v, 1])
        if at + length <= room:
            copy_eight(top_pool, start, buffer, at)
            append_rest(top_pool, start, length, buffer, at)
        at += length
    return at


@for_both(
    (
        types.UniTuple(int64, 2), ints32, ints32, headers_in, ints32, int64, int64, ints, int64,
        ints, ints32_out, ints32_out, int64, int64,
    ),
    changed=False,
)  # fmt: skip
def _collect(
    ends: Any, starts: Any, pool: Any, tops: Any, top_pool: Any, k: int, tall: int, shifts: Any,
    low: int, points: Any, buffer: Any, stops: Any, done: int, end: int,
) -> Any:  # fmt: skip
    room, at = U(len(buffer) - SLACK), U(end)
    for i in range(U(done), U(len(points))):
        begin = at
        x = U(points[i]) - U(low)
        at = walk(ends, starts, pool, tops, top_pool, k, tall, shifts, x, buffer, at, room)
        if at > room:
            return np.int64(i), np.int64(begin)
        stops[i] = at
    return np.int64(len(points)), np.int64(at)


@dataclass(frozen=True)
class ContainmentLayout:
    """Segments of ``2**k`` cells, and an upper tree whose ``2**tall`` leaves they are."""

    k: int
    segments: int

    @classmethod
    def over(cls, cells: int, length: int) -> ContainmentLayout:
        """For so many cells and a maximal length, which is a power of two."""
        k = (length - 1).bit_length()
        return cls(k, -(-cells // (1 << k)))

    @property
    def tall(self) -> int:
        return (self.segments - 1).bit_length()

    @property
    def upper(self) -> int:
        """The number of the upper tree's list 0, which like all lists 0 is not used."""
        return self.segments << (self.k + 1)

    @property
    def lists(self) -> int:
        return self.upper + (1 << self.tall)

    @property
    def header_bytes(self) -> int:
        return 2 * self.upper + 4 * self.segments + (8 << self.tall)

    def sizes(self, lo: Int64s, hi: Int64s) -> Int64s:
        found = np.empty(len(lo), np.int64)
        _count_pieces(lo, hi, self.k, self.tall, found)
        return found

    def pieces(self, lo: Int64s, hi: Int64s, offsets: Int64s) -> Int32s:
        lists = np.empty(offsets[-1], np.int32)
        _cut_all(lo, hi, self.k, self.tall, self.upper, offsets, lists)
        return lists

    def storage(self) -> SegmentLists:
        return SegmentLists(self.k, self.segments, 1 << self.tall)

    def walk_arguments(self, lists: SegmentLists) -> tuple[Any, ...]:
        """What a walk over the lists of a cell is given first."""
        tops = lists.upper
        shifts = self._used_levels(tops.headers[:, 1])
        arrays = (lists.ends, lists.starts, lists.pool, tops.headers, tops.pool)
        return (*arrays, self.k, self.tall, shifts)

    def collector(self, lists: SegmentLists, low: int) -> Collect:
        return partial(_collect, *self.walk_arguments(lists), low)

    def _used_levels(self, lengths: Int32s) -> Int64s:
        """How far to shift the leaf of a segment for each level of the upper tree with any id."""
        levels = np.arange(self.tall, 0, -1)
        if not lengths.any():
            return levels[:0]
        used = np.add.reduceat(lengths, 1 << (self.tall - levels)) > 0
        return levels[used]


class ContainmentEncoded(ConstructIndex):
    """CEI. ``length`` is a power of two."""

    layout: ContainmentLayout

    def _layout(self, cells: int, length: int) -> ContainmentLayout:
        return ContainmentLayout.over(cells, length)


def cei(low: int, high: int, length: int | None = None) -> ContainmentEncoded:
    """An empty index over the expected range ``[low, high)``."""
    return ContainmentEncoded(low, high, length)
