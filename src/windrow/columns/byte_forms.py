"""Values that are longer than a number, as bytes: equal if the values are, and in their order.

Kernels know two kinds of values: 64-bit integers, and stretches of bytes. Strings are bytes
already. A DECIMAL of more than 18 digits is 16 bytes, the greatest first, with its sign turned, so
that bytes are in the order of the numbers. ARRAYs and STRUCTs are bytes to be compared by:

    ARRAY     each value behind a mark, then 0: a shorter one comes first if it begins the longer
    STRUCT    each field behind a mark
    mark      1 before a value, 2 alone for NULL, which is the greatest
    number    8 bytes in the order of the numbers, a long decimal 16, one of 256 bits 32
    string    its bytes, 0 as 0 255, then 0; what may follow is less than 255

Nothing is read back from these bytes: values are kept as they are (``stored_columns.py``).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.columns.arrays import (
    Bools,
    Bytes,
    Int64s,
    order_keys,
    string_array,
    string_parts,
    validity,
)
from windrow.columns.decimal_words import TURNED, decimal_array, is_wide_decimal, ordered_bytes
from windrow.columns.kernels import bytes_in, bytes_out, flags, ints, ints_out, kernel, void
from windrow.columns.nested_arrays import is_nested, list_lengths

Pieces = tuple[Int64s, Bytes]
"""Offsets, one more than there are values, and bytes."""
VALUE, NULL, STUFFED = 1, 2, 255
LOWEST = np.int64(-(2**63))


@kernel(void, ints, ints, bytes_in, flags, bytes_out)
def _put(starts, offsets, data, valid, out):  # type: ignore[no-untyped-def]
    """Write a mark and a value's bytes from each of the starts on."""
    for i in range(len(starts)):
        at = starts[i]
        if not valid[i]:
            out[at] = NULL
            continue
        out[at] = VALUE
        for j in range(offsets[i], offsets[i + 1]):
            at += 1
            out[at] = data[j]


@kernel(void, ints, bytes_in, ints_out)
def _escaped_lengths(offsets, data, lengths):  # type: ignore[no-untyped-def]
    for i in range(len(lengths)):
        length = offsets[i + 1] - offsets[i] + 1
        for j in range(offsets[i], offsets[i + 1]):
            length += data[j] == 0
        lengths[i] = length


@kernel(void, ints, bytes_in, ints, bytes_out)
def _escape(offsets, data, targets, out):  # type: ignore[no-untyped-def]
    for i in range(len(targets) - 1):
        at = targets[i]
        for j in range(offsets[i], offsets[i + 1]):
            out[at] = data[j]
            at += 1
            if data[j] == 0:
                out[at] = STUFFED
                at += 1
        out[at] = 0


def nested_parts(array: pa.Array) -> Pieces:
    """The bytes of each value; of one that is NULL any."""
    if pa.types.is_list(array.type):
        return _lists(array)
    if pa.types.is_struct(array.type):
        return _structs(array)
    if pa.types.is_string(array.type):
        return _strings(array)
    if is_wide_decimal(array.type) or pa.types.is_decimal256(array.type):
        data = ordered_bytes(array)
    else:
        data = (order_keys(array) ^ LOWEST).astype(">u8").view(np.uint8)
    width = len(data) // max(len(array), 1)
    return np.arange(len(array) + 1, dtype=np.int64) * width, data


def _offsets(lengths: Int64s) -> Int64s:
    found = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=found[1:])
    return found


def _strings(array: pa.Array) -> Pieces:
    offsets, data = string_parts(array)
    lengths = np.empty(len(array), np.int64)
    _escaped_lengths(offsets, data, lengths)
    targets = _offsets(lengths)
    out = np.empty(int(targets[-1]), np.uint8)
    _escape(offsets, data, targets, out)
    return targets, out


def _marked(array: pa.Array) -> tuple[Pieces, Bools, Int64s]:
    """The bytes of values, which are there, and how long each is with its mark."""
    offsets, data = nested_parts(array)
    known = validity(array)
    valid = np.ones(len(array), np.bool_) if known is None else known
    return (offsets, data), valid, 1 + np.where(valid, np.diff(offsets), 0)


def _lists(array: pa.Array) -> Pieces:
    counts = list_lengths(array)
    (offsets, data), valid, sizes = _marked(array.flatten())
    ends, before = _offsets(sizes), _offsets(counts)
    targets = ends[before] + np.arange(len(array) + 1)  # one more byte ends each list
    out = np.zeros(int(targets[-1]), np.uint8)
    lists = np.repeat(np.arange(len(array), dtype=np.int64), counts)
    _put(ends[:-1] + lists, offsets, data, valid, out)
    return targets, out


def _structs(array: pa.Array) -> Pieces:
    fields = [_marked(field) for field in array.flatten()]
    targets = _offsets(sum((sizes for _, _, sizes in fields), np.zeros(len(array), np.int64)))
    out, starts = np.empty(int(targets[-1]), np.uint8), targets[:-1].copy()
    for (offsets, data), valid, sizes in fields:
        _put(starts, offsets, data, valid, out)
        starts += sizes
    return targets, out


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
