"""What rows of a record batch are read from, compared with its sums line by line of a sheet."""

from __future__ import annotations

import numpy as np

from windrow.archive.format.kernels.block_kernels import array_at, pointer, touch
from windrow.archive.format.sheet import (
    AT,
    BITS,
    CODES,
    COLUMNS,
    COUNT,
    DATA,
    FIXED,
    HEADER,
    KIND,
    LEFT,
    LIST,
    OF,
    SCALED,
    STRINGS,
    TO,
    VALUE_WIDTH,
    VALUES,
    WHOLE,
    WIDTH,
)
from windrow.columns.kernels import int64, ints, kernel


@kernel(int64, int64, int64, int64)
def _offset(at, width, place):  # type: ignore[no-untyped-def]
    if width == 4:
        return np.int64(array_at(pointer(at), place + 1, np.int32)[place])
    return array_at(pointer(at), place + 1, np.int64)[place]


@kernel(int64, int64, int64, int64, int64, int64, int64)
def _touch_strings(guard, at, width, data, start, stop):  # type: ignore[no-untyped-def]
    """Offsets and bytes of the strings [start, stop)."""
    bad = touch(guard, at + start * width, at + (stop + 1) * width)
    if bad:
        return bad
    low, high = _offset(at, width, start), _offset(at, width, stop)
    return touch(guard, data + low, data + high) if low < high else 0


@kernel(int64, int64, int64, int64, int64)
def _touch_codes(guard, line_at, start, stop):  # type: ignore[no-untyped-def]
    """Codes, and the values that they stand for."""
    line = array_at(pointer(line_at), COLUMNS, np.int64)
    width, at, count = line[WIDTH], line[AT], line[COUNT]
    bad = touch(guard, at + start * width, at + stop * width)
    if bad or not line[LEFT]:
        return bad
    values, wide = line[VALUES], line[VALUE_WIDTH]
    line[LEFT] = max(1, line[LEFT] - (stop - start))
    if line[LEFT] == 1:
        if wide < 0:
            bad = _touch_strings(guard, values, -wide, line[DATA], 0, count)
        else:
            bad = touch(guard, values, values + count * wide)
        line[LEFT] = 1 if bad else 0
        return bad
    codes = array_at(pointer(at), stop * width, np.uint8)
    for row in range(start, stop):
        code = np.int64(codes[row * width])
        for i in range(1, width):
            code |= np.int64(codes[row * width + i]) << (8 * i)
        if code >= count:  # of a NULL
            continue
        if wide < 0:
            bad = _touch_strings(guard, values, -wide, line[DATA], code, code + 1)
        else:
            bad = touch(guard, values + code * wide, values + (code + 1) * wide)
        if bad:
            return bad
    return 0


@kernel(int64, int64, int64, int64, int64)
def _touch_line(guard, line_at, start, stop):  # type: ignore[no-untyped-def]
    """What a line has of the rows [start, stop)."""
    line = array_at(pointer(line_at), COLUMNS, np.int64)
    kind, width, at = line[KIND], line[WIDTH], line[AT]
    if kind == FIXED:
        return touch(guard, at + start * width, at + stop * width)
    if kind == CODES:
        return _touch_codes(guard, line_at, start, stop)
    if kind == STRINGS:
        return _touch_strings(guard, at, width, line[DATA], start, stop)
    if kind == BITS:
        return touch(guard, at + (start >> 3), at + ((stop - 1) >> 3) + 1)
    if kind == LIST:
        return touch(guard, at + start * width, at + (stop + 1) * width)
    if kind == WHOLE:
        return touch(guard, at, at + line[COUNT])
    return 0


@kernel(int64, int64, int64, int64)
def touch_rows(sheet_at, start, stop):  # type: ignore[no-untyped-def]
    """All lines of a sheet: 0, or what ``touch`` says of a block that is damaged."""
    header = array_at(pointer(sheet_at), 3, np.int64)
    lines, stretches, guard = header[0], header[1], header[2]
    size = 8 * COLUMNS
    if stretches == 1:
        for i in range(HEADER, HEADER + lines):
            bad = _touch_line(guard, sheet_at + i * size, start, stop)
            if bad:
                return bad
        return 0
    low, high = np.empty(stretches, np.int64), np.empty(stretches, np.int64)
    low[0], high[0] = start, stop
    for i in range(HEADER, HEADER + lines):
        line = array_at(pointer(sheet_at + i * size), COLUMNS, np.int64)
        of, to = line[OF], line[TO]
        if line[KIND] == SCALED:
            low[to], high[to] = low[of] * line[WIDTH], high[of] * line[WIDTH]
        elif low[of] < high[of] or line[KIND] == LIST:
            if low[of] < high[of]:
                bad = _touch_line(guard, sheet_at + i * size, low[of], high[of])
                if bad:
                    return bad
            if line[KIND] == LIST:
                low[to] = high[to] = 0
                if low[of] < high[of]:
                    low[to] = _offset(line[AT], line[WIDTH], low[of])
                    high[to] = _offset(line[AT], line[WIDTH], high[of])
    return 0


@kernel(int64, int64, ints)
def touch_each(sheet_at, rows):  # type: ignore[no-untyped-def]
    for row in rows:
        bad = touch_rows(sheet_at, row, row + 1)
        if bad:
            return bad
    return 0
