"""Fences: some keys of a directory, evenly spaced, that stay near the processor.

A binary search in a mapped directory waits for memory at each step, once for the offset of a key
and once for its bytes. The first steps are the same for all keys. So every so many keys a word is
kept that is in the order of the keys: the number, or of texts the eight bytes after those that all
keys of the run begin with. A search among the words says between which places a key must lie; words
that are equal leave all their places open.
"""

from __future__ import annotations

import numpy as np
from numba import types

from windrow.archive.format.block_kernels import array_at, pointer, touch
from windrow.archive.runs.search import BYTES, WIDTHS
from windrow.archive.runs.search_kernels import (
    DATA,
    DIRECTORY_COLUMNS,
    FORM,
    GUARD,
    KEY_COUNT,
    KEYS,
    number_at,
)
from windrow.columns.kernels import bytes_in, inline, int64, ints_out, kernel

WORD = 8
COMMON = 0
"""The first element of fences: how many bytes all keys begin with. The words follow."""


@inline
def _word(data, start, stop):  # type: ignore[no-untyped-def]
    """Eight bytes as a number in their order; what is missing is 0."""
    word = np.uint64(0)
    for i in range(WORD):
        word = (word << np.uint64(8)) | np.uint64(data[start + i] if start + i < stop else 0)
    return np.int64(word ^ np.uint64(2**63))


@kernel(types.UniTuple(int64, 3), int64, int64)
def _text_at(line_at, place):  # type: ignore[no-untyped-def]
    """Where the bytes of a key begin and end, and what ``touch`` says of them."""
    line = array_at(pointer(line_at), DIRECTORY_COLUMNS, np.int64)
    at = line[KEYS] + 8 * place
    bad = touch(line[GUARD], at, at + 16)
    if bad:
        return 0, 0, bad
    offsets = array_at(pointer(at), 2, np.int64)
    first, last = offsets[0], offsets[1]
    if first < last:
        bad = touch(line[GUARD], line[DATA] + first, line[DATA] + last)
    return first, last, bad


@kernel(int64, int64, ints_out)
def set_fences(line_at, fences):  # type: ignore[no-untyped-def]
    """Fill the fences of a directory, as many as there is room for: 0, or what ``touch`` says of a
    block that is damaged.
    """
    line = array_at(pointer(line_at), DIRECTORY_COLUMNS, np.int64)
    count, held, room = line[KEY_COUNT], line[FORM], len(fences) - 1
    fences[COMMON] = 0
    if held != BYTES:
        width = WIDTHS[held]
        for i in range(room):
            place = i * count // room
            at = line[KEYS] + place * width
            bad = touch(line[GUARD], at, at + width)
            if bad:
                return bad
            fences[1 + i] = number_at(line[KEYS], held, place)
        return 0
    first, first_end, bad = _text_at(line_at, 0)
    if bad:
        return bad
    last, last_end, bad = _text_at(line_at, count - 1)
    if bad:
        return bad
    data = array_at(pointer(line[DATA]), max(first_end, last_end), np.uint8)
    common, most = 0, min(first_end - first, last_end - last)
    while common < most and data[first + common] == data[last + common]:
        common += 1
    fences[COMMON] = common
    for i in range(room):
        start, stop, bad = _text_at(line_at, i * count // room)
        if bad:
            return bad
        data = array_at(pointer(line[DATA]), stop, np.uint8)
        fences[1 + i] = _word(data, start + common, stop)
    return 0


@kernel(types.UniTuple(int64, 2), int64, int64, int64, bytes_in, int64)
def narrow(line_at, fences_at, room, text, number):  # type: ignore[no-untyped-def]
    """The places [low, high) between which a text or a number must lie; empty if it is nowhere."""
    line = array_at(pointer(line_at), DIRECTORY_COLUMNS, np.int64)
    count = line[KEY_COUNT]
    if not room:
        return 0, count
    fences = array_at(pointer(fences_at), room + 1, np.int64)
    word = np.int64(number)
    if line[FORM] == BYTES:
        common = fences[COMMON]
        if common > len(text):
            return 0, 0
        start = array_at(pointer(line[KEYS]), 1, np.int64)[0]
        data = array_at(pointer(line[DATA]), start + common, np.uint8)
        for i in range(common):
            if data[start + i] != text[i]:
                return 0, 0
        word = _word(text, common, len(text))
    low, length = 0, room
    while length > 0:  # the first fence that is not less
        half = length >> 1
        less = fences[1 + low + half] < word
        low = low + half + 1 if less else low
        length = length - half - 1 if less else half
    high = low
    while high < room and fences[1 + high] == word:
        high += 1
    return max(low - 1, 0) * count // room, count if high == room else high * count // room
