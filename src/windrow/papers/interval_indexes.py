"""Construct intervals that containment-encoded ones were compared with (Wu, Chen, Yu 2004, 2.2).

*Simple* ones, SCI: at each cell begin constructs of 1, 2, 3, ..., L cells. An interval is cut into
whole L and one for the rest, the fewest pieces of all layouts; but there are r L lists, and a point
looks at L (L + 1) / 2 of them.

*Logarithmic* ones, LCI: at each cell begin constructs of 1, 2, 4, ..., L cells. An interval is cut
from its left end, the longest construct first: whole L and then the binary digits of the rest. Of
length ``2^j`` there are ``2^j`` constructs over a cell, so a point looks at 2L - 1 lists.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numba import types

from windrow.columns.arrays import Int64s
from windrow.columns.kernels import int64, ints, ints_out, kernel, void
from windrow.subscriptions.indexes.constructs import ConstructIndex
from windrow.subscriptions.indexes.idlists import IdLists, Int32s, headers_in, ints32, ints32_out
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


@dataclass(frozen=True)
class SimpleLayout:
    """The list of length w at cell c is number ``c * length + w - 1``."""

    cells: int
    length: int

    @property
    def lists(self) -> int:
        return self.cells * self.length

    @property
    def header_bytes(self) -> int:
        return 8 * self.lists

    def sizes(self, lo: Int64s, hi: Int64s) -> Int64s:
        return -((lo - hi) // self.length)

    def pieces(self, lo: Int64s, hi: Int64s, offsets: Int64s) -> Int32s:
        lists = np.empty(offsets[-1], np.int32)
        _cut_simply(lo, hi, self.length, offsets, lists)
        return lists

    def storage(self) -> IdLists:
        return IdLists(self.lists)

    def collector(self, lists: IdLists, low: int) -> Collect:
        return partial(_collect_simple, lists.headers, lists.pool, low, self.length)


class SimpleConstructs(ConstructIndex):
    """SCI. ``length`` is any number of cells."""

    def _layout(self, cells: int, length: int) -> SimpleLayout:
        return SimpleLayout(cells, length)


@kernel(void, ints, ints, int64, ints, ints32_out)
def _cut_simply(lo: Any, hi: Any, longest: int, offsets: Any, lists: Any) -> None:
    for i in range(len(lo)):
        at, cell = offsets[i], lo[i]
        while cell < hi[i]:
            width = min(hi[i] - cell, longest)
            lists[at] = cell * longest + width - 1
            at += 1
            cell += width


@kernel(
    types.UniTuple(int64, 2), headers_in, ints32, int64, int64,
    ints, ints32_out, ints32_out, int64, int64,
)  # fmt: skip
def _collect_simple(
    headers: Any, pool: Any, low: int, longest: int,
    points: Any, buffer: Any, ends: Any, done: int, end: int,
) -> Any:  # fmt: skip
    room, at, base = U(len(buffer) - SLACK), U(end), U(low)
    most = U(longest)
    for i in range(U(done), U(len(points))):
        begin = at
        x = U(points[i]) - base
        for width in range(ONE, most + ONE):
            first = x + ONE - width if x + ONE > width else ZERO
            for cell in range(first, x + ONE):
                v = cell * most + width - ONE
                start, length = U(headers[v, 0]), U(headers[v, 1])
                if at + length > room:
                    return np.int64(i), np.int64(begin)
                copy_eight(pool, start, buffer, at)
                if length > WIDE:
                    append_rest(pool, start, length, buffer, at)
                at += length
        ends[i] = at
    return np.int64(len(points)), np.int64(at)


@dataclass(frozen=True)
class LogarithmicLayout:
    """Lengths up to ``2**k``; the list of length ``2**j`` at cell c is ``c * (k + 1) + j``."""

    cells: int
    k: int

    @property
    def lists(self) -> int:
        return self.cells * (self.k + 1)

    @property
    def header_bytes(self) -> int:
        return 8 * self.lists

    def sizes(self, lo: Int64s, hi: Int64s) -> Int64s:
        found = np.empty(len(lo), np.int64)
        _count_digits(lo, hi, self.k, found)
        return found

    def pieces(self, lo: Int64s, hi: Int64s, offsets: Int64s) -> Int32s:
        lists = np.empty(offsets[-1], np.int32)
        _cut_by_digits(lo, hi, self.k, offsets, lists)
        return lists

    def storage(self) -> IdLists:
        return IdLists(self.lists)

    def collector(self, lists: IdLists, low: int) -> Collect:
        return partial(_collect_logarithmic, lists.headers, lists.pool, low, self.k)


class LogarithmicConstructs(ConstructIndex):
    """LCI. ``length`` is a power of two."""

    def _layout(self, cells: int, length: int) -> LogarithmicLayout:
        return LogarithmicLayout(cells, (length - 1).bit_length())


@kernel(void, ints, ints, int64, ints_out)
def _count_digits(lo: Any, hi: Any, k: int, counts: Any) -> None:
    for i in range(len(lo)):
        width = hi[i] - lo[i]
        count = width >> k
        rest = width & ((1 << k) - 1)
        while rest:
            rest &= rest - 1
            count += 1
        counts[i] = count


@kernel(void, ints, ints, int64, ints, ints32_out)
def _cut_by_digits(lo: Any, hi: Any, k: int, offsets: Any, lists: Any) -> None:
    for i in range(len(lo)):
        at, cell = offsets[i], lo[i]
        for j in range(k, -1, -1):
            while cell + (1 << j) <= hi[i]:
                lists[at] = cell * (k + 1) + j
                at += 1
                cell += 1 << j


@kernel(
    types.UniTuple(int64, 2), headers_in, ints32, int64, int64,
    ints, ints32_out, ints32_out, int64, int64,
)  # fmt: skip
def _collect_logarithmic(
    headers: Any, pool: Any, low: int, k: int,
    points: Any, buffer: Any, ends: Any, done: int, end: int,
) -> Any:  # fmt: skip
    room, at, base = U(len(buffer) - SLACK), U(end), U(low)
    kinds = U(k) + ONE
    for i in range(U(done), U(len(points))):
        begin = at
        x = U(points[i]) - base
        for j in range(ZERO, kinds):
            first = x + ONE - (ONE << j) if x + ONE > ONE << j else ZERO
            for cell in range(first, x + ONE):
                v = cell * kinds + j
                start, length = U(headers[v, 0]), U(headers[v, 1])
                if at + length > room:
                    return np.int64(i), np.int64(begin)
                copy_eight(pool, start, buffer, at)
                if length > WIDE:
                    append_rest(pool, start, length, buffer, at)
                at += length
        ends[i] = at
    return np.int64(len(points)), np.int64(at)
