"""Which bytes of an Arrow file some rows of a record batch are read from, and that they are sound.

What a batch has in which columns is written down once, in a *sheet* of lines: values of a fixed
width, bits, strings, codes of a dictionary, lists. A kernel goes through the lines and has the
blocks of the rows compared that have not been yet. Of a dictionary these are the blocks of the
values that the rows have, until it pays to compare it whole. What no line can be written for is
compared whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from windrow.archive.format.addresses import array_at, pointer
from windrow.archive.format.blocks import Blocks, touch
from windrow.columns.arrays import Int64s
from windrow.columns.kernels import int64, ints, kernel

_BITS, _FIXED, _STRINGS, _CODES, _WHOLE, _LIST, _SCALED = range(7)
_COLUMNS = 10
_KIND, _WIDTH, _AT, _DATA, _COUNT, _VALUES, _VALUE_WIDTH, _OF, _TO, _LEFT = range(_COLUMNS)
"""Of a line: what it is of; the width of values, codes or offsets; where they are; where the bytes
of strings are; of a dictionary how many values, where, and how wide (offsets: minus their width);
which stretch of rows it is about, and which one it gives (stretch 0 are the rows of the batch); and
how many codes are still looked at before all values of the dictionary are compared."""
_CODE_COSTS = 128
"""Bytes that are summed up while a code is looked at. When looking has taken as long as it takes to
compare the whole dictionary, that is done: codes need not be looked at from then on."""
_HEADER = 1
"""The first line has the number of lines and of stretches, and the guard of the file."""

Line = tuple[int, ...]


class Sheet:
    """The lines of a batch for some columns. ``check`` costs a call of a kernel."""

    def __init__(self, blocks: Blocks, columns: Sequence[pa.Array]) -> None:
        self._blocks = blocks
        self._next = 1
        checked = () if blocks.trusted else columns
        lines = [line for column in checked for line in self._lines(column, 0)]
        header = (len(lines), self._next, blocks.guard)
        self._table = np.zeros((_HEADER + len(lines), _COLUMNS), np.int64)
        self._table[0, : len(header)] = header
        if lines:
            self._table[_HEADER:] = lines
        self.at = int(self._table.ctypes.data)

    def check(self, start: int, stop: int) -> None:
        """Compare what the rows [start, stop) are read from."""
        if not self._blocks.trusted and start < stop:
            bad = touch_rows(self.at, start, stop)
            if bad:
                raise self._blocks.damaged(bad)

    def check_each(self, rows: Int64s) -> None:
        """The same for rows that are given one by one."""
        if not self._blocks.trusted and len(rows):
            bad = _touch_each(self.at, rows)
            if bad:
                raise self._blocks.damaged(bad)

    def _lines(self, array: pa.Array, of: int) -> Iterator[Line]:
        types, kind = pa.types, array.type
        buffers = array.buffers()
        if array.offset or not all(b is None or self._blocks.has(b) for b in _buffers(array)):
            yield from self._whole(array)
            return
        if types.is_null(kind):
            return
        if types.is_dictionary(kind):
            yield from self._lines_of_codes(array, of)
            return
        valid = _line(_BITS, 0, buffers[0], of)
        if types.is_string(kind) or types.is_binary(kind):
            yield from (*valid, *_line(_STRINGS, 4, buffers[1], of, data=_address(buffers[2])))
        elif types.is_large_string(kind) or types.is_large_binary(kind):
            yield from (*valid, *_line(_STRINGS, 8, buffers[1], of, data=_address(buffers[2])))
        elif types.is_boolean(kind):
            yield from (*valid, *_line(_BITS, 0, buffers[1], of))
        elif types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
            to, self._next = self._next, self._next + 1
            yield from valid
            if types.is_fixed_size_list(kind):
                yield _filled(_SCALED, width=kind.list_size, of=of, to=to)
            else:
                yield from _line(_LIST, 4 if types.is_list(kind) else 8, buffers[1], of, to=to)
            yield from self._lines(array.values, to)
        elif types.is_struct(kind):
            yield from valid
            for place in range(kind.num_fields):
                yield from self._lines(array.field(place), of)
        elif _is_fixed(kind):
            yield from (*valid, *_line(_FIXED, kind.bit_width // 8, buffers[1], of))
        else:
            yield from self._whole(array)

    def _lines_of_codes(self, array: pa.DictionaryArray, of: int) -> Iterator[Line]:
        codes, values = array.indices, array.dictionary
        buffers, kind = values.buffers(), values.type
        yield from _line(_BITS, 0, codes.buffers()[0], of)
        width = data = 0
        if buffers[0] is None and not values.offset:
            if pa.types.is_string(kind) or pa.types.is_binary(kind):
                width, data = -4, _address(buffers[2])
            elif pa.types.is_large_string(kind) or pa.types.is_large_binary(kind):
                width, data = -8, _address(buffers[2])
            elif not pa.types.is_nested(kind) and _is_fixed(kind):
                width = kind.bit_width // 8
        if not width:
            yield from _line(_FIXED, codes.type.bit_width // 8, codes.buffers()[1], of)
            yield from self._whole(values)
        elif len(values):
            yield from _line(
                _CODES, codes.type.bit_width // 8, codes.buffers()[1], of, data=data,
                count=len(values), values=_address(buffers[1]), value_width=width,
                left=max(1, values.nbytes // _CODE_COSTS),
            )  # fmt: skip

    def _whole(self, array: pa.Array) -> Iterator[Line]:
        for buffer in _buffers(array):
            if buffer is not None and buffer.size:
                inside = self._blocks.has(buffer)
                at, size = (buffer.address, buffer.size) if inside else (
                    self._blocks.base, self._blocks.buffer.size
                )  # fmt: skip
                yield _filled(_WHOLE, at=at, count=size)


def _buffers(array: pa.Array) -> list[pa.Buffer | None]:
    found: list[pa.Buffer | None] = array.buffers()
    return found + (_buffers(array.dictionary) if pa.types.is_dictionary(array.type) else [])


def _line(kind: int, width: int, buffer: pa.Buffer | None, of: int, **others: int) -> list[Line]:
    """None for a buffer that is not there."""
    if buffer is None or not buffer.size:
        return []
    return [_filled(kind, width=width, at=buffer.address, of=of, **others)]


def _filled(
    kind: int,
    *,
    width: int = 0,
    at: int = 0,
    data: int = 0,
    count: int = 0,
    values: int = 0,
    value_width: int = 0,
    of: int = 0,
    to: int = 0,
    left: int = 0,
) -> Line:
    return kind, width, at, data, count, values, value_width, of, to, left


def _address(buffer: pa.Buffer | None) -> int:
    return 0 if buffer is None else int(buffer.address)


def _is_fixed(kind: pa.DataType) -> bool:
    if pa.types.is_nested(kind):
        return False
    try:
        return bool(kind.bit_width % 8 == 0)
    except ValueError:
        return False


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
    line = array_at(pointer(line_at), _COLUMNS, np.int64)
    width, at, count = line[_WIDTH], line[_AT], line[_COUNT]
    bad = touch(guard, at + start * width, at + stop * width)
    if bad or not line[_LEFT]:
        return bad
    values, wide = line[_VALUES], line[_VALUE_WIDTH]
    line[_LEFT] = max(1, line[_LEFT] - (stop - start))
    if line[_LEFT] == 1:
        if wide < 0:
            bad = _touch_strings(guard, values, -wide, line[_DATA], 0, count)
        else:
            bad = touch(guard, values, values + count * wide)
        line[_LEFT] = 1 if bad else 0
        return bad
    codes = array_at(pointer(at), stop * width, np.uint8)
    for row in range(start, stop):
        code = np.int64(codes[row * width])
        for i in range(1, width):
            code |= np.int64(codes[row * width + i]) << (8 * i)
        if code >= count:  # of a NULL
            continue
        if wide < 0:
            bad = _touch_strings(guard, values, -wide, line[_DATA], code, code + 1)
        else:
            bad = touch(guard, values + code * wide, values + (code + 1) * wide)
        if bad:
            return bad
    return 0


@kernel(int64, int64, int64, int64, int64)
def _touch_line(guard, line_at, start, stop):  # type: ignore[no-untyped-def]
    """What a line has of the rows [start, stop)."""
    line = array_at(pointer(line_at), _COLUMNS, np.int64)
    kind, width, at = line[_KIND], line[_WIDTH], line[_AT]
    if kind == _FIXED:
        return touch(guard, at + start * width, at + stop * width)
    if kind == _CODES:
        return _touch_codes(guard, line_at, start, stop)
    if kind == _STRINGS:
        return _touch_strings(guard, at, width, line[_DATA], start, stop)
    if kind == _BITS:
        return touch(guard, at + (start >> 3), at + ((stop - 1) >> 3) + 1)
    if kind == _LIST:
        return touch(guard, at + start * width, at + (stop + 1) * width)
    if kind == _WHOLE:
        return touch(guard, at, at + line[_COUNT])
    return 0


@kernel(int64, int64, int64, int64)
def touch_rows(sheet_at, start, stop):  # type: ignore[no-untyped-def]
    """All lines of a sheet: 0, or what ``touch`` says of a block that is damaged."""
    header = array_at(pointer(sheet_at), 3, np.int64)
    lines, stretches, guard = header[0], header[1], header[2]
    size = 8 * _COLUMNS
    if stretches == 1:
        for i in range(_HEADER, _HEADER + lines):
            bad = _touch_line(guard, sheet_at + i * size, start, stop)
            if bad:
                return bad
        return 0
    low, high = np.empty(stretches, np.int64), np.empty(stretches, np.int64)
    low[0], high[0] = start, stop
    for i in range(_HEADER, _HEADER + lines):
        line = array_at(pointer(sheet_at + i * size), _COLUMNS, np.int64)
        of, to = line[_OF], line[_TO]
        if line[_KIND] == _SCALED:
            low[to], high[to] = low[of] * line[_WIDTH], high[of] * line[_WIDTH]
        elif low[of] < high[of] or line[_KIND] == _LIST:
            if low[of] < high[of]:
                bad = _touch_line(guard, sheet_at + i * size, low[of], high[of])
                if bad:
                    return bad
            if line[_KIND] == _LIST:
                low[to] = high[to] = 0
                if low[of] < high[of]:
                    low[to] = _offset(line[_AT], line[_WIDTH], low[of])
                    high[to] = _offset(line[_AT], line[_WIDTH], high[of])
    return 0


@kernel(int64, int64, ints)
def _touch_each(sheet_at, rows):  # type: ignore[no-untyped-def]
    for row in rows:
        bad = touch_rows(sheet_at, row, row + 1)
        if bad:
            return bad
    return 0
