"""Decimals of up to 76 digits as rows of 64-bit words, and a 64-bit key for each.

A decimal is an integer, its value in units of its last place, of 128 or 256 bits. As a row of
*words* it has the most significant word first and the sign bit of the others turned over, so that
rows compare as their values do, word by word, as signed integers.

An index takes one key. The key of an integer below 2**62 is the integer itself. Beyond that it is
the number of its bits and the 54 bits after the first, as in a floating point number: monotone,
but *rough*, since values that differ further down share it. Where a rough key meets the end of a
condition the words decide (``attribute_index.py``); nowhere else are they looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.columns.arrays import Int64s
from windrow.columns.kernels import grid, grid_out, ints, ints_out, kernel, void

EXACT_BITS = 62
FRACTION_BITS = 54
ROUGH = 1 << EXACT_BITS
"""The least key, but for its sign, that may stand for several values."""
SIGN = np.int64(-(2**63))
U = np.uint64


def words_in(column: pa.Array) -> Int64s:
    """The words of a decimal column, a row each; what stands for NULL is anything."""
    count = 4 if pa.types.is_decimal256(column.type) else 2
    raw = column.buffers()[1]
    if raw is None or not len(column):
        return np.zeros((len(column), count), np.int64)
    little = np.frombuffer(raw, np.int64, count=count * (column.offset + len(column)))
    return _in_word_order(little.reshape(-1, count)[column.offset :])


def words_for(values: Sequence[int], count: int) -> Int64s:
    """The words of integers; those beyond ``count`` words become the utmost."""
    utmost = (1 << (64 * count - 1)) - 1
    raw = b"".join(
        max(min(v, utmost), -utmost - 1).to_bytes(8 * count, "little", signed=True) for v in values
    )
    return _in_word_order(np.frombuffer(raw, np.int64).reshape(-1, count))


def _in_word_order(little: Int64s) -> Int64s:
    words = np.ascontiguousarray(little[:, ::-1])
    words[:, 1:] ^= SIGN
    return words


def keys_for(words: Int64s) -> Int64s:
    """The key of each row of words."""
    keys = np.empty(len(words), np.int64)
    _keys(words, keys)
    return keys


def move_by(words: Int64s, steps: Int64s) -> Int64s:
    """The words of each integer and a step of -1, 0 or 1; the utmost stay where they are."""
    found = words.copy()
    _move(found, steps)
    return found


@kernel(void, grid, ints_out)
def _keys(words: Any, keys: Any) -> None:
    count = words.shape[1]
    size = np.empty(count, np.uint64)  # the magnitude, most significant word first
    for row in range(len(words)):
        negative = words[row, 0] < 0
        carry = U(1) if negative else U(0)
        for at in range(count - 1, -1, -1):
            word = U(words[row, at])
            if at:
                word ^= U(1) << U(63)
            if negative:
                word = ~word + carry
                carry = U(1) if carry and word == U(0) else U(0)
            size[at] = word
        first = 0
        while first < count - 1 and size[first] == U(0):
            first += 1
        bits = 64 * (count - 1 - first)
        top = size[first]
        length, rest = np.int64(0), top
        for half in (32, 16, 8, 4, 2, 1):
            if rest >> U(half) != U(0):
                rest >>= U(half)
                length += half
        length += np.int64(rest)
        bits += length
        if bits <= EXACT_BITS:
            key = np.int64(size[count - 1])
        else:
            # The leading bit and those after it, from this word and the next.
            if length > FRACTION_BITS:
                lead = top >> U(length - FRACTION_BITS - 1)
            else:
                missing = FRACTION_BITS + 1 - length
                lead = (top << U(missing)) | (size[first + 1] >> U(64 - missing))
            fraction = np.int64(lead) - (np.int64(1) << FRACTION_BITS)
            key = ROUGH + (np.int64(bits - EXACT_BITS - 1) << FRACTION_BITS) + fraction
        keys[row] = -key if negative else key


@kernel(void, grid_out, ints)
def _move(words: Any, steps: Any) -> None:
    count = words.shape[1]
    high, low = np.int64(2**63 - 1), np.int64(-(2**63))
    for row in range(len(words)):
        step = steps[row]
        if step == 0:
            continue
        # In this form a carry is the same in every word: past the greatest comes the least.
        last, first = (high, low) if step > 0 else (low, high)
        utmost = True
        for at in range(count):
            utmost = utmost and words[row, at] == last
        if utmost:
            continue
        at = count - 1
        while words[row, at] == last:
            words[row, at] = first
            at -= 1
        words[row, at] += step
