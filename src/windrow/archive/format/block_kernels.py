"""Blocks of mapped files summed up (XXH64) and compared with their sums, by their addresses; and
all that rows of a record batch are read from, line by line of a sheet.

A kernel takes arrays, and each costs a call some of a microsecond; what is looked up in many
mapped files is passed as a table of addresses instead. Whoever makes the table holds the buffers.
``blocks.py`` has the sum in plain Python, it and ``sheet.py`` the comparison.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from windrow.archive.format.blocks import (
    ALL_SUMS,
    BASE,
    BLOCK,
    ENDS,
    FLAGS,
    SHIFT,
    SIZE,
    SUM_BYTES,
    SUM_FLAGS,
    SUMS,
)
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
from windrow.columns.kernels import boolean, inline, int64, ints, kernel, void

array_at: Any = numba.carray  # type: ignore[attr-defined]
"""In a kernel: the array of a shape and type at a pointer."""
_P1 = np.uint64(11400714785074694791)
_P2 = np.uint64(14029467366897019727)
_P3 = np.uint64(1609587929392839161)
_P4 = np.uint64(9650029242287828579)
_P5 = np.uint64(2870177450012600261)
_NONE = np.uint64(0)
_LANES = 4


def _as_pointer(context: Any, address: Any) -> Any:  # noqa: ARG001 (numba's own way of calling)
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        return builder.inttoptr(arguments[0], cgutils.voidptr_t)

    return types.voidptr(address), generate


pointer: Any = intrinsic(_as_pointer)
"""In a kernel: an address as a pointer."""


def _as_prefetch(context: Any, address: Any) -> Any:  # noqa: ARG001
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        byte, word = cgutils.voidptr_t, cgutils.int32_t
        kind = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        place = builder.inttoptr(arguments[0], byte)
        builder.call(function, [place, word(0), word(3), word(1)])
        return context.get_dummy_value()

    return types.void(address), generate


prefetch: Any = intrinsic(_as_prefetch)
"""In a kernel: have what is at an address brought near, without waiting for it."""


@inline
def _rotate(x, bits):  # type: ignore[no-untyped-def]
    return (x << np.uint64(bits)) | (x >> np.uint64(64 - bits))


@inline
def _round(state, word):  # type: ignore[no-untyped-def]
    return _rotate(state + word * _P2, 31) * _P1


@inline
def _merge(state, other):  # type: ignore[no-untyped-def]
    return (state ^ _round(_NONE, other)) * _P1 + _P4


@kernel(types.uint64, int64, int64)
def xxh64(address, length):  # type: ignore[no-untyped-def]
    """The sum of so many bytes at an address."""
    words = array_at(pointer(address), length // 8, np.uint64)
    stripes = length // 32
    state = _P5
    if stripes:
        a, b, c, d = _P1 + _P2, _P2, _NONE, _NONE - _P1
        for i in range(0, stripes * _LANES, _LANES):
            a, b = _round(a, words[i]), _round(b, words[i + 1])
            c, d = _round(c, words[i + 2]), _round(d, words[i + 3])
        state = _rotate(a, 1) + _rotate(b, 7) + _rotate(c, 12) + _rotate(d, 18)
        state = _merge(_merge(_merge(_merge(state, a), b), c), d)
    state += np.uint64(length)
    for i in range(stripes * _LANES, length // 8):
        state = _rotate(state ^ _round(_NONE, words[i]), 27) * _P1 + _P4
    done = length // 8 * 8
    if length - done >= 4:
        half = array_at(pointer(address + done), 1, np.uint32)
        state = _rotate(state ^ (np.uint64(half[0]) * _P1), 23) * _P2 + _P3
        done += 4
    rest = array_at(pointer(address), length, np.uint8)
    for i in range(done, length):
        state = _rotate(state ^ (np.uint64(rest[i]) * _P5), 11) * _P1
    state = (state ^ (state >> np.uint64(33))) * _P2
    state = (state ^ (state >> np.uint64(29))) * _P3
    return state ^ (state >> np.uint64(32))


@kernel(void, int64, int64, int64, types.Array(types.uint64, 1, "C"))
def sum_blocks(address, length, block, sums):  # type: ignore[no-untyped-def]
    """The sum of each block of so many bytes; the last may be shorter."""
    for i in range(len(sums)):
        sums[i] = xxh64(address + i * block, min(block, length - i * block))


@kernel(boolean, int64, int64)
def _compare(guard_at, block):  # type: ignore[no-untyped-def]
    """Whether a block is as its sum says, and that as its own; remembers if so."""
    guard = array_at(pointer(guard_at), 8, np.int64)
    place = guard[SUMS] + 8 * block
    page = (place - guard[ALL_SUMS]) >> SHIFT
    known = array_at(pointer(guard[SUM_FLAGS]), page + 1, np.uint8)
    if not known[page]:
        start = guard[ALL_SUMS] + (page << SHIFT)
        length = min(BLOCK, guard[ALL_SUMS] + guard[SUM_BYTES] - start)
        if xxh64(start, length) != array_at(pointer(guard[ENDS]), page + 1, np.uint64)[page]:
            return False
        known[page] = 1
    start = guard[BASE] + (block << SHIFT)
    length = min(BLOCK, guard[BASE] + guard[SIZE] - start)
    if xxh64(start, length) != array_at(pointer(place), 1, np.uint64)[0]:
        return False
    array_at(pointer(guard[FLAGS]), block + 1, np.uint8)[block] = 1
    return True


@kernel(int64, int64, int64, int64)
def touch(guard_at, low, high):  # type: ignore[no-untyped-def]
    """Compare the blocks of the bytes [low, high): 0, or -1 minus the block that is damaged."""
    guard = array_at(pointer(guard_at), 8, np.int64)
    first, last = (low - guard[BASE]) >> SHIFT, (high - 1 - guard[BASE]) >> SHIFT
    flags = array_at(pointer(guard[FLAGS]), last + 1, np.uint8)
    for block in range(first, last + 1):
        if not flags[block] and not _compare(guard_at, block):
            return -1 - block
    return 0


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
