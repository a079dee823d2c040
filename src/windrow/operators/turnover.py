"""What a buffer's owner says of tuples that come and of those that they push out.

Rows are taken from the buffer once, in the order in which they are said: at each instant what goes
stands before what comes. Of a tuple that is pushed out at the instant at which it comes nothing is
said.
"""

from __future__ import annotations

import numpy as np

from windrow.columns.arrays import Int64s
from windrow.columns.delta import Delta
from windrow.columns.kernels import grid, int64, ints, ints_out, kernel, signs_out
from windrow.core.time import FOREVER
from windrow.operators.state.buffer import StateBuffer


@kernel(int64, ints, grid, int64, ints_out, ints_out, signs_out)
def _merge(coming, gone, first, positions, times, signs):  # type: ignore[no-untyped-def]
    """The changes in order of time; how many there are."""
    said = np.ones(len(coming), np.uint8)
    for i in range(len(gone)):
        at = gone[i, 0] - first
        if at >= 0 and coming[at] == gone[i, 1]:
            said[at] = 0
    count, j = 0, 0
    for i in range(len(coming) + 1):
        while j < len(gone) and (i == len(coming) or gone[j, 1] <= coming[i]):
            at = gone[j, 0] - first
            if at < 0 or said[at]:
                positions[count], times[count], signs[count] = gone[j, 0], gone[j, 1], -1
                count += 1
            j += 1
        if i < len(coming) and said[i]:
            positions[count], times[count], signs[count] = first + i, coming[i], 1
            count += 1
    return count


def arrivals_and_departures(buffer: StateBuffer, first: int, coming: Int64s, gone: Int64s) -> Delta:
    """Tuples from the position ``first`` on came at the instants ``coming``; each of ``gone`` is
    the position of one that they pushed out, and when. Both are in order of time.
    """
    room = len(coming) + len(gone)
    positions, times = np.empty(room, np.int64), np.empty(room, np.int64)
    sign = np.empty(room, np.int8)
    count = _merge(coming, gone, first, positions, times, sign)
    rows = buffer.rows.take(positions[:count])
    return Delta(times[:count], np.full(count, FOREVER, np.int64), sign[:count], rows)
