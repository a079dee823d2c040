"""A batch of points on its way through an index.

An index *collects* the ids that the points stab one after the other in a buffer, and writes where
those of each point end; then they become pairs.

Lists are copied eight ids at a time, also where fewer are left: the next list overwrites what was
too much, and a branch that depends on the length of a short list would be mispredicted half the
time. Indexes are unsigned, which spares the test for Python's negative ones. Buffers and results
come from Arrow's memory pool, which keeps pages from one batch to the next. Visiting the points in
the order of the index was tried: it halves the time to collect and takes longer to undo.

Cost: O(points + pairs); 4 bytes of buffer for each point and 4 to 8 for each pair.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.columns.arrays import Int64s
from windrow.columns.kernels import inline, ints_out, kernel, likely_room, void
from windrow.core.thresholds import Threshold
from windrow.subscriptions.indexes.idlists import Int32s, ints32

U = np.uint64
ZERO, ONE, TWO, THREE, FOUR, FIVE, SIX, SEVEN, WIDE = (U(n) for n in range(9))
WIDTH = 8
SLACK = 512
"""Cells that a buffer must have left for a point: eight for each of its lists that is short."""
MOST_PAIRS = Threshold(2**31 - 2 * SLACK, least=4 * SLACK)

Collect = Callable[[Int64s, Int32s, Int32s, int, int], tuple[int, int]]
"""(points, buffer, ends, done, end) -> (done, end): the ids of the points from ``done`` on are
appended to what the buffer has up to ``end``; stops where it is full."""


def empty(size: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """An array in Arrow's memory pool, not filled."""
    if size == 0:
        return np.empty(0, dtype)
    return np.frombuffer(pa.allocate_buffer(size * np.dtype(dtype).itemsize), dtype)


def pairs(points: Int64s, collect: Collect) -> tuple[Int64s, Int64s]:
    """All pairs (row, id) of a batch of points."""
    count = len(points)
    ends = empty(count, np.int32)
    buffer = empty(likely_room(16 * count + SLACK) + SLACK, np.int32)
    done, end = collect(points, buffer, ends, 0, 0)
    while done < count:
        size = int(len(buffer) * max(2.0, 1.1 * count / (done + 1)))
        if size > MOST_PAIRS.value and count > 1:
            return _collect_halves(points, collect)
        grown = empty(size, np.int32)
        grown[:end] = buffer[:end]
        buffer = grown
        done, end = collect(points, buffer, ends, done, end)
    of, ids = empty(end + WIDTH, np.int64), empty(end, np.int64)
    _repeat(ends, of)
    np.copyto(ids, buffer[:end])
    return of[:end], ids


def _collect_halves(points: Int64s, collect: Collect) -> tuple[Int64s, Int64s]:
    middle = len(points) // 2
    (of, ids), (of2, ids2) = (pairs(half, collect) for half in (points[:middle], points[middle:]))
    return np.concatenate([of, of2 + middle]), np.concatenate([ids, ids2])


@kernel(void, ints32, ints_out)
def _repeat(ends: Any, of: Any) -> None:
    """Each row as often as it has ids."""
    at = ZERO
    for row in range(len(ends)):
        end: Any = U(ends[row])
        while at < end:
            for j in range(8):
                of[at + U(j)] = row
            at += WIDE
        at = end


@inline
def copy_eight(source: Any, start: Any, target: Any, at: Any) -> None:
    # All loads before the stores: only so can the compiler make one of each.
    a, b, c, d = source[start], source[start + ONE], source[start + TWO], source[start + THREE]
    e, f = source[start + FOUR], source[start + FIVE]
    g, h = source[start + SIX], source[start + SEVEN]
    target[at], target[at + ONE], target[at + TWO], target[at + THREE] = a, b, c, d
    target[at + FOUR], target[at + FIVE], target[at + SIX], target[at + SEVEN] = e, f, g, h


@inline
def append_rest(pool: Any, start: Any, length: Any, buffer: Any, end: Any) -> None:
    """Copy what a list has after its first eight ids, to where ``end`` is the place of those."""
    done = WIDE
    while done < length:
        copy_eight(pool, start + done, buffer, end + done)
        done += WIDE
