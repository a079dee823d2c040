"""Values that are longer than a number, as bytes: equal if the values are, and in their order.

Kernels know two kinds of values: 64-bit integers, and stretches of bytes. Strings are bytes
already. A DECIMAL of more than 18 digits is 16 bytes, the greatest first, with its sign turned, so
that bytes are in the order of the numbers. ARRAYs and STRUCTs are bytes to be compared by; there is
no way back from these.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.columns.arrays import Bools, Bytes, Int64s, string_array, string_parts
from windrow.columns.decimal_words import TURNED, decimal_array, is_wide_decimal, ordered_bytes
from windrow.columns.nested_arrays import is_nested
from windrow.columns.nested_bytes import nested_parts

WIDE = 16
"""Bytes of a long decimal."""


def is_bytes(kind: pa.DataType) -> bool:
    """Whether kernels have values of the type as bytes, not as integers."""
    return bool(pa.types.is_string(kind)) or is_wide_decimal(kind) or is_nested(kind)


def byte_parts(array: pa.Array) -> tuple[Int64s, Bytes]:
    """Offsets (one more than there are values) and bytes."""
    if is_nested(array.type):
        return nested_parts(array)
    if not is_wide_decimal(array.type):
        return string_parts(array)
    return np.arange(len(array) + 1, dtype=np.int64) * WIDE, ordered_bytes(array)


def from_bytes(
    offsets: npt.NDArray[Any], data: Bytes, valid: Bools | None, kind: pa.DataType
) -> pa.Array:
    """The values of bytes; strings are not copied. What is NULL may have no bytes."""
    if not is_wide_decimal(kind):
        return string_array(offsets, data, valid)
    there = np.diff(offsets) == WIDE
    words = np.zeros((len(there), 2), np.int64)
    places = offsets[:-1][there][:, None] + np.arange(WIDE)
    turned = np.ascontiguousarray(data[places]).view(">i8").reshape(-1, 2)
    words[there, 0], words[there, 1] = turned[:, 1], turned[:, 0].astype(np.int64) ^ TURNED
    return decimal_array(words, valid, kind)
