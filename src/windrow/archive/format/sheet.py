"""Which bytes of an Arrow file some rows of a record batch are read from, and that they are sound.

What a batch has in which columns is written down once, in a *sheet* of lines: values of a fixed
width, bits, strings, codes of a dictionary, lists. A kernel goes through the lines and has the
blocks of the rows compared that have not been yet. Of a dictionary these are the blocks of the
values that the rows have, until it pays to compare it whole. What no line can be written for is
compared whole.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from windrow.archive.format.blocks import Blocks
from windrow.archive.format.kernel_use import Kernels, Use, kernels_pay
from windrow.columns.arrays import Int64s

BITS, FIXED, STRINGS, CODES, WHOLE, LIST, SCALED = range(7)
COLUMNS = 10
KIND, WIDTH, AT, DATA, COUNT, VALUES, VALUE_WIDTH, OF, TO, LEFT = range(COLUMNS)
"""Of a line: what it is of; the width of values, codes or offsets; where they are; where the bytes
of strings are; of a dictionary how many values, where, and how wide (offsets: minus their width);
which stretch of rows it is about, and which one it gives (stretch 0 are the rows of the batch); and
how many codes are still looked at before all values of the dictionary are compared."""
_CODE_COSTS = 128
"""Bytes that are summed up while a code is looked at. When looking has taken as long as it takes to
compare the whole dictionary, that is done: codes need not be looked at from then on."""
HEADER = 1
"""The first line has the number of lines and of stretches, and the guard of the file."""

Line = tuple[int, ...]
_kernels = Kernels("windrow.archive.format.block_kernels")


class Sheet:
    """The lines of a batch for some columns. ``check`` costs a call of a kernel."""

    def __init__(self, blocks: Blocks, columns: Sequence[pa.Array]) -> None:
        self._blocks = blocks
        self._next = 1
        checked = () if blocks.trusted else columns
        lines = [line for column in checked for line in self._lines(column, 0)]
        header = (len(lines), self._next, blocks.guard)
        self._table = np.zeros((HEADER + len(lines), COLUMNS), np.int64)
        self._table[0, : len(header)] = header
        if lines:
            self._table[HEADER:] = lines
        self.at = int(self._table.ctypes.data)

    def check(self, start: int, stop: int) -> None:
        """Compare what the rows [start, stop) are read from."""
        if not self._blocks.trusted and start < stop:
            if not (Use.compiled or kernels_pay(1)):
                self._check_plain(start, stop)
                return
            while bad := _kernels.touch_rows(self.at, start, stop):
                self._blocks.require(bad)

    def require(self, bad: int) -> None:
        """Have the block there that a kernel has found unsound; an error if it is damaged."""
        self._blocks.require(bad)

    def check_each(self, rows: Int64s) -> None:
        """The same for rows that are given one by one."""
        if not self._blocks.trusted and len(rows):
            if not kernels_pay(len(rows)):
                for row in rows.tolist():
                    self._check_plain(row, row + 1)
                return
            while bad := _kernels.touch_each(self.at, rows):
                self._blocks.require(bad)

    def _check_plain(self, start: int, stop: int) -> None:
        """The kernel's way in plain Python: the lines one after the other, a list's values after
        the list.
        """
        stretches = {0: (start, stop)}
        for line in self._table[HEADER:]:
            low, high = stretches[int(line[OF])]
            width, at = int(line[WIDTH]), int(line[AT])
            if line[KIND] == SCALED:
                stretches[int(line[TO])] = low * width, high * width
                continue
            if low < high:
                self._check_line(line, low, high)
            if line[KIND] == LIST:
                ends = (_offset(at, width, low), _offset(at, width, high)) if low < high else (0, 0)
                stretches[int(line[TO])] = ends

    def _check_line(self, line: Int64s, start: int, stop: int) -> None:
        """What a line has of the rows [start, stop)."""
        kind, width, at = int(line[KIND]), int(line[WIDTH]), int(line[AT])
        if kind == STRINGS:
            self._check_strings(at, width, int(line[DATA]), start, stop)
        elif kind == BITS:
            self._blocks.check(at + (start >> 3), ((stop - 1) >> 3) + 1 - (start >> 3))
        elif kind == LIST:
            self._blocks.check(at + start * width, (stop + 1 - start) * width)
        elif kind == WHOLE:
            self._blocks.check(at, int(line[COUNT]))
        else:
            self._blocks.check(at + start * width, (stop - start) * width)
            if kind == CODES and line[LEFT]:
                self._check_values(line, start, stop)

    def _check_strings(self, at: int, width: int, data: int, start: int, stop: int) -> None:
        """Offsets and bytes of the strings [start, stop)."""
        self._blocks.check(at + start * width, (stop + 1 - start) * width)
        low, high = _offset(at, width, start), _offset(at, width, stop)
        self._blocks.check(data + low, high - low)

    def _check_values(self, line: Int64s, start: int, stop: int) -> None:
        """The values for which the codes of some rows stand; all of the dictionary when that is
        less to do than to look at more codes.
        """
        at, width, count = int(line[AT]), int(line[WIDTH]), int(line[COUNT])
        values, wide, data = int(line[VALUES]), int(line[VALUE_WIDTH]), int(line[DATA])
        left = max(1, int(line[LEFT]) - (stop - start))
        raw = ctypes.string_at(at + start * width, (stop - start) * width)
        codes = np.unique(np.frombuffer(raw, f"<u{width}")).tolist()
        for low, high in ((code, code + 1) for code in codes) if left > 1 else ((0, count),):
            if low >= count:  # of a NULL
                continue
            if wide < 0:
                self._check_strings(values, -wide, data, low, high)
            else:
                self._blocks.check(values + low * wide, (high - low) * wide)
        line[LEFT] = left if left > 1 else 0

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
        valid = _line(BITS, 0, buffers[0], of)
        if types.is_string(kind) or types.is_binary(kind):
            yield from (*valid, *_line(STRINGS, 4, buffers[1], of, data=address_of(buffers[2])))
        elif types.is_large_string(kind) or types.is_large_binary(kind):
            yield from (*valid, *_line(STRINGS, 8, buffers[1], of, data=address_of(buffers[2])))
        elif types.is_boolean(kind):
            yield from (*valid, *_line(BITS, 0, buffers[1], of))
        elif types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
            to, self._next = self._next, self._next + 1
            yield from valid
            if types.is_fixed_size_list(kind):
                yield _make_line(SCALED, width=kind.list_size, of=of, to=to)
            else:
                yield from _line(LIST, 4 if types.is_list(kind) else 8, buffers[1], of, to=to)
            yield from self._lines(array.values, to)
        elif types.is_struct(kind):
            yield from valid
            for place in range(kind.num_fields):
                yield from self._lines(array.field(place), of)
        elif is_fixed(kind):
            yield from (*valid, *_line(FIXED, kind.bit_width // 8, buffers[1], of))
        else:
            yield from self._whole(array)

    def _lines_of_codes(self, array: pa.DictionaryArray, of: int) -> Iterator[Line]:
        codes, values = array.indices, array.dictionary
        buffers, kind = values.buffers(), values.type
        yield from _line(BITS, 0, codes.buffers()[0], of)
        width = data = 0
        if buffers[0] is None and not values.offset:
            if pa.types.is_string(kind) or pa.types.is_binary(kind):
                width, data = -4, address_of(buffers[2])
            elif pa.types.is_large_string(kind) or pa.types.is_large_binary(kind):
                width, data = -8, address_of(buffers[2])
            elif not pa.types.is_nested(kind) and is_fixed(kind):
                width = kind.bit_width // 8
        if not width:
            yield from _line(FIXED, codes.type.bit_width // 8, codes.buffers()[1], of)
            yield from self._whole(values)
        elif len(values):
            yield from _line(
                CODES, codes.type.bit_width // 8, codes.buffers()[1], of, data=data,
                count=len(values), values=address_of(buffers[1]), value_width=width,
                left=max(1, values.nbytes // _CODE_COSTS),
            )  # fmt: skip

    def _whole(self, array: pa.Array) -> Iterator[Line]:
        for buffer in _buffers(array):
            if buffer is not None and buffer.size:
                inside = self._blocks.has(buffer)
                at, size = (buffer.address, buffer.size) if inside else (
                    self._blocks.base, self._blocks.buffer.size
                )  # fmt: skip
                yield _make_line(WHOLE, at=at, count=size)


def _buffers(array: pa.Array) -> list[pa.Buffer | None]:
    found: list[pa.Buffer | None] = array.buffers()
    return found + (_buffers(array.dictionary) if pa.types.is_dictionary(array.type) else [])


def _line(kind: int, width: int, buffer: pa.Buffer | None, of: int, **others: int) -> list[Line]:
    """None for a buffer that is not there."""
    if buffer is None or not buffer.size:
        return []
    return [_make_line(kind, width=width, at=buffer.address, of=of, **others)]


def _make_line(
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


def address_of(buffer: pa.Buffer | None) -> int:
    return 0 if buffer is None else int(buffer.address)


def _offset(at: int, width: int, place: int) -> int:
    return int.from_bytes(ctypes.string_at(at + place * width, width), "little", signed=True)


def is_fixed(kind: pa.DataType) -> bool:
    if pa.types.is_nested(kind):
        return False
    try:
        return bool(kind.bit_width % 8 == 0)
    except ValueError:
        return False
