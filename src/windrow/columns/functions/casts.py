"""CAST and TRY_CAST.

CAST refuses what it cannot convert; TRY_CAST gives NULL for it. A fraction is rounded to the
nearest integer, halves to the even one; decimals are rounded with halves away from zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.columns.arrays import validity
from windrow.columns.decimal_numbers import from_floats, to_integers, to_texts
from windrow.columns.functions.operands import (
    Kernel,
    Operand,
    as_array,
    bools,
    cast_operand,
    length_of,
)
from windrow.columns.nested_arrays import list_array, list_lengths, struct_array
from windrow.columns.types import ARROW, parse
from windrow.core.errors import DataError
from windrow.core.schema import Type
from windrow.plan.expressions import Call, render


def to_text(operand: Operand, kind: Type) -> Operand:
    """Values as text; a timestamp shows as many digits of a second as it needs."""
    if kind is Type.STRING:
        return operand
    if kind.is_decimal:
        return to_texts(operand)
    text = pc.cast(operand, pa.string())
    if kind is Type.TIMESTAMP:
        text = pc.replace_substring_regex(text, r"\.?0*$", "")
        return pc.replace_substring_regex(text, r"^(\S+ \d\d:\d\d)$", r"\1:00")
    if kind in (Type.FLOAT, Type.DOUBLE):  # 1.0 is told from 1
        return pc.replace_substring_regex(text, r"^(-?\d+)$", r"\1.0")
    return text


def to_integer(values: pa.Array, target: pa.DataType) -> pa.Array:
    """Numbers as integers, NULL where they do not fit."""
    if pa.types.is_floating(values.type):
        values = pc.round(values, round_mode="half_to_even")
    elif pa.types.is_decimal(values.type):
        values = to_integers(values)
    width = 8 * target.byte_width - 1
    if pa.types.is_decimal(values.type):
        limits = tuple(pa.scalar(Decimal(n), values.type) for n in (-(2**width), 2**width - 1))
        fits = pc.and_(pc.greater_equal(values, limits[0]), pc.less_equal(values, limits[1]))
    elif pa.types.is_integer(values.type):
        limits = pa.scalar(-(2**width), pa.int64()), pa.scalar(2**width - 1, pa.int64())
        fits = pc.and_(pc.greater_equal(values, limits[0]), pc.less_equal(values, limits[1]))
    else:
        low, high = pa.scalar(-(2.0**width)), pa.scalar(2.0**width)
        fits = pc.and_(pc.greater_equal(values, low), pc.less(values, high))  # false for NaN
    return pc.cast(pc.if_else(fits, values, pa.scalar(None, values.type)), target)


def convert(values: pa.Array, source: Type, target: Type) -> pa.Array:
    """The values in the target type, NULL for each that has none there."""
    if source is target:
        return values
    if target.is_nested:
        return _convert_inside(values, source, target)
    if source is Type.STRING:
        return parse(values, target)
    if target is Type.STRING:
        return to_text(values, source)
    if target is Type.BOOLEAN:
        return pc.not_equal(values, pa.scalar(0, values.type))
    if target.is_decimal and source.is_floating:
        return from_floats(values, ARROW[target])
    if source is Type.BOOLEAN:
        return cast_operand(pc.cast(values, pa.int8()), target)
    if target.integral and source.numeric:
        return to_integer(values, ARROW[target])
    if target is Type.DATE and source is Type.TIMESTAMP:
        return pc.cast(pc.floor_temporal(values, unit="day"), pa.date32())
    if target.integral and source in (Type.TIMESTAMP, Type.INTERVAL):
        return to_integer(pc.cast(values, pa.int64()), ARROW[target])
    return cast_operand(values, target)


def _convert_inside(values: pa.Array, source: Type, target: Type) -> pa.Array:
    """Values with others inside; one of these that does not fit makes the whole NULL."""
    known, there = validity(values), np.ones(len(values), np.bool_)
    valid = there.copy() if known is None else known.copy()
    kind = ARROW[target]
    if source.element is not None and target.element is not None:
        items, counts = values.flatten(), list_lengths(values)
        converted = convert(items, source.element, target.element)
        lost = bools(pc.is_null(converted)) & ~bools(pc.is_null(items))
        valid[np.repeat(np.arange(len(values)), counts)[lost]] = False
        return list_array(counts, converted, valid, kind)
    fields = []
    for column, (_, before), (_, after) in zip(
        values.flatten(), source.fields, target.fields, strict=True
    ):
        fields.append(convert(column, before, after))
        valid &= ~(bools(pc.is_null(fields[-1])) & ~bools(pc.is_null(column)))
    return struct_array(fields, valid, kind)


def cast(args: Sequence[Operand], call: Call) -> Operand:
    values = as_array(args[0], length_of(args))
    result = convert(values, call.args[0].type, call.type)
    if result.null_count > values.null_count:
        failed = pc.and_(pc.is_null(result), pc.is_valid(values))
        found = values.filter(failed)[0].as_py()
        raise DataError(
            where=render(call),
            expected=f"a value that is {call.type.value}",
            found=repr(found),
            remedy="write TRY_CAST to get NULL for such values",
        )
    return result


def try_cast(args: Sequence[Operand], call: Call) -> Operand:
    values = as_array(args[0], length_of(args))
    return convert(values, call.args[0].type, call.type)


KERNELS: dict[str, Kernel] = {"cast": cast, "try_cast": try_cast}
