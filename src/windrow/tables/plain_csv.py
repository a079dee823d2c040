"""CSV in its plainest form, in one pass of a kernel that makes nothing but what is wanted.

Most text is plain: no quotes, no ``\\r``, as many fields in every row, numbers without signs of
their own, moments as ``2026-03-01 09:00:05.123456`` or without the fraction. A field that nobody
wants is passed over eight bytes at a time, which is twice as fast as a reader that notes where each
field lies. What is not plain, or not of these types, is left to Arrow, a chunk as a whole: what is
read here Arrow reads alike.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from windrow.columns.arrays import fixed_array
from windrow.columns.byte_kernels import word_at
from windrow.columns.kernels import (
    bytes_in,
    grid_out,
    inline,
    int64,
    ints,
    kernel,
    likely_room,
)
from windrow.columns.stored_columns import gather_bytes

SKIPPED, WHOLE_NUMBER, MOMENT, TEXT = range(4)
NO_VALUE = -(2**63)
"""In place of NULL; plain numbers are shorter."""
ZERO, MINUS, SPACE, COLON, POINT, NEWLINE = 48, 45, 32, 58, 46, 10
SECONDS, MICROS = len("2026-03-01 09:00:05"), len("2026-03-01 09:00:05.123456")
FEBRUARY, DAYS_TO_1970 = 2, 719468
DIGITS = 18
"""Digits that a number may have and fit for sure."""
KINDS = {pa.int64(): WHOLE_NUMBER, pa.timestamp("us"): MOMENT, pa.string(): TEXT}


@inline
def _zero_bytes(word):  # type: ignore[no-untyped-def]
    """The high bit of the lowest byte that is zero, if any is; bits above it mean nothing."""
    return (word - np.uint64(0x0101010101010101)) & ~word & np.uint64(0x8080808080808080)


@kernel(int64, bytes_in, int64, int64, int64)
def _field_end(data, at, stop, separator):  # type: ignore[no-untyped-def]
    """Where the field that ``at`` is in ends; ``stop`` if it does not."""
    ones = np.uint64(0x0101010101010101)
    separators, breaks = np.uint64(separator) * ones, np.uint64(10) * ones
    while at + 8 <= stop:
        word = word_at(data, at)
        found = _zero_bytes(word ^ separators) | _zero_bytes(word ^ breaks)
        if found:
            while not found & np.uint64(0x80):
                found >>= np.uint64(8)
                at += 1
            return at
        at += 8
    while at < stop and data[at] != separator and data[at] != 10:
        at += 1
    return at


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
def _number(data, at, end):  # type: ignore[no-untyped-def]
    """A whole number, written plainly; NO_VALUE if it is not."""
    negative = data[at] == MINUS
    at += negative
    if at == end or end - at > DIGITS or (data[at] == ZERO and end - at > 1):
        return NO_VALUE
    value = _digits(data, at, end - at)
    if value < 0:
        return NO_VALUE
    return -value if negative else value


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


@inline
def _same_second(data, a, b):  # type: ignore[no-untyped-def]
    """Whether two moments are written alike up to the second, which has 19 bytes."""
    return (
        word_at(data, a) == word_at(data, b)
        and word_at(data, a + 8) == word_at(data, b + 8)
        and word_at(data, a + 11) == word_at(data, b + 11)
    )


@kernel(int64, bytes_in, int64, ints, grid_out, grid_out)
def _read(data, separator, kinds, values, ends):  # type: ignore[no-untyped-def]
    """How many rows there are, even beyond the room for them; -1 if not all is plain.

    ``values`` gets, per column that is wanted, numbers, or where texts begin, and ``ends`` where
    fields end.
    """
    at, row, width, stop, room = 0, 0, len(kinds), len(data), values.shape[1]
    before, second = -1, 0
    while at < stop:
        column = 0
        for field in range(width):
            kind, end = kinds[field], _field_end(data, at, stop, separator)
            if end == stop or (data[end] == NEWLINE) != (field == width - 1):
                return -1
            if kind == SKIPPED or row >= room:
                at = end + 1
                continue
            value = at if kind == TEXT else NO_VALUE
            if kind == WHOLE_NUMBER and end > at:
                value = _number(data, at, end)
                if value == NO_VALUE:
                    return -1
            elif kind == MOMENT and end > at:
                length = end - at
                if length != SECONDS and (length != MICROS or data[at + SECONDS] != POINT):
                    return -1
                if before < 0 or not _same_second(data, at, before):
                    before, second = at, _second(data, at)
                micros = _digits(data, at + SECONDS + 1, 6) if length == MICROS else 0
                if second == NO_VALUE or micros < 0:
                    return -1
                value = second + micros
            values[column, row], ends[column, row] = value, end
            column += 1
            at = end + 1
        row += 1
    return row


def read_plain(
    data: bytes, width: int, separator: str, quote: str, types: Mapping[int, pa.DataType]
) -> pa.RecordBatch | None:
    """The columns at some places of rows of UTF-8, named by them; None if they are not for it."""
    kinds = np.zeros(width, np.int64)
    for place, kind in types.items():
        kinds[place] = KINDS.get(kind, -1)
    if width < 2 or kinds.min() < 0 or len(separator.encode()) != 1:
        return None
    if (quote and quote.encode() in data) or b"\r" in data or not data.endswith(b"\n"):
        return None
    wanted, text = sorted(types), np.frombuffer(data, np.uint8)
    shortest = max(data.find(b"\n") + 1, width)  # as far as the first row tells
    count = likely_room(2 * (len(data) // shortest))
    room = -1
    while count > room:
        room = count
        values, ends = np.empty((2, len(wanted), room), np.int64)
        count = _read(text, ord(separator), kinds, values, ends)
    if count < 0:
        return None
    arrays = []
    for number, place in enumerate(wanted):
        kind, column = types[place], values[number, :count]
        if kinds[place] == TEXT:
            lengths = ends[number, :count] - column
            arrays.append(gather_bytes(text, column, lengths, lengths > 0, kind))
        else:
            arrays.append(fixed_array(column, column != NO_VALUE, kind))
    return pa.RecordBatch.from_arrays(arrays, [str(place) for place in wanted])
