"""A value behind the one that orders it, as one text: what MIN_BY, FIRST and STRING_AGG compare.

``sort_pair(y, x, nulls)`` is a text that sorts by y, then by x, byte by byte; ``pair_value`` has x
back. So the least of the texts is x where y is least, whatever keeps and merges least texts, and
the answer depends on the values alone. ``nulls`` stands before the key of a y that is NULL, "0"
before others; if it is empty such pairs are NULL. A pair is NULL if x is.

What ARRAY_AGG takes in is never NULL: ``sort_item`` is such a pair in which x stands behind a 0,
and for NULL there is a 1 alone; ``item_text`` is that without the key.

Numbers and times are 16 hexadecimal digits in their order, long decimals 32. In a key that is a
text the characters 0 and 1 are escaped, so that 0 can end it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.columns.arrays import Int64s, fixed_array, order_key_bits, order_keys, string_array
from windrow.columns.arrays import validity as valid_of
from windrow.columns.byte_forms import byte_parts, from_bytes
from windrow.columns.decimal_words import is_wide_decimal
from windrow.columns.functions.operands import Kernel, Operand, as_array, length_of
from windrow.columns.types import ARROW
from windrow.core.schema import Type
from windrow.plan.expressions import Call, Literal

END = "\0"
DIGITS = 16
PRESENT, ABSENT = "0", "1"
LOWEST = np.int64(-(2**63))


def digits(values: pa.Array) -> pa.Array:
    """Fixed-width values as hexadecimal digits that sort as they do; NULL stays NULL."""
    if is_wide_decimal(values.type):
        return _hexadecimal(byte_parts(values)[1].tobytes(), 2 * DIGITS, values)
    keys = (order_keys(values) ^ LOWEST).astype(">u8")
    return _hexadecimal(keys.tobytes(), DIGITS, values)


def _hexadecimal(raw: bytes, width: int, values: pa.Array) -> pa.Array:
    data = np.frombuffer(raw.hex().encode(), np.uint8)
    offsets = np.arange(0, width * (len(values) + 1), width, dtype=np.int32)
    return string_array(offsets, data, valid_of(values))


def numbers_of(texts: pa.Array) -> Int64s:
    """The order keys that digits are of; 0 for NULL."""
    filled = pc.fill_null(texts, "0" * DIGITS)
    raw = bytes.fromhex("".join(filled.to_pylist()))
    return np.frombuffer(raw, ">u8").astype(np.int64) ^ LOWEST


def _wide_decimals(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    """The decimals that digits are of."""
    filled = pc.fill_null(texts, "0" * 2 * DIGITS)
    raw = np.frombuffer(bytes.fromhex("".join(filled.to_pylist())), np.uint8)
    offsets = np.arange(0, DIGITS * (len(texts) + 1), DIGITS, dtype=np.int64)
    return from_bytes(offsets, raw, valid_of(texts), kind)


def sort_key(values: pa.Array) -> pa.Array:
    if not pa.types.is_string(values.type):
        return digits(values)
    escaped = pc.replace_substring(values, "\x01", "\x01\x02")
    return pc.replace_substring(escaped, END, "\x01\x01")


def sort_pair(args: Sequence[Operand], call: Call) -> Operand:
    count = length_of(args)
    by, value = (as_array(a, count) for a in args[:2])
    nulls = call.args[2]
    assert isinstance(nulls, Literal)
    key = pc.binary_join_element_wise(PRESENT, sort_key(by), "")
    if nulls.value:
        key = pc.fill_null(key, str(nulls.value))
    return pc.binary_join_element_wise(key, _text(value), END)


def _text(values: pa.Array) -> pa.Array:
    return values if pa.types.is_string(values.type) else digits(values)


def item_text(args: Sequence[Operand], _: Call) -> Operand:
    """A value that may be NULL as a text that is not."""
    values = as_array(args[0], length_of(args))
    return pc.fill_null(pc.binary_join_element_wise(PRESENT, _text(values), ""), ABSENT)


def sort_item(args: Sequence[Operand], call: Call) -> Operand:
    """A pair whose value may be NULL."""
    count = length_of(args)
    text = item_text([as_array(args[1], count)], call)
    nulls = call.args[2]
    assert isinstance(nulls, Literal)
    key = pc.binary_join_element_wise(PRESENT, sort_key(as_array(args[0], count)), "")
    return pc.binary_join_element_wise(pc.fill_null(key, str(nulls.value)), text, END)


def items_of(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    """The values of item texts."""
    absent = pc.equal(texts, ABSENT)
    rest = pc.utf8_slice_codeunits(texts, 1)
    return _values(pc.if_else(absent, pa.scalar(None, pa.string()), rest), kind)


def pair_value(args: Sequence[Operand], call: Call) -> Operand:
    texts = as_array(args[0], length_of(args))
    if call.type is Type.STRING:
        return pc.list_element(pc.split_pattern(texts, END, max_splits=1), 1)
    target = ARROW[call.type]
    width = 2 * DIGITS if is_wide_decimal(target) else DIGITS
    return _values(pc.utf8_slice_codeunits(texts, -width), target)


def _values(texts: pa.Array, target: pa.DataType) -> pa.Array:
    """The values that texts or digits are of."""
    if pa.types.is_string(target):
        return texts
    if is_wide_decimal(target):
        return _wide_decimals(texts, target)
    keys, valid = numbers_of(texts), valid_of(texts)
    if pa.types.is_decimal(target):
        return fixed_array(keys, valid, target)
    if pa.types.is_floating(target):
        doubles = fixed_array(order_key_bits(keys).view(np.float64), valid, pa.float64())
        return pc.cast(doubles, target, safe=False)
    if pa.types.is_boolean(target):
        return fixed_array(keys, valid, target)
    if pa.types.is_date32(target):
        return fixed_array(keys.astype(np.int32), valid, target)
    return pc.cast(fixed_array(keys, valid, pa.int64()), target)


KERNELS: dict[str, Kernel] = {
    "sort_pair": sort_pair,
    "pair_value": pair_value,
    "sort_item": sort_item,
    "item_text": item_text,
}
