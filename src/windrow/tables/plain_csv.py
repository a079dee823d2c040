"""CSV in its plainest form, read by kernels that make nothing but what is wanted.

Most text is plain: quotes around whole texts at most, none inside, no ``\\r``, as many fields in
every row, numbers without signs of their own, moments as ``2026-03-01 09:00:05.123456`` or without
the fraction. What is not plain, or not of these types, is left to Arrow, a chunk as a whole: what
is read here Arrow reads alike.

The text is gone through in pieces that stay in the cache nearest to the processor. First all fields
of a piece are found, 64 bytes at a time and whatever they are. So a field that nobody wants costs
next to nothing, and every wanted column of the piece can be read in a loop of its own, in which
hardly anything depends on how long a field is.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
from numba import types as numba_types

from windrow.columns.arrays import fixed_array, string_array
from windrow.columns.byte_kernels import (
    BLOCK,
    bit_count,
    high_bytes,
    lowest_bit,
    word_at,
)
from windrow.columns.copied_texts import copy_texts
from windrow.columns.kernels import (
    boolean,
    bytes_in,
    grid_out,
    helper,
    inline,
    int64,
    ints,
    ints_out,
    kernel,
    likely_room,
    small_grid_out,
)
from windrow.core.thresholds import Threshold
from windrow.tables.fit import is_utf8
from windrow.tables.quotes import NEWLINE, NOTHING, RETURN, equal_bits, outside_quotes

SKIPPED, WHOLE_NUMBER, MOMENT, TEXT = range(4)
NO_VALUE = -(2**63)
"""In place of NULL; plain numbers are shorter."""
ZERO, MINUS, SPACE, COLON, POINT = 48, 45, 32, 58, 46
SECONDS, MICROS = len("2026-03-01 09:00:05"), len("2026-03-01 09:00:05.123456")
FEBRUARY, DAYS_TO_1970 = 2, 719468
WORD, DIGITS = 8, 18
"""Bytes of a word; digits that a number may have and fit for sure."""
KINDS = {pa.int64(): WHOLE_NUMBER, pa.timestamp("us"): MOMENT, pa.string(): TEXT}
PIECE = Threshold(1 << 14, least=1)
"""Bytes whose fields are found before they are read."""
NOT_PLAIN = (-1, False)

rows_and_high = numba_types.Tuple((int64, boolean))
ZEROS, LOW = np.uint64(0x3030303030303030), np.uint64(0x0F0F0F0F0F0F0F0F)
PAIRS, FOURS = np.uint64(0x00FF00FF00FF00FF), np.uint64(0x0000FFFF0000FFFF)


@inline
def _last_digits(word, count):  # type: ignore[no-untyped-def]
    """The last bytes of a word, one to eight digits, as a number; a negative one if there is
    anything else.

    Digits become pairs, pairs fours and fours eights, all of them at once.
    """
    before = (np.uint64(1) << np.uint64(64 - 8 * count)) - np.uint64(1)  # bits of what is no digit
    word = (word & ~before) | (ZEROS & before)
    high = ~LOW
    over = (word + np.uint64(0x0606060606060606)) & high  # of ten and more it is not that of 0
    good = (word & high) == ZEROS and over == ZEROS
    word = ((word & LOW) * np.uint64(10 * 2**8 + 1)) >> np.uint64(8)
    word = ((word & PAIRS) * np.uint64(100 * 2**16 + 1)) >> np.uint64(16)
    word = ((word & FOURS) * np.uint64(10_000 * 2**32 + 1)) >> np.uint64(32)
    return np.int64(word) if good else np.int64(-1)


@inline
def _digits(data, at, count):  # type: ignore[no-untyped-def]
    """So many digits as a number; a negative one if there is anything else."""
    value, good = np.int64(0), True
    for i in range(at, at + count):
        digit = np.int64(data[i]) - ZERO
        if not 0 <= digit <= 9:
            good = False
        value = value * 10 + digit
    return value if good else np.int64(-1)


@kernel(int64, bytes_in, int64, int64)
def _slow_digits(data, at, end):  # type: ignore[no-untyped-def]
    return _digits(data, at, end - at)


@kernel(int64, bytes_in, int64)
def _second(data, at):  # type: ignore[no-untyped-def]
    """Microseconds from 1970 to ``2026-03-01 09:00:05``; NO_VALUE if it is written otherwise."""
    for place, mark in ((4, MINUS), (7, MINUS), (10, SPACE), (13, COLON), (16, COLON)):
        if data[at + place] != mark:
            return NO_VALUE
    year, month, day = _digits(data, at, 4), _digits(data, at + 5, 2), _digits(data, at + 8, 2)
    hour, minute = _digits(data, at + 11, 2), _digits(data, at + 14, 2)
    second = _digits(data, at + 17, 2)
    # Leap days are left to Arrow; up to July odd months have 31 days, then even ones.
    days = 28 if month == FEBRUARY else 30 + (month + month // 8) % 2
    if year < 1 or not 1 <= month <= 12 or not 1 <= day <= days:
        return NO_VALUE
    if not 0 <= hour <= 23 or not 0 <= minute <= 59 or not 0 <= second <= 59:
        return NO_VALUE
    # Years begin in March here, so that a leap day is the last of one.
    early = month <= FEBRUARY
    years, months = year - early, month - 3 + 12 * early
    leaps = years // 4 - years // 100 + years // 400
    days = 365 * years + leaps + (153 * months + 2) // 5 + day - 1 - DAYS_TO_1970
    return (((days * 24 + hour) * 60 + minute) * 60 + second) * 1_000_000


@helper
def _find_ends(data, at, stop, separator, quote, where, ends, count):  # type: ignore[no-untyped-def]
    """Add to ``ends`` where fields end from ``at`` up to ``stop``.

    How many there are then; how many are those of rows; ``where`` the last byte is among quotes;
    whether there is a quote that is not around a field, or a ``\\r``; and whether anything is no
    ASCII.
    """
    rows, odd, high = np.int64(0), np.uint64(0), np.uint64(0)
    inside, fresh, closed = where
    while at < stop:
        length = min(BLOCK, stop - at)
        breaks = equal_bits(data, at, length, np.uint8(NEWLINE))
        marks = breaks | equal_bits(data, at, length, separator)
        quotes = equal_bits(data, at, length, quote)
        odd |= equal_bits(data, at, length, np.uint8(RETURN))
        if length == BLOCK:
            high |= high_bytes(data, at)
        else:
            for i in range(at, stop):
                high |= np.uint64(data[i] >= 128)
        marks, wrong, inside, fresh, closed = outside_quotes(
            marks, quotes, length, inside, fresh, closed
        )
        odd |= wrong
        rows += bit_count(breaks & marks)
        found, stored = bit_count(marks), 0
        while stored < found:  # mostly once: what is stored too much is overwritten
            for k in range(4):
                ends[count + stored + k] = at + lowest_bit(marks)
                marks &= marks - np.uint64(1)
            stored += 4
        count += found
        at += length
    return count, rows, (inside, fresh, closed), odd != 0, high != 0


@helper
def _read_numbers(data, ends, field, width, out):  # type: ignore[no-untyped-def]
    """How many of a piece's fields are NULL; -1 if one is no plain number."""
    missing = 0
    for row in range(len(out)):
        at, end = ends[field] + 1, ends[field + 1]
        field += width
        if at == end:
            out[row] = NO_VALUE
            missing += 1
            continue
        negative = data[at] == MINUS
        at += negative
        count = end - at
        if count == 0 or count > DIGITS or (data[at] == ZERO and count > 1):
            return -1
        if count <= WORD <= end:
            value = _last_digits(word_at(data, end - WORD), count)
        elif count <= 2 * WORD <= end:
            value = _last_digits(word_at(data, end - WORD), WORD)
            above = _last_digits(word_at(data, end - 2 * WORD), count - WORD)
            value = -1 if value < 0 or above < 0 else above * 10**WORD + value
        else:
            value = _slow_digits(data, at, end)
        if value < 0:
            return -1
        out[row] = -value if negative else value
    return missing


