"""Binary search in columns of a directory where they are mapped, each page compared before."""

from __future__ import annotations

import numpy as np

from windrow.archive.format.kernels.addresses import array_at, pointer
from windrow.archive.format.kernels.blocks import touch
from windrow.archive.runs.search import (
    ABSENT,
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
from windrow.columns.kernels import boolean, bytes_in, int64, kernel


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
