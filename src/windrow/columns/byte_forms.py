"""Values that are longer than a number, as bytes: equal if the values are, and in their order.

Kernels know two kinds of values: 64-bit integers, and stretches of bytes. Strings are bytes
already. A DECIMAL of more than 18 digits is 16 bytes, the greatest first, with its sign turned, so
that bytes are in the order of the numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.columns.arrays import Bools, Bytes, Int64s, string_array, string_parts
from windrow.columns.decimal_words import decimal_array, decimal_words, is_wide_decimal

WIDE = 16
"""Bytes of a long decimal."""
TURNED = np.int64(-(2**63))


def is_bytes(kind: pa.DataType) -> bool:
    """Whether kernels have values of the type as bytes, not as integers."""
    return bool(pa.types.is_string(kind)) or is_wide_decimal(kind)


def byte_parts(array: pa.Array) -> tuple[Int64s, Bytes]:
    """Offsets (one more than there are values) and bytes."""
    if not is_wide_decimal(array.type):
        return string_parts(array)
    words = decimal_words(array)
    turned = np.empty((len(array), 2), ">i8")
    turned[:, 0], turned[:, 1] = words[:, 1] ^ TURNED, words[:, 0]
    return np.arange(len(array) + 1, dtype=np.int64) * WIDE, turned.view(np.uint8).reshape(-1)


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