@helper
def _read_moments(data, ends, field, width, out):  # type: ignore[no-untyped-def]
    """The same of moments, most of which lie in the second of the one before."""
    missing, second = 0, np.int64(NO_VALUE)
    a = b = c = np.uint64(0)  # how it is written
    for row in range(len(out)):
        at, end = ends[field] + 1, ends[field + 1]
        field += width
        if at == end:
            out[row] = NO_VALUE
            missing += 1
            continue
        length = end - at
        if length != SECONDS and (length != MICROS or data[at + SECONDS] != POINT):
            return -1
        first, middle = word_at(data, at), word_at(data, at + WORD)
        last = word_at(data, at + SECONDS - WORD)
        if second == NO_VALUE or first != a or middle != b or last != c:
            a, b, c, second = first, middle, last, _second(data, at)
            if second == NO_VALUE:
                return -1
        micros = np.int64(0)
        if length == MICROS:
            micros = _last_digits(word_at(data, end - WORD), 6)
            if micros < 0:
                return -1
        out[row] = second + micros
    return missing


@helper
def _find_texts(data, quote, ends, field, width, starts, offsets):  # type: ignore[no-untyped-def]
    """Where texts begin, and where they end when they stand one behind the other.

    A text without quotes and without bytes is NULL, and begins before all others.
    """
    missing, total = 0, np.int64(offsets[0])
    for row in range(len(starts)):
        at, end = ends[field] + 1, ends[field + 1]
        if at == end:
            missing += 1
            at = end = -1
        elif data[at] == quote:
            at, end = at + 1, end - 1
        total += end - at
        starts[row], offsets[row + 1] = at, total
        field += width
    return missing


