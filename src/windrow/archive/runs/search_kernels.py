"""Binary search in columns of a directory where they are mapped, each page compared before; and a
key in the directories of several runs at once.
"""

from __future__ import annotations

import numpy as np
from numba import types

from windrow.archive.format.block_kernels import array_at, pointer, touch
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
from windrow.columns.kernels import boolean, bytes_in, grid, grid_out, int64, kernel


@kernel(int64, int64, int64, int64)
def number_at(at, held, place):  # type: ignore[no-untyped-def]
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
    return place if number_at(at, held, place) == sought else ABSENT


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
        found = number_at(at, held, middle)
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


@kernel(int64, int64, int64, int64, bytes_in, int64, int64)
def exact_bytes(guard, offsets_at, data_at, value, low, high):  # type: ignore[no-untyped-def]
    """The place of the value in [low, high), else ``ABSENT``; or what ``touch`` says."""
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


GUARD, KEYS, DATA, STARTS, KEY_COUNT, END, FORM = range(7)
"""Of a line: as ``Directory.addresses`` has them."""
DIRECTORY_COLUMNS = 7


@kernel(int64, int64, bytes_in, int64, int64, int64)
def place_of(line_at, text, number, low, high):  # type: ignore[no-untyped-def]
    """The place of a text or a number among the keys [low, high) of a directory, or ``ABSENT``; or
    what ``touch`` says of a block that is damaged.
    """
    line = array_at(pointer(line_at), DIRECTORY_COLUMNS, np.int64)
    guard, keys, held = line[GUARD], line[KEYS], line[FORM]
    if held == BYTES:
        return exact_bytes(guard, keys, line[DATA], text, low, high)
    place = find_number(guard, keys, held, number, low, high, False)
    if place == high:
        return ABSENT
    return same_number(guard, keys, held, number, place) if place >= 0 else place


@kernel(types.UniTuple(int64, 2), int64, int64)
def bucket_of(line_at, place):  # type: ignore[no-untyped-def]
    """The rows [start, stop) of what ``place_of`` says; empty where it is absent, and what
    ``touch`` says of a block and -1 if that is damaged.
    """
    line = array_at(pointer(line_at), DIRECTORY_COLUMNS, np.int64)
    if place < 0:
        return place, -1
    if place == ABSENT:
        return 0, 0
    starts_at, count = line[STARTS], line[KEY_COUNT]
    last = min(place + 2, count)
    bad = touch(line[GUARD], starts_at + 8 * place, starts_at + 8 * last)
    if bad:
        return bad, -1
    starts = array_at(pointer(starts_at), last, np.int64)
    return starts[place], line[END] if place + 1 == count else starts[place + 1]


@kernel(int64, grid, bytes_in, int64, grid_out)
def find_buckets(table, text, number, found):  # type: ignore[no-untyped-def]
    """For each directory the rows of the bucket of a text or a number: 0, or one more than the
    directory that is damaged, which has what ``touch`` says of it instead.
    """
    for run in range(len(table)):
        line_at = table.ctypes.data + 8 * DIRECTORY_COLUMNS * run
        place = place_of(line_at, text, number, 0, table[run, KEY_COUNT])
        start, stop = bucket_of(line_at, place)
        found[run, 0], found[run, 1] = start, stop
        if stop < 0:
            return run + 1
    return 0
