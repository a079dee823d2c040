"""Binary search in one column of a directory, in the key's own type.

A column that is memory-mapped is searched where it lies: about log2(keys) of its pages are read,
once, and each is compared with its sum before anything is made of it. Values are converted to
exactly the column's type first. Kernels search numbers and bytes where they pay; decimals, and the
first keys that a process looks for, are searched in plain Python.
"""

from __future__ import annotations

import bisect
import ctypes
import struct
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.archive.errors import ArchiveError
from windrow.archive.format.blocks import Blocks
from windrow.archive.format.kernel_use import Kernels, Use, kernels_pay
from windrow.columns.arrays import numpy_view

_kernels = Kernels("windrow.archive.runs.search_kernels")
_LEAST_DECIMAL = 128
"""Bits of the narrowest decimals that Arrow sorts."""


class Searcher(ABC):
    """A sorted column. Positions are between ``low`` and ``high``, where the column is sorted.

    ``key_form`` says how kernels compare its values, -1 if they do not; ``addresses`` are where
    values or offsets are, and the bytes of strings.
    """

    key_form: int
    addresses: tuple[int, int]

    def __init__(self, kind: pa.DataType, blocks: Blocks) -> None:
        self._kind, self._blocks = kind, blocks

    @abstractmethod
    def check(self, place: int) -> None:
        """Compare the value at a place with its sum, before it is read otherwise."""

    @abstractmethod
    def convert_key(self, value: Any) -> Any:
        """A value as ``exact`` wants it: the same for every column of keys of one type."""

    @abstractmethod
    def exact(self, sought: Any, count: int) -> int:
        """Where a value is among the first ``count`` values, all different; -1 if nowhere."""

    def find_left(self, value: Any, low: int, high: int) -> int:
        """The first position whose value is not less than ``value``."""
        return self._find(self.convert_key(value), low, high, right=False)

    def find_right(self, value: Any, low: int, high: int) -> int:
        """The first position whose value is greater than ``value``."""
        return self._find(self.convert_key(value), low, high, right=True)

    @abstractmethod
    def _find(self, sought: Any, low: int, high: int, *, right: bool) -> int:
        """The first place in [low, high) whose value is not less (``right``: greater)."""

    def _require_sound(self, place: int) -> int:
        """The place that a kernel has found, unless it came upon a block that is damaged."""
        if place < 0:
            raise self._blocks.damage_error(place)
        return place


def directory_type(kind: pa.DataType) -> pa.DataType:
    """How a directory stores keys of a type: so that Arrow sorts them, and that they can be
    searched where they lie.
    """
    if pa.types.is_boolean(kind):
        return pa.uint8()
    if pa.types.is_string(kind):
        return pa.large_string()
    if pa.types.is_float16(kind):
        return pa.float32()
    if pa.types.is_decimal(kind) and kind.bit_width < _LEAST_DECIMAL:
        return pa.decimal128(kind.precision, kind.scale)
    is_bytes = pa.types.is_binary(kind) or pa.types.is_fixed_size_binary(kind)
    return pa.large_binary() if is_bytes else kind


def searcher(column: pa.Array, kind: pa.DataType, blocks: Blocks) -> Searcher:
    """For a directory's column that holds keys of type ``kind``."""
    if pa.types.is_large_string(column.type) or pa.types.is_large_binary(column.type):
        return _Bytes(column, kind, blocks)
    made = _Decimals if pa.types.is_decimal(kind) else _Numbers
    return made(column, kind, blocks)


def key_scalar(value: Any, kind: pa.DataType) -> pa.Scalar:
    """A search value in the key's type, or an error that names both."""
    try:
        if isinstance(value, pa.Scalar):
            if value.type == kind and value.is_valid:
                return value
            value = value.as_py()
        if isinstance(value, np.generic):
            value = value.item()
        if value is not None:
            return pa.scalar(value, kind)
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        pass
    raise ArchiveError(
        where="probe",
        expected=f"a key of type {kind}",
        found=repr(value),
        remedy="entries without a key are found by a scan" if value is None else "",
    )


INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64, FLOAT32, FLOAT64 = range(10)
"""How a column of numbers is held; ``BYTES`` is one of strings or bytes."""
BYTES = 10
WIDTHS = (1, 2, 4, 8, 1, 2, 4, 8, 4, 8)
_HELD = {
    pa.int8(): INT8,
    pa.int16(): INT16,
    pa.int32(): INT32,
    pa.int64(): INT64,
    pa.uint8(): UINT8,
    pa.uint16(): UINT16,
    pa.uint32(): UINT32,
    pa.uint64(): UINT64,
    pa.float32(): FLOAT32,
    pa.float64(): FLOAT64,
}
FORMS = {np.dtype(kind.to_pandas_dtype()): form for kind, form in _HELD.items()}
"""The same by numpy's types."""
ABSENT = 2**62
"""A place that no value has."""
GREATEST = 2**63 - 1
NAN = GREATEST


class _Numbers(Searcher):
    """Fixed-width values. They are compared as integers that are in the same order: floats by their
    bits, NaN above all, and unsigned ones of 64 bits less half of their range.
    """

    def __init__(self, column: pa.Array, kind: pa.DataType, blocks: Blocks) -> None:
        if pa.types.is_temporal(kind):
            column = column.view(_INTEGER[kind.bit_width])
        super().__init__(kind, blocks)
        self.key_form = _HELD[column.type]
        self._convert = column.type.to_pandas_dtype()
        buffer = column.buffers()[1]
        self._at = 0 if buffer is None else int(buffer.address)
        self.addresses = self._at, 0
        self._column = column
        self._plain = int if pa.types.is_integer(kind) else None

    def convert_key(self, value: Any) -> int:
        if type(value) is self._plain:
            try:
                return self._as_ordered_int(
                    self._convert(value) + 0
                )  # of two zeros the positive one
            except OverflowError:
                pass
        scalar = key_scalar(value, self._kind)
        if pa.types.is_temporal(self._kind):
            scalar = scalar.cast(_INTEGER[self._kind.bit_width])
        return self._as_ordered_int(self._convert(scalar.as_py()) + 0)

    def _as_ordered_int(self, value: Any) -> int:
        if self.key_form == UINT64:
            return int(value) - 2**63
        if self.key_form < FLOAT32:
            return int(value)
        if value != value:  # noqa: PLR0124 (NaN)
            return NAN
        (bits,) = _INT.unpack(_FLOAT.pack(float(value)))
        return int(bits if bits >= 0 else bits ^ GREATEST)

    @cached_property
    def _values(self) -> npt.NDArray[Any]:
        return numpy_view(self._column)

    def _number_at(self, place: int) -> int:
        self.check(place)
        return self._as_ordered_int(self._values[place])

    def exact(self, sought: int, count: int) -> int:
        place = self._find(sought, 0, count, right=False)
        if place < count and (Use.compiled or kernels_pay(1)):
            guard = self._blocks.guard
            place = int(_kernels.same_number(guard, self._at, self.key_form, sought, place))
            self._require_sound(place)
        elif place < count and self._number_at(place) != sought:
            return -1
        return place if place < count else -1

    def check(self, place: int) -> None:
        width = WIDTHS[self.key_form]
        self._blocks.check(self._at + place * width, width)

    def _find(self, sought: int, low: int, high: int, *, right: bool) -> int:
        if not (Use.compiled or kernels_pay(1)):
            return _search(self._number_at, sought, low, high, right=right)
        guard = self._blocks.guard
        place = int(_kernels.find_number(guard, self._at, self.key_form, sought, low, high, right))
        return self._require_sound(place)


_INTEGER = {8: pa.int8(), 16: pa.int16(), 32: pa.int32(), 64: pa.int64()}
_FLOAT, _INT = struct.Struct("<d"), struct.Struct("<q")