@kernel(
    rows_and_high, bytes_in, int64, int64, int64, ints, grid_out, small_grid_out, ints_out
)  # fmt: skip
def _read(data, separator, quote, piece, kinds, values, offsets, missing):  # type: ignore[no-untyped-def]
    """How many rows there are, even beyond the room for them, and whether any byte is no ASCII;
    NOT_PLAIN if not all is plain.

    Per column that is wanted ``values`` gets numbers, or where texts begin, ``offsets`` where texts
    end, and ``missing`` how many are NULL.
    """
    separator, quote = np.uint8(separator), np.uint8(quote)
    width, stop, room = len(kinds), len(data), values.shape[1]
    ends = np.empty(1 + width + piece + BLOCK, np.int64)
    ends[0] = -1  # where the field before the first one ended
    at, count, row, high = 0, 1, 0, False
    where = NOTHING, np.uint64(1), NOTHING
    while at < stop:
        until = min(at + piece, stop)
        count, breaks, where, odd, some_high = _find_ends(
            data, at, until, separator, quote, where, ends, count
        )
        at, high = until, high or some_high
        rows = (count - 1) // width
        if odd or rows != breaks:
            return NOT_PLAIN
        for last in range(width, rows * width + 1, width):
            if data[ends[last]] != NEWLINE:
                return NOT_PLAIN
        column = 0
        for field in range(width):
            kind = kinds[field]
            if kind == SKIPPED or row + rows > room:
                continue
            out, nothing = values[column, row : row + rows], 0
            if kind == WHOLE_NUMBER:
                nothing = _read_numbers(data, ends, field, width, out)
            elif kind == MOMENT:
                nothing = _read_moments(data, ends, field, width, out)
            else:
                nothing = _find_texts(data, quote, ends, field, width, out, offsets[column, row:])
            if nothing < 0:
                return NOT_PLAIN
            missing[column] += nothing
            column += 1
        row += rows
        for left in range(rows * width, count):
            ends[left - rows * width] = ends[left]
        count -= rows * width
    return (row, high) if count == 1 and not where[0] else NOT_PLAIN


def read_plain(
    data: bytes, width: int, separator: str, quote: str, types: Mapping[int, pa.DataType]
) -> pa.RecordBatch | None:
    """The columns at some places of rows of UTF-8, named by them; None if they are not for it."""
    kinds = np.zeros(width, np.int64)
    for place, kind in types.items():
        kinds[place] = KINDS.get(kind, -1)
    if width < 2 or kinds.min() < 0 or len(separator.encode()) != 1 or not data.endswith(b"\n"):
        return None
    wanted, text = sorted(types), np.frombuffer(data, np.uint8)
    shortest = max(data.find(b"\n") + 1, width)  # as far as the first row tells
    count = likely_room(2 * (len(data) // shortest))
    room, high = -1, False
    while count > room:
        room = count
        values = np.empty((len(wanted), room), np.int64)
        offsets = np.zeros((len(wanted), room + 1), np.int32)
        missing = np.zeros(len(wanted), np.int64)
        marks = ord(separator), ord(quote or "\r")
        count, high = _read(text, *marks, PIECE.value, kinds, values, offsets, missing)
    if count < 0 or (high and not is_utf8(data)):
        return None
    arrays = []
    for number, place in enumerate(wanted):
        column, valid = values[number, :count], None
        if kinds[place] == TEXT:
            ends = offsets[number, : count + 1]
            if missing[number]:
                valid = column >= 0
            arrays.append(string_array(ends, copy_texts(text, column, ends), valid))
        else:
            if missing[number]:
                valid = column != NO_VALUE
            arrays.append(fixed_array(column, valid, types[place]))
    return pa.RecordBatch.from_arrays(arrays, [str(place) for place in wanted])
