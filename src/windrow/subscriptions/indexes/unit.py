"""Unit-length intervals, UI (Wu, Chen, Yu 2004, 2.2): a construct for each cell.

One list for a point, the fastest search there is; w ids for an interval of w cells. For narrow
intervals only.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numba import types

from windrow.columns.arrays import Int64s
from windrow.columns.kernels import int64, ints, kernel
from windrow.subscriptions.indexes.constructs import ConstructIndex
from windrow.subscriptions.indexes.idlists import (
    IdLists,
    Int32s,
    headers_in,
    ints32,
    ints32_out,
)
from windrow.subscriptions.indexes.point_batches import (
    SLACK,
    WIDE,
    Collect,
    U,
    append_rest,
    copy_eight,
)


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
        return partial(_collect, lists.headers, lists.pool, low)


class UnitIntervals(ConstructIndex):
    """UI; there is no length to choose."""

    def _layout(self, cells: int, length: int) -> UnitLayout:
        return UnitLayout(cells)


@kernel(
    types.UniTuple(int64, 2), headers_in, ints32, int64,
    ints, ints32_out, ints32_out, int64, int64,
)  # fmt: skip
def _collect(
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
