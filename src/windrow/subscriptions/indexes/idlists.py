"""The ID lists of an index: many short lists of ids that change one id at a time.

All lists lie in one pool; a header has the start and the length of each, so a list is one
contiguous run whatever happened to it. A bulk build packs the lists in their order, without room.
A list that must grow moves to the end of the pool, into an extent of twice its length whose first
cell says how much room it has. Removal puts the last id of the list in the gap. What moves leave
behind is garbage; the pool is packed again when more than half of it is.

Cost: an insertion is O(1) amortised, a removal O(length of the list). Bytes: 8 for each list, 4
for each id in a list, up to twice that after changes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import types

from windrow.columns.arrays import Bools, Int64s
from windrow.columns.kernels import flags, int64, kernel, void
from windrow.core.errors import WindrowError
from windrow.core.thresholds import Threshold

Int32s = npt.NDArray[np.int32]

ints32 = types.Array(types.int32, 1, "C", readonly=True)
ints32_out = types.Array(types.int32, 1, "C")
headers_in = types.Array(types.int32, 2, "C", readonly=True)
headers_out = types.Array(types.int32, 2, "C")

PAD = 16
"""Cells after the last list that may be read, so that short lists are copied at a fixed width."""
LEAST_ROOM = 4
WORTH_PACKING = Threshold(1024)
"""Cells of garbage that are not worth packing a pool, and by which it grows at least."""
MOST_CELLS = 2**31 - 1


class CapacityError(WindrowError):
    """An index would need more cells than 32 bits count."""


def checked_entries(count: int) -> None:
    """Refuse a number of lists, or of ids in them, before anything is allocated for it."""
    if count > MOST_CELLS // 2:
        raise CapacityError(
            where="interval index",
            expected=f"at most {MOST_CELLS // 2:,} lists and ids in lists",
            found=f"{count:,}",
            remedy="use a greater maximal length, or containment-encoded intervals",
        )


class IdLists:
    """Short lists of ids in one pool. ``count`` lists, all empty at first."""

    def __init__(self, count: int) -> None:
        checked_entries(count)
        self.headers: npt.NDArray[np.int32] = np.zeros((count, 2), np.int32)
        self.pool: Int32s = np.zeros(1 + PAD, np.int32)
        self._packed = self._end = 1
        self.entries = 0

    @property
    def nbytes(self) -> int:
        return self.headers.nbytes + self.pool.nbytes

    def build(self, lists: Int32s, ids: Int32s) -> None:
        """Fill empty lists: each id into the list at the same place in ``lists``."""
        self.pool = np.zeros(1 + len(ids) + PAD, np.int32)
        _build(self.headers, self.pool, lists, ids)
        self._packed = self._end = 1 + len(ids)
        self.entries = len(ids)

    def push(self, lists: Int32s, ids: Int32s) -> None:
        """Append each id to a list."""
        done = 0
        while done < len(ids):
            before = done
            done, self._end = _push(
                self.headers, self.pool, lists, ids, done, self._packed, self._end
            )
            self.entries += done - before
            if done < len(ids):
                self._grow(self.headers[lists[done], 1])

    def drop(self, lists: Int32s, live: Bools) -> None:
        """Take the ids that are not live out of these lists."""
        self.entries -= _drop(self.headers, self.pool, np.unique(lists), live)
        if self._end > 2 * self.entries + len(self.headers) // 8 + WORTH_PACKING.value:
            self.pack()

    def extend(self, count: int) -> None:
        """Add so many empty lists."""
        self.headers = np.concatenate([self.headers, np.zeros((count, 2), np.int32)])

    def contents(self, lists: Int64s) -> Int32s:
        """The ids of these lists, one list after the other."""
        lengths = self.headers[lists, 1].astype(np.int64)
        ends = np.cumsum(lengths)
        within = np.arange(lengths.sum()) - np.repeat(ends - lengths, lengths)
        found: Int32s = self.pool[np.repeat(self.headers[lists, 0], lengths) + within]
        return found

    def pack(self) -> None:
        """Lay the lists out in their order, without room and garbage."""
        packed = np.zeros(1 + self.entries + PAD, np.int32)
        _pack(self.headers, self.pool, packed)
        self.pool = packed
        self._packed = self._end = 1 + self.entries

    def _grow(self, length: int) -> None:
        if self._end > 2 * self.entries + len(self.headers) // 8 + WORTH_PACKING.value:
            self.pack()
        size = len(self.pool) + max(len(self.pool) // 2, 4 * int(length) + WORTH_PACKING.value)
        grown = np.zeros(min(size, MOST_CELLS), np.int32)
        grown[: len(self.pool)] = self.pool
        self.pool = grown


@kernel(void, headers_out, ints32_out, ints32, ints32)
def _build(headers: Any, pool: Any, lists: Any, ids: Any) -> None:
    for v in lists:
        headers[v, 1] += 1
    at = 1
    for v in range(len(headers)):
        length = headers[v, 1]
        if length:
            headers[v, 0] = at
            headers[v, 1] = 0
            at += length
    for i in range(len(lists)):
        v = lists[i]
        pool[headers[v, 0] + headers[v, 1]] = ids[i]
        headers[v, 1] += 1


@kernel(types.UniTuple(int64, 2), headers_out, ints32_out, ints32, ints32, int64, int64, int64)
def _push(
    headers: Any, pool: Any, lists: Any, ids: Any, done: int, packed: int, end: int
) -> tuple[int, int]:
    """Stops where the pool is used up; how many ids are in, and where the pool's use ends."""
    for i in range(done, len(lists)):
        v = lists[i]
        start: Any = np.int64(headers[v, 0])
        length: Any = np.int64(headers[v, 1])
        if start < packed or length == pool[start - 1]:
            room: Any = max(2 * length, LEAST_ROOM)
            if end + 1 + room + PAD > len(pool):
                return i, end
            pool[end] = room
            for j in range(length):
                pool[end + 1 + j] = pool[start + j]
            start = end + 1
            headers[v, 0] = start
            end = start + room
        pool[start + length] = ids[i]
        headers[v, 1] = length + 1
    return len(lists), end


@kernel(int64, headers_out, ints32_out, ints32, flags)
def _drop(headers: Any, pool: Any, lists: Any, live: Any) -> int:
    gone = 0
    for v in lists:
        start = headers[v, 0]
        length = headers[v, 1]
        i = 0
        while i < length:
            if live[pool[start + i]]:
                i += 1
            else:
                length -= 1
                pool[start + i] = pool[start + length]
        gone += headers[v, 1] - length
        headers[v, 1] = length
    return gone


@kernel(void, headers_out, ints32, ints32_out)
def _pack(headers: Any, pool: Any, packed: Any) -> None:
    at = 1
    for v in range(len(headers)):
        start = headers[v, 0]
        length = headers[v, 1]
        headers[v, 0] = at if length else 0
        for j in range(length):
            packed[at + j] = pool[start + j]
        at += length
