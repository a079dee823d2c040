"""A batch of points on its way through an index.

Points are visited in the order of their place in the index, so that what one of them brings into
the cache serves its neighbours; the ids that they stab are collected one after the other in a
buffer, with the *span* (start, length) of each point. Then the points are gone through once more
in their own order, and the spans become pairs. One partition by the leading bits is order enough:
a bucket's part of an index fits into the first cache.

Cost: O(points + pairs), 24 bytes of buffer for each point and 4 for each pair.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from windrow.columns.arrays import Int64s
from windrow.columns.kernels import grid, inlined, int64, ints_out, kernel, void
from windrow.subscriptions.indexes.idlists import Int32s, ints32, ints32_out

BUCKETS = 2048
WIDE = 8
"""Ids that are copied at once, whether they are needed or not."""

Collect = Callable[[Int32s, Int32s, Int32s, Int64s, int, int], tuple[int, int]]
"""(points, rows, buffer, spans, done, end) -> (done, end): the ids of points from ``done`` on are
appended at ``end``; stops early where the buffer is used up."""


def pairs(points: Int32s, width: int, collect: Collect) -> tuple[Int64s, Int64s]:
    """All pairs of a batch of points in ``[0, width)``."""
    ordered, rows = _ordered(points, width)
    spans = np.empty((len(points), 2), np.int64)
    buffer = np.empty(16 * len(points) + 1024, np.int32)
    done, end = collect(ordered, rows, buffer, spans, 0, 0)
    while done < len(points):
        grown = np.empty(int(len(buffer) * max(2.0, 1.2 * len(points) / (done + 1))), np.int32)
        grown[:end] = buffer[:end]
        buffer = grown
        done, end = collect(ordered, rows, buffer, spans, done, end)
    of = np.empty(end + 2 * WIDE, np.int64)
    ids = np.empty(end + 2 * WIDE, np.int64)
    _expand(spans, buffer, of, ids)
    return of[:end], ids[:end]


def _ordered(points: Int32s, width: int) -> tuple[Int32s, Int32s]:
    rows = np.empty(len(points), np.int32)
    if len(points) < BUCKETS:
        rows[:] = np.arange(len(points))
        return points, rows
    ordered = np.empty(len(points), np.int32)
    shift = max((width - 1).bit_length() - (BUCKETS - 1).bit_length(), 0)
    _partition(points, shift, ordered, rows)
    return ordered, rows


@kernel(void, ints32, int64, ints32_out, ints32_out)
def _partition(points: Any, shift: int, ordered: Any, rows: Any) -> None:
    starts = np.zeros(BUCKETS + 1, np.int64)
    for x in points:
        starts[(x >> shift) + 1] += 1
    for b in range(BUCKETS):
        starts[b + 1] += starts[b]
    for i in range(len(points)):
        x = points[i]
        at = starts[x >> shift]
        starts[x >> shift] = at + 1
        ordered[at] = x
        rows[at] = i


@kernel(void, grid, ints32, ints_out, ints_out)
def _expand(spans: Any, buffer: Any, of: Any, ids: Any) -> None:
    at = 0
    for row in range(len(spans)):
        start = spans[row, 0]
        length = spans[row, 1]
        for j in range(length):
            of[at + j] = row
            ids[at + j] = buffer[start + j]
        at += length


@inlined
def append_list(headers: Any, pool: Any, v: int, buffer: Any, end: int) -> int:
    """Append list ``v``; the new end. The buffer must have room for the list and ``WIDE`` more."""
    start = np.int64(headers[v, 0])
    length = np.int64(headers[v, 1])
    for j in range(length):
        buffer[end + j] = pool[start + j]
    return end + length
