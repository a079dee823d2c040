"""Decimals as integers of their last place: one word of 64 bits, or two.

Arrow has each decimal in two words, the lower first. Those of types of at most 18 digits are one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Words = npt.NDArray[np.int64]
NARROW_DIGITS = 18
"""Decimals of no more digits are 64-bit integers."""
TURNED = np.int64(-(2**63))
"""What turns a sign, so that numbers are in the order of their bytes."""


def is_narrow_decimal(kind: pa.DataType) -> bool:
    """Whether values are decimals that 64 bits hold."""
    return bool(pa.types.is_decimal128(kind)) and kind.precision <= NARROW_DIGITS


def is_wide_decimal(kind: pa.DataType) -> bool:
    return bool(pa.types.is_decimal128(kind)) and kind.precision > NARROW_DIGITS


def decimal_words(array: pa.Array) -> Words:
    """The two words of each decimal, four if it has 256 bits; what stands for NULL is anything."""
    buffer, width = array.buffers()[1], array.type.bit_width // 64
    if buffer is None or not len(array):
        return np.zeros((len(array), width), np.int64)
    start = array.offset * width * 8
    return np.frombuffer(buffer, np.int64, width * len(array), start).reshape(-1, width)


def ordered_bytes(array: pa.Array) -> npt.NDArray[np.uint8]:
    """The bytes of each decimal, 16 or 32, such that they are in the order of the numbers."""
    turned = np.ascontiguousarray(decimal_words(array)[:, ::-1], ">i8")
    turned[:, 0] ^= TURNED
    return turned.view(np.uint8).reshape(-1)


def decimal_array(words: Words, valid: npt.NDArray[np.bool_] | None, kind: pa.DataType) -> pa.Array:
    """Decimals of two words each."""
    bitmap = None
    if valid is not None and not valid.all():
        bitmap = pa.py_buffer(np.packbits(valid, bitorder="little"))
    buffer = pa.py_buffer(np.ascontiguousarray(words))
    return pa.Array.from_buffers(kind, len(words), [bitmap, buffer])


def two_words(values: npt.NDArray[Any]) -> Words:
    """64-bit integers as two words each."""
    words = np.empty((len(values), 2), np.int64)
    words[:, 0], words[:, 1] = values, values >> 63
    return words
