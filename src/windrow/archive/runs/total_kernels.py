"""Entries of a run counted and added up by the codes of a column, where they are mapped.

Most entries may have one value, and each addition waits for the one before it in the same place. So
there are several ``LANES`` of places, and rows take turns.
"""

from __future__ import annotations

import numpy as np

from windrow.archive.format.block_kernels import array_at, pointer
from windrow.archive.runs.search_kernels import number_at
from windrow.columns.kernels import boolean, grid_out, int64, ints, ints_out, kernel, void

LANES = 4
HALF = 32
"""Sums of wide values are kept in halves: none of up to 2^31 of them overflows."""


@kernel(void, int64, int64, int64, ints_out)
def _read_codes(at, width, start, out):  # type: ignore[no-untyped-def]
    """Codes from a row on, as many as there is room for."""
    count = len(out)
    if width == 1:
        narrow = array_at(pointer(at + start), count, np.uint8)
        for i in range(count):
            out[i] = narrow[i]
    elif width == 2:
        middle = array_at(pointer(at + 2 * start), count, np.uint16)
        for i in range(count):
            out[i] = middle[i]
    else:
        wide = array_at(pointer(at + 4 * start), count, np.uint32)
        for i in range(count):
            out[i] = wide[i]


@kernel(void, int64, int64, int64, int64, int64, int64, int64, grid_out, ints_out)
def place_groups(at, width, start, stamps_at, form, low, high, counts, groups):  # type: ignore[no-untyped-def]
    """The code of each row from ``start`` on, and adds up how many there are of each. Rows whose
    stamp is not within [low, high) belong to a group after all others.
    """
    _read_codes(at, width, start, groups)
    if stamps_at:
        none = counts.shape[1] - 1
        for i in range(len(groups)):
            if not low <= number_at(stamps_at, form, start + i) < high:
                groups[i] = none
    for i in range(len(groups)):
        counts[i & (LANES - 1), groups[i]] += 1


@kernel(void, int64, int64, int64, ints, boolean, int64, ints, ints_out, grid_out, grid_out)
def add_values(at, width, form, values, small, start, groups, read, low, high):  # type: ignore[no-untyped-def]
    """Adds the values of rows from ``start`` on to the sums of their groups; of a dictionary they
    are ``values``, which codes of some ``width`` stand for. Values that are not ``small`` are added
    in halves. ``read`` is room for values.
    """
    if width:
        _read_codes(at, width, start, read[: len(groups)])
        for i in range(len(groups)):
            read[i] = values[read[i]]
    else:
        for i in range(len(groups)):
            read[i] = number_at(at, form, start + i)
    if small:
        for i in range(len(groups)):
            low[i & (LANES - 1), groups[i]] += read[i]
        return
    for i in range(len(groups)):
        high[i & (LANES - 1), groups[i]] += read[i] >> HALF
        low[i & (LANES - 1), groups[i]] += read[i] & ((1 << HALF) - 1)
