"""Arrow arrays as the plain arrays that kernels take, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from windrow.columns.decimal_words import (
    decimal_array,
    decimal_words,
    is_narrow_decimal,
    two_words,
)

Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Bytes = npt.NDArray[np.uint8]


def validity(array: pa.Array) -> Bools | None:
    """Which values are not NULL; None if none is."""
    if array.null_count == 0:
        return None
    valid: Bools = pc.is_valid(array).to_numpy(zero_copy_only=False)
    return valid


def numbers(array: pa.Array) -> npt.NDArray[Any]:
    """The values of a fixed-width array as numpy has them; NULLs become zero.

    A decimal of few digits is the integer of its last place.
    """
    kind = array.type
    if is_narrow_decimal(kind):
        valid, lower = validity(array), decimal_words(array)[:, 0]
        return lower.copy() if valid is None else np.where(valid, lower, 0)
    if pa.types.is_timestamp(kind):
        array = array.view(pa.int64())
    elif pa.types.is_date32(kind):
        array = array.view(pa.int32())
    if array.null_count:
        array = pc.fill_null(array, False if pa.types.is_boolean(kind) else 0)
    values: npt.NDArray[Any] = array.to_numpy(zero_copy_only=False)
    return values


def numpy_view(array: pa.Array) -> npt.NDArray[Any]:
    """The values of an array of numbers that has no NULL, where they lie.

    ``Array.to_numpy`` does the same but loads pandas first, which takes a command longer than its
    work.
    """
    kind, buffer = array.type.to_pandas_dtype(), array.buffers()[1]
    if buffer is None:
        return np.empty(0, kind)
    return np.frombuffer(buffer, kind, len(array), array.offset * np.dtype(kind).itemsize)


def identity_keys(array: pa.Array) -> Int64s:
    """Fixed-width values as integers that are equal exactly if the values are.

    0.0 and -0.0 are one value, and so are all NaNs.
    """
    values = numbers(array)
    if values.dtype.kind == "f":
        wide = values.astype(np.float64) + 0.0
        wide[np.isnan(wide)] = np.nan
        return wide.view(np.int64)
    return np.ascontiguousarray(values, dtype=np.int64)


def order_keys(array: pa.Array) -> Int64s:
    """Fixed-width values as integers in the same order; NaN stands above every number.

    >>> order_keys(pa.array([-1.5, 0.0, 2.5, float("nan")])).argsort().tolist()
    [0, 1, 2, 3]
    """
    keys = identity_keys(array)
    if pa.types.is_floating(array.type):
        keys = np.where(keys < 0, keys ^ np.int64(2**63 - 1), keys)
        keys[np.isnan(numbers(array).astype(np.float64))] = np.iinfo(np.int64).max
    return keys


def order_key_bits(keys: Int64s) -> Int64s:
    """The bits of the doubles that ``order_keys`` are of.

    >>> order_key_bits(order_keys(pa.array([-1.5, 2.5]))).view(np.float64).tolist()
    [-1.5, 2.5]
    """
    highest = np.int64(2**63 - 1)
    bits = np.where(keys < 0, keys ^ highest, keys)
    return np.where(keys == highest, np.float64(np.nan).view(np.int64), bits)


def string_parts(array: pa.Array) -> tuple[Int64s, Bytes]:
    """Offsets (one more than there are strings) and bytes of a string array."""
    _, offsets, data = array.buffers()
    count = len(array)
    if offsets is None or count == 0:
        return np.zeros(count + 1, np.int64), np.empty(0, np.uint8)
    starts = np.frombuffer(offsets, np.int32)[array.offset : array.offset + count + 1]
    raw = np.frombuffer(data, np.uint8) if data is not None and data.size else np.empty(0, np.uint8)
    return starts.astype(np.int64), raw


def fixed_array(values: npt.NDArray[Any], valid: Bools | None, kind: pa.DataType) -> pa.Array:
    """An Arrow array of a fixed-width type over numpy values (not copied)."""
    if pa.types.is_boolean(kind):
        return pa.array(values.astype(np.bool_), mask=None if valid is None else ~valid)
    if is_narrow_decimal(kind):
        return decimal_array(two_words(values), valid, kind)
    bitmap = None
    if valid is not None and not valid.all():
        bitmap = pa.py_buffer(np.packbits(valid, bitorder="little"))
    buffer = pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(kind, len(values), [bitmap, buffer])


def string_array(offsets: npt.NDArray[Any], data: Bytes, valid: Bools | None) -> pa.Array:
    """An Arrow string array over offsets and bytes (not copied); large if offsets have 64 bits."""
    bitmap = None
    if valid is not None and not valid.all():
        bitmap = pa.py_buffer(np.packbits(valid, bitorder="little"))
    parts = [bitmap, pa.py_buffer(offsets), pa.py_buffer(data)]
    kind = pa.large_string() if offsets.dtype == np.int64 else pa.string()
    return pa.Array.from_buffers(kind, len(offsets) - 1, parts)