class _Bytes(Searcher):
    """Strings (in the order of their UTF-8, which is that of code points) and byte strings."""

    key_form = BYTES

    def __init__(self, column: pa.Array, kind: pa.DataType, blocks: Blocks) -> None:
        super().__init__(kind, blocks)
        _, offsets, data = column.buffers()
        self._offsets, self._ends = int(offsets.address), np.frombuffer(offsets, np.int64)
        self._data = int(data.address) if data is not None and data.size else 0
        self.addresses = self._offsets, self._data
        self._text = pa.types.is_string(kind) or pa.types.is_large_string(kind)

    def convert_key(self, value: Any) -> npt.NDArray[np.uint8]:
        if not (type(value) is str and self._text):
            value = key_scalar(value, self._kind).as_py()
        raw = value.encode(errors="surrogatepass") if self._text else value
        return np.frombuffer(raw, np.uint8) if raw else _EMPTY

    def _bytes_at(self, place: int) -> bytes:
        self.check(place)
        first, last = self._ends[place : place + 2].tolist()
        return ctypes.string_at(self._data + first, last - first)

    def exact(self, sought: npt.NDArray[np.uint8], count: int) -> int:
        if not (Use.compiled or kernels_pay(1)):
            raw = sought.tobytes()
            place = _search(self._bytes_at, raw, 0, count, right=False)
            return place if place < count and self._bytes_at(place) == raw else -1
        guard = self._blocks.guard
        place = int(_kernels.exact_bytes(guard, self._offsets, self._data, sought, 0, count))
        return place if self._require_sound(place) < count else -1

    def check(self, place: int) -> None:
        self._blocks.check(self._offsets + 8 * place, 16)
        first, last = self._ends[place : place + 2].tolist()
        self._blocks.check(self._data + first, last - first)

    def _find(self, sought: npt.NDArray[np.uint8], low: int, high: int, *, right: bool) -> int:
        if not (Use.compiled or kernels_pay(1)):
            return _search(self._bytes_at, sought.tobytes(), low, high, right=right)
        guard = self._blocks.guard
        place = int(_kernels.find_bytes(guard, self._offsets, self._data, sought, low, high, right))
        return self._require_sound(place)


_EMPTY = np.zeros(0, np.uint8)


class _Decimals(Searcher):
    """Decimals: compared as Python integers, some dozens of microseconds for a search."""

    key_form = -1

    def __init__(self, column: pa.Array, kind: pa.DataType, blocks: Blocks) -> None:
        super().__init__(kind, blocks)
        buffer = column.buffers()[1]
        self._at, self._data = int(buffer.address), memoryview(buffer)
        self._width, self._stored = column.type.bit_width // 8, column.type
        self.addresses = self._at, 0

    def _number_at(self, position: int) -> int:
        self.check(position)
        start = position * self._width
        return int.from_bytes(self._data[start : start + self._width], "little", signed=True)

    def convert_key(self, value: Any) -> int:
        one = pa.array([key_scalar(value, self._kind).as_py()], self._stored)
        return int.from_bytes(memoryview(one.buffers()[1])[: self._width], "little", signed=True)

    def exact(self, sought: int, count: int) -> int:
        place = _search(self._number_at, sought, 0, count, right=False)
        return place if place < count and self._number_at(place) == sought else -1

    def _find(self, sought: int, low: int, high: int, *, right: bool) -> int:
        return _search(self._number_at, sought, low, high, right=right)

    def check(self, place: int) -> None:
        self._blocks.check(self._at + place * self._width, self._width)


def _search(
    value_at: Callable[[int], Any], sought: Any, low: int, high: int, *, right: bool
) -> int:
    """The first place in [low, high) whose value is not less (``right``: greater)."""
    bisect_side = bisect.bisect_right if right else bisect.bisect_left
    return bisect_side(range(high), sought, low, high, key=value_at)
