"""Binary search in one column of a directory, in the key's own type.

A column that is memory-mapped is searched where it lies: about log2(keys) of its pages are read,
once. Values are converted to exactly the column's type first; numpy would otherwise convert the
column to the value's.
"""

from __future__ import annotations

import bisect
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.archive.errors import ArchiveError
from windrow.columns.kernels import boolean, bytes_in, int64, ints, kernel

_LEAST_DECIMAL = 128
"""Bits of the narrowest decimals that Arrow sorts."""


class Searcher(Protocol):
    """A sorted column. Positions are between ``low`` and ``high``, where the column is sorted."""

    def sought(self, value: Any) -> Any:
        """A value as ``exact`` wants it: the same for every column of keys of one type."""

    def exact(self, sought: Any, count: int) -> int:
        """Where a value is among the first ``count`` values, all different; -1 if nowhere."""

    def left(self, value: Any, low: int, high: int) -> int:
        """The first position whose value is not less than ``value``."""

    def right(self, value: Any, low: int, high: int) -> int:
        """The first position whose value is greater than ``value``."""


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


def searcher(column: pa.Array, kind: pa.DataType) -> Searcher:
    """For a directory's column that holds keys of type ``kind``."""
    if pa.types.is_large_string(column.type) or pa.types.is_large_binary(column.type):
        return _Bytes(column, kind)
    return _Decimals(column, kind) if pa.types.is_decimal(kind) else _Numbers(column, kind)


def converted(value: Any, kind: pa.DataType) -> pa.Scalar:
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


class _Numbers:
    """Fixed-width values, as integers or floats."""

    def __init__(self, column: pa.Array, kind: pa.DataType) -> None:
        if pa.types.is_temporal(kind):
            column = column.view(_INTEGER[kind.bit_width])
        self._values: npt.NDArray[Any] = column.to_numpy(zero_copy_only=True)
        self._convert = self._values.dtype.type
        self._kind = kind
        self._plain = int if pa.types.is_integer(kind) else None

    def sought(self, value: Any) -> Any:
        if type(value) is self._plain:
            try:
                return self._convert(value)
            except OverflowError:
                pass
        scalar = converted(value, self._kind)
        if pa.types.is_temporal(self._kind):
            scalar = scalar.cast(_INTEGER[self._kind.bit_width])
        return self._convert(scalar.as_py())

    def exact(self, sought: Any, count: int) -> int:
        place = int(self._values.searchsorted(sought))
        if place == count:
            return -1
        found = self._values[place]
        same = found == sought or (sought != sought and found != found)  # noqa: PLR0124 (NaN)
        return place if same else -1

    def left(self, value: Any, low: int, high: int) -> int:
        found = self._values[low:high].searchsorted(self.sought(value))
        return low + int(found)

    def right(self, value: Any, low: int, high: int) -> int:
        found = self._values[low:high].searchsorted(self.sought(value), "right")
        return low + int(found)


_INTEGER = {8: pa.int8(), 16: pa.int16(), 32: pa.int32(), 64: pa.int64()}


class _Bytes:
    """Strings (in the order of their UTF-8, which is that of code points) and byte strings."""

    def __init__(self, column: pa.Array, kind: pa.DataType) -> None:
        _, offsets, data = column.buffers()
        self._offsets = np.frombuffer(offsets, np.int64)
        self._data = np.frombuffer(data, np.uint8) if data is not None and data.size else _EMPTY
        self._kind = kind
        self._text = pa.types.is_string(kind) or pa.types.is_large_string(kind)

    def sought(self, value: Any) -> npt.NDArray[np.uint8]:
        if not (type(value) is str and self._text):
            value = converted(value, self._kind).as_py()
        raw = value.encode(errors="surrogatepass") if self._text else value
        return np.frombuffer(raw, np.uint8) if raw else _EMPTY

    def exact(self, sought: npt.NDArray[np.uint8], count: int) -> int:
        return int(_exact(self._offsets, self._data, sought, count))

    def left(self, value: Any, low: int, high: int) -> int:
        return int(_find(self._offsets, self._data, self.sought(value), low, high, False))

    def right(self, value: Any, low: int, high: int) -> int:
        return int(_find(self._offsets, self._data, self.sought(value), low, high, True))


_EMPTY = np.zeros(0, np.uint8)


@kernel(int64, ints, bytes_in, bytes_in, int64, int64, boolean)
def _find(offsets, data, value, low, high, right):  # type: ignore[no-untyped-def]
    """The first position in [low, high) whose bytes are not less (``right``: greater)."""
    while low < high:
        middle = (low + high) // 2
        start = offsets[middle]
        length = offsets[middle + 1] - start
        shared = min(length, len(value))
        sign = 0
        for i in range(shared):
            if data[start + i] != value[i]:
                sign = -1 if data[start + i] < value[i] else 1
                break
        if sign == 0:
            sign = -1 if length < len(value) else (1 if length > len(value) else 0)
        if sign < 0 or (right and sign == 0):
            low = middle + 1
        else:
            high = middle
    return low


@kernel(int64, ints, bytes_in, bytes_in, int64)
def _exact(offsets, data, value, count):  # type: ignore[no-untyped-def]
    """The position of the value among the first ``count``, or -1."""
    place = _find(offsets, data, value, 0, count, False)
    if place == count or offsets[place + 1] - offsets[place] != len(value):
        return -1
    for i in range(len(value)):
        if data[offsets[place] + i] != value[i]:
            return -1
    return place


class _Decimals:
    """Decimals: compared as Python integers, a dozen microseconds for a search."""

    def __init__(self, column: pa.Array, kind: pa.DataType) -> None:
        self._data, self._width = memoryview(column.buffers()[1]), column.type.bit_width // 8
        self._kind, self._stored = kind, column.type

    def _at(self, position: int) -> int:
        start = position * self._width
        return int.from_bytes(self._data[start : start + self._width], "little", signed=True)

    def sought(self, value: Any) -> int:
        one = pa.array([converted(value, self._kind).as_py()], self._stored)
        return int.from_bytes(memoryview(one.buffers()[1])[: self._width], "little", signed=True)

    def exact(self, sought: int, count: int) -> int:
        place = bisect.bisect_left(range(count), sought, key=self._at)
        return place if place < count and self._at(place) == sought else -1

    def left(self, value: Any, low: int, high: int) -> int:
        return bisect.bisect_left(range(high), self.sought(value), low, high, key=self._at)

    def right(self, value: Any, low: int, high: int) -> int:
        return bisect.bisect_right(range(high), self.sought(value), low, high, key=self._at)
