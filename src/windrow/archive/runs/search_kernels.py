"""Binary search in columns of a directory where they are mapped, each page compared before; and a
key in the directories of several runs at once.
"""

from __future__ import annotations

import numpy as np

from windrow.archive.format.block_kernels import array_at, pointer, touch, touch_rows
from windrow.archive.runs.search import (
    ABSENT,
    BYTES,
    FLOAT32,
    FLOAT64,
    GREATEST,
    INT8,
    INT16,
    INT32,
    INT64,
    NAN,
    UINT16,
    UINT32,
    UINT64,
    WIDTHS,
)
from windrow.columns.kernels import boolean, bytes_in, grid, grid_out, int64, ints, kernel


@kernel(int64, int64, int64, int64)
def _number(at, held, place):  # type: ignore[no-untyped-def]
    """A number as an integer in the same order."""
    if held == INT64:
        return array_at(pointer(at), place + 1, np.int64)[place]
    if held == INT32:
        return np.int64(array_at(pointer(at), place + 1, np.int32)[place])
    if held >= FLOAT32:
        value = (
            array_at(pointer(at), place + 1, np.float64)[place]
            if held == FLOAT64
            else np.float64(array_at(pointer(at), place + 1, np.float32)[place])
        )
        if value != value:  # noqa: PLR0124 (NaN)
            return NAN
        bits = np.float64(value).view(np.int64)
        return bits if bits >= 0 else bits ^ GREATEST
    if held == UINT64:
        return array_at(pointer(at), place + 1, np.int64)[place] ^ np.int64(-(2**63))
    if held == UINT32:
        return np.int64(array_at(pointer(at), place + 1, np.uint32)[place])
    if held == INT16:
        return np.int64(array_at(pointer(at), place + 1, np.int16)[place])
    if held == UINT16:
        return np.int64(array_at(pointer(at), place + 1, np.uint16)[place])
    if held == INT8:
        return np.int64(array_at(pointer(at), place + 1, np.int8)[place])
    return np.int64(array_at(pointer(at), place + 1, np.uint8)[place])


@kernel(int64, int64, int64, int64, int64, int64)
def same_number(guard, at, held, sought, place):  # type: ignore[no-untyped-def]
    """The place if it has the number, else ``ABSENT``; or what ``touch`` says."""
    width = WIDTHS[held]
    bad = touch(guard, at + place * width, at + (place + 1) * width)
    if bad:
        return bad
    return place if _number(at, held, place) == sought else ABSENT


@kernel(int64, int64, int64, int64, int64, int64, int64, boolean)
def find_number(guard, at, held, sought, low, high, right):  # type: ignore[no-untyped-def]
    """The first place in [low, high) whose number is not less (``right``: greater); or what
    ``touch`` says of a block that is damaged.
    """
    width = WIDTHS[held]
    while low < high:
        middle = (low + high) // 2
        bad = touch(guard, at + middle * width, at + (middle + 1) * width)
        if bad:
            return bad
        found = _number(at, held, middle)
        if found < sought or (right and found == sought):
            low = middle + 1
        else:
            high = middle
    return low


_LESS, _EQUAL, _GREATER = 1, 2, 3


@kernel(int64, int64, int64, int64, bytes_in, int64)
def _compare(guard, offsets_at, data_at, value, place):  # type: ignore[no-untyped-def]
    """Whether the bytes at a place are less than a value, equal or greater; or what ``touch`` says
    of a block that is damaged.
    """
    bad = touch(guard, offsets_at + 8 * place, offsets_at + 8 * place + 16)
    if bad:
        return bad
    offsets = array_at(pointer(offsets_at), place + 2, np.int64)
    start = offsets[place]
    length = offsets[place + 1] - start
    shared = min(length, len(value))
    if shared > 0:
        bad = touch(guard, data_at + start, data_at + start + shared)
        if bad:
            return bad
        data = array_at(pointer(data_at), start + shared, np.uint8)
        for i in range(shared):
            if data[start + i] != value[i]:
                return _LESS if data[start + i] < value[i] else _GREATER
    if length == len(value):
        return _EQUAL
    return _LESS if length < len(value) else _GREATER


@kernel(int64, int64, int64, int64, bytes_in, int64, int64, boolean)
def find_bytes(guard, offsets_at, data_at, value, low, high, right):  # type: ignore[no-untyped-def]
    """The first place in [low, high) whose bytes are not less (``right``: greater); or what
    ``touch`` says of a block that is damaged.
    """
    while low < high:
        middle = (low + high) // 2
        sign = _compare(guard, offsets_at, data_at, value, middle)
        if sign < 0:
            return sign
        if sign == _LESS or (right and sign == _EQUAL):
            low = middle + 1
        else:
            high = middle
    return low


@kernel(int64, int64, int64, int64, bytes_in, int64)
def exact_bytes(guard, offsets_at, data_at, value, count):  # type: ignore[no-untyped-def]
    """The place of the value among the first ``count``, else ``ABSENT``; or what ``touch`` says."""
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        sign = _compare(guard, offsets_at, data_at, value, middle)
        if sign < 0 or sign == _EQUAL:
            return sign if sign < 0 else middle
        if sign == _LESS:
            low = middle + 1
        else:
            high = middle
    return ABSENT


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
