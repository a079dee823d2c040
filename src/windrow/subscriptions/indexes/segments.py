"""The ID lists of containment-encoded intervals, packed segment by segment.

A walk reads one list on each level of a segment's tree. So the ids of a segment lie together, in
the order of their nodes, and what says where each list ends is 2 bytes, counted from the start of
the segment: a segment of 16 cells is one cache line of ends and, mostly, one or two of ids. Lists
with 8-byte headers of their own take four times as many bytes and twice as many misses.

A segment that must grow moves to the end of the pool with half as much room again, and the first
cell says how much. Ends become 4 bytes wide for all when a segment gets more than 65,535 ids. The
upper tree, which few intervals use, has ordinary lists.

Cost: an insertion moves at most one id for each node of the segment, a removal goes through the
segments of its pieces. Bytes: 2 (or 4) for each node, 4 for each segment and each id.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import types

from windrow.columns.arrays import Bools
from windrow.columns.kernels import Compiled, flags, int64, kernel, void
from windrow.core.thresholds import Threshold
from windrow.subscriptions.indexes.idlists import (
    MOST_CELLS,
    PAD,
    WORTH_PACKING,
    IdLists,
    Int32s,
    ints32,
    ints32_out,
)

ends_narrow = types.Array(types.uint16, 1, "C", readonly=True)
ends_wide = types.Array(types.int32, 1, "C", readonly=True)
ends_narrow_out = types.Array(types.uint16, 1, "C")
ends_wide_out = types.Array(types.int32, 1, "C")
NARROW = Threshold(65_535)
"""The most ids of a segment whose ends are 2 bytes wide."""
LEAST_ROOM = 8


def for_both(signature: Any, *, changed: bool) -> Callable[[Compiled], Compiled]:
    """Compile a kernel whose first argument is the ends, for narrow and for wide ones."""
    result, *arguments = signature

    def compile_both(function: Compiled) -> Compiled:
        kinds = (ends_narrow_out, ends_wide_out) if changed else (ends_narrow, ends_wide)
        narrow, wide = (kernel(result, kind, *arguments)(function) for kind in kinds)

        def choose(ends: npt.NDArray[Any], *rest: Any) -> Any:
            return (narrow if ends.dtype == np.uint16 else wide)(ends, *rest)

        return choose

    return compile_both


class SegmentLists:
    """Lists of nodes of segments of ``2**k`` cells, then those of the upper tree.

    ``ends[s * 2L + l]`` is where list l of segment s ends; there is no list 0, so its end is 0.
    """

    def __init__(self, k: int, segments: int, upper: int) -> None:
        self._nodes = 2 << k
        self.ends: npt.NDArray[Any] = np.zeros(segments * self._nodes, np.uint16)
        self.starts: Int32s = np.zeros(segments, np.int32)
        self.upper = IdLists(upper)
        self.pool: Int32s = np.zeros(1 + PAD, np.int32)
        self._packed = self._end = 1
        self._entries = 0

    @property
    def entries(self) -> int:
        return self._entries + self.upper.entries

    @property
    def nbytes(self) -> int:
        return self.ends.nbytes + self.starts.nbytes + self.pool.nbytes + self.upper.nbytes

    def build(self, lists: Int32s, ids: Int32s) -> None:
        """Fill empty lists: each id into the list at the same place in ``lists``."""
        lists, ids = self._without_upper(lists, ids, self.upper.build)
        lengths = np.bincount(lists, minlength=len(self.ends)).reshape(-1, self._nodes)
        ends = np.cumsum(lengths, axis=1)
        totals = ends[:, -1]
        self.starts = np.where(totals > 0, 1 + np.cumsum(totals) - totals, 0).astype(np.int32)
        wide = totals.max(initial=0) > NARROW.value
        self.ends = ends.ravel().astype(np.int32 if wide else np.uint16)
        self.pool = np.zeros(1 + len(ids) + PAD, np.int32)
        _fill(self.ends, self.starts, self._nodes, self.pool, lists, ids)
        self._packed = self._end = 1 + len(ids)
        self._entries = len(ids)

    def push(self, lists: Int32s, ids: Int32s) -> None:
        """Append each id to a list."""
        lists, ids = self._without_upper(lists, ids, self.upper.push)
        done = 0
        while True:
            before = done
            done, self._end = _push(
                self.ends, self.starts, self._nodes, self.pool, lists, ids, done, self._packed,
                self._end,
            )  # fmt: skip
            self._entries += done - before
            if done == len(ids):
                return
            total = int(self.ends[(lists[done] // self._nodes + 1) * self._nodes - 1])
            if total >= NARROW.value and self.ends.dtype == np.uint16:
                self.ends = self.ends.astype(np.int32)
            else:
                self._grow(total)

    def drop(self, lists: Int32s, live: Bools) -> None:
        """Take the ids that are not live out of the segments of these lists."""
        upper = lists >= len(self.ends)
        if upper.any():
            self.upper.drop(lists[upper] - len(self.ends), live)
            lists = lists[~upper]
        touched = np.unique(lists // self._nodes)
        self._entries -= _drop(self.ends, self.starts, self._nodes, self.pool, touched, live)

    def _without_upper(self, lists: Int32s, ids: Int32s, put: Any) -> tuple[Int32s, Int32s]:
        upper = lists >= len(self.ends)
        if upper.any():
            put(lists[upper] - np.int32(len(self.ends)), ids[upper])
            return lists[~upper], ids[~upper]
        return lists, ids

    def _grow(self, total: int) -> None:
        if self._end > 2 * self._entries + 8 * len(self.starts) + WORTH_PACKING.value:
            packed = np.zeros(1 + self._entries + PAD, np.int32)
            _pack(self.ends, self.starts, self._nodes, self.pool, packed)
            self.pool = packed
            self._packed = self._end = 1 + self._entries
        size = len(self.pool) + max(len(self.pool) // 2, 4 * total + WORTH_PACKING.value)
        grown = np.zeros(min(size, MOST_CELLS), np.int32)
        grown[: len(self.pool)] = self.pool
        self.pool = grown


@for_both((void, ints32, int64, ints32_out, ints32, ints32), changed=False)
def _fill(ends: Any, starts: Any, nodes: int, pool: Any, lists: Any, ids: Any) -> None:
    placed = np.zeros(len(ends), np.int32)
    for i in range(len(lists)):
        v = lists[i]
        pool[starts[v // nodes] + ends[v - 1] + placed[v]] = ids[i]
        placed[v] += 1


@for_both(
    (types.UniTuple(int64, 2), ints32_out, int64, ints32_out, ints32, ints32, int64, int64, int64),
    changed=True,
)
def _push(
    ends: Any, starts: Any, nodes: int, pool: Any, lists: Any, ids: Any, done: int, packed: int,
    end: int,
) -> Any:  # fmt: skip
    """Stops where the pool is used up or an end is too wide; how many are in, and the new end."""
    for i in range(done, len(lists)):
        segment, node = lists[i] // nodes, lists[i] % nodes
        first = segment * nodes
        start: Any = np.int64(starts[segment])
        total: Any = np.int64(ends[first + nodes - 1])
        if total == np.iinfo(ends.dtype).max:
            return i, end
        if start < packed or total == pool[start - 1]:
            room: Any = max(total + (total >> 1), LEAST_ROOM)
            if end + 1 + room + PAD > len(pool):
                return i, end
            pool[end] = room
            for j in range(total):
                pool[end + 1 + j] = pool[start + j]
            start = end + 1
            starts[segment] = start
            end = start + room
        if total - ends[first + node] < nodes - node:
            for j in range(total, np.int64(ends[first + node]), -1):
                pool[start + j] = pool[start + j - 1]
        else:
            # Order within a list is free: its first id makes room at its end.
            for later in range(nodes - 1, node, -1):
                pool[start + ends[first + later]] = pool[start + ends[first + later - 1]]
        pool[start + ends[first + node]] = ids[i]
        for later in range(node, nodes):
            ends[first + later] += 1
    return len(lists), end


@for_both((int64, ints32, int64, ints32_out, ints32, flags), changed=True)
def _drop(ends: Any, starts: Any, nodes: int, pool: Any, touched: Any, live: Any) -> int:
    gone = 0
    for segment in touched:
        first, start = np.int64(segment) * nodes, np.int64(starts[segment])
        begin: Any = 0
        kept = 0
        for node in range(1, nodes):
            end = np.int64(ends[first + node])
            for j in range(begin, end):
                if live[pool[start + j]]:
                    pool[start + kept] = pool[start + j]
                    kept += 1
            begin = end
            ends[first + node] = kept
        gone += begin - kept
    return gone


@for_both((void, ints32_out, int64, ints32, ints32_out), changed=False)
def _pack(ends: Any, starts: Any, nodes: int, pool: Any, packed: Any) -> None:
    at: Any = 1
    for segment in range(len(starts)):
        total = np.int64(ends[(segment + 1) * nodes - 1])
        for j in range(total):
            packed[at + j] = pool[starts[segment] + j]
        starts[segment] = at if total else 0
        at += total
