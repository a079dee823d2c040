"""Which tuples that go may be equal to one that comes at the same instant.

ISTREAM shows what comes, net of what goes (Golab 2006, 2.1.3). A tuple that goes takes part in that
only if an equal one comes at its instant, and few do, while over a window as many go as come. So
those that cannot are left out before anything is sorted or compared: what comes is marked in a
table by its instant and one of its columns, and what goes stays if its own mark is there.

Invariant: what is equal to something that comes at its instant always stays. Others stay by
chance, one in ``SPARSE`` or so, and are compared as all were before. Cost: a few nanoseconds per
tuple.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.columns.arrays import Int64s, identity_keys
from windrow.columns.delta import Delta
from windrow.columns.kernels import (
    bytes_in,
    bytes_out,
    flags_out,
    helper,
    ints,
    kernel,
    void,
)

SPARSE = 8
"""Places of the table for each tuple that comes."""


@helper
def _place(time, key, size):  # type: ignore[no-untyped-def]
    """A place in a table whose size is a power of two."""
    mixed = time * np.int64(-7046029254386353131) + key * np.int64(-4417276706812531889)
    return (mixed ^ (mixed >> 29)) & (size - 1)


@kernel(void, ints, ints, bytes_out)
def _mark(times, keys, marks):  # type: ignore[no-untyped-def]
    for i in range(len(times)):
        marks[_place(times[i], keys[i], len(marks))] = 1


@kernel(void, ints, ints, bytes_in, flags_out)
def _find(times, keys, marks, found):  # type: ignore[no-untyped-def]
    for i in range(len(times)):
        found[i] = marks[_place(times[i], keys[i], len(marks))] != 0


class PossibleOpposites:
    """See the module; ``column`` is the number of the one that is looked at, None for none."""

    def __init__(self, coming: Delta, column: int | None) -> None:
        self.column = column
        self._marks = np.zeros(1 << (SPARSE * len(coming)).bit_length(), np.uint8)
        rows = None if column is None else coming.rows.column(column)
        _mark(coming.ts, self._keys(rows, len(coming)), self._marks)

    def among(self, times: Int64s, values: pa.Array | None) -> npt.NDArray[np.bool_]:
        """Which of those stay that go at some instants, given their values of the column."""
        found = np.empty(len(times), np.bool_)
        _find(times, self._keys(values, len(times)), self._marks, found)
        return found

    @staticmethod
    def _keys(values: pa.Array | None, count: int) -> Int64s:
        return np.zeros(count, np.int64) if values is None else identity_keys(values)
