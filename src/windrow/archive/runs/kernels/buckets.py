"""A key in the directories of several runs at once."""

from __future__ import annotations

import numpy as np

from windrow.archive.format.kernels.addresses import array_at, pointer
from windrow.archive.format.kernels.blocks import touch
from windrow.archive.format.kernels.rows import touch_rows
from windrow.archive.runs.kernels.search import exact_bytes, find_number, same_number
from windrow.archive.runs.search import ABSENT, BYTES
from windrow.columns.kernels import bytes_in, grid, grid_out, int64, ints, kernel

_GUARD, _KEYS, _DATA, _STARTS, _COUNT, _END, _HELD = range(7)
"""Of a line of the table: as ``Directory.addresses`` has them."""


@kernel(int64, grid, ints, bytes_in, int64, grid_out)
def find_buckets(table, sheets, text, number, found):  # type: ignore[no-untyped-def]
    """For each directory the rows of the bucket of a text or a number: 0, or one more than the
    directory that is damaged, which has what ``touch`` says of it instead. Where there is a sheet,
    what the rows are read from is compared as well; if it is damaged, the answer is negative.
    """
    for run in range(len(table)):
        line = table[run]
        guard, keys, held, count = line[_GUARD], line[_KEYS], line[_HELD], line[_COUNT]
        if held == BYTES:
            place = exact_bytes(guard, keys, line[_DATA], text, count)
        else:
            place = find_number(guard, keys, held, number, 0, count, False)
            if place == count:
                place = ABSENT
            elif place >= 0:
                place = same_number(guard, keys, held, number, place)
        if place < 0:
            found[run, 0] = place
            return run + 1
        found[run, 0] = found[run, 1] = 0
        if place != ABSENT:
            starts_at, last = line[_STARTS], min(place + 2, count)
            bad = touch(guard, starts_at + 8 * place, starts_at + 8 * last)
            if bad:
                found[run, 0] = bad
                return run + 1
            starts = array_at(pointer(starts_at), last, np.int64)
            found[run, 0] = starts[place]
            found[run, 1] = line[_END] if place + 1 == count else starts[place + 1]
            if sheets[run] and touch_rows(sheets[run], found[run, 0], found[run, 1]):
                return -1 - run
    return 0
