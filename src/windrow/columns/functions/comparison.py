"""Comparison, membership and choice of the greater; NaN equals NaN and is above all numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc

from windrow.columns.arrays import validity
from windrow.columns.functions.operands import Kernel, Operand, cast_operand, has_nan, null
from windrow.columns.nested_arrays import is_nested, list_array, list_lengths, struct_array
from windrow.columns.value_order import comparable_column
from windrow.core.schema import MOST_DIGITS, Type
from windrow.plan.decimal_types import common_digits, within_limits
from windrow.plan.expressions import Call
from windrow.plan.functions import common, has_every_value

Comparison = Callable[[Operand, Operand], Operand]


def common_type(types: Sequence[Type]) -> Type:
    """The type in which values of these types are compared."""
    first = types[0]
    if all(t is first for t in types):
        return first
    if Type.TIMESTAMP in types and all(t in (Type.TIMESTAMP, Type.DATE) for t in types):
        return Type.TIMESTAMP
    if first.is_nested:
        return common(types) or first
    if all(t.integral or t is Type.INTERVAL for t in types):
        return Type.BIGINT
    if not all(t.numeric for t in types):
        return first
    if any(t.is_floating for t in types):
        return Type.DOUBLE
    return within_limits(*common_digits(types))


def align(args: Sequence[Operand], call: Call) -> list[Operand]:
    """The operands in their common type; an untyped NULL takes the type of the others."""
    known = [
        a.type
        for v, a in zip(args, call.args, strict=True)
        if not (isinstance(v, pa.Scalar) and not v.is_valid)
    ]
    types = known or [call.args[0].type]
    if not has_every_value(types):
        return [_in_full(v, a.type, types) for v, a in zip(args, call.args, strict=True)]
    target = common_type(types)
    return [
        null(target) if isinstance(v, pa.Scalar) and not v.is_valid else cast_operand(v, target)
        for v in args
    ]


def _in_full(operand: Operand, own: Type, types: Sequence[Type]) -> Operand:
    """The operand with decimals of twice the bits where no type of ours has all digits of these."""
    if not isinstance(operand, pa.Scalar):
        return _column_in_full(operand, own, types)
    known = operand if operand.is_valid else null(types[0])
    return _column_in_full(pa.repeat(known, 1), own if operand.is_valid else types[0], types)[0]


def _column_in_full(column: pa.Array, own: Type, types: Sequence[Type]) -> pa.Array:
    if own.element is not None:
        inside = [t.element for t in types if t.element is not None]
        items = _column_in_full(column.flatten(), own.element, inside)
        return list_array(list_lengths(column), items, validity(column), pa.list_(items.type))
    if own.fields:
        fields = [
            _column_in_full(field, own.fields[place][1], [t.fields[place][1] for t in types])
            for place, field in enumerate(column.flatten())
        ]
        names = [name for name, _ in own.fields]
        kind = pa.struct([(n, f.type) for n, f in zip(names, fields, strict=True)])
        return struct_array(fields, validity(column), kind)
    if has_every_value(types):
        return cast_operand(column, common_type(types))
    scale = common_digits(types)[1]
    return pc.cast(cast_operand(column, own.digits), pa.decimal256(2 * MOST_DIGITS, scale))


def _comparable(operand: Operand) -> Operand:
    if not is_nested(operand.type):
        return operand
    if isinstance(operand, pa.Scalar):
        return comparable_column(pa.repeat(operand, 1))[0]
    return comparable_column(operand)


def less(left: Operand, right: Operand) -> Operand:
    left, right = _comparable(left), _comparable(right)
    result = pc.less(left, right)
    if pa.types.is_floating(left.type) and has_nan(right):
        above = pc.and_not(pc.is_nan(right), pc.is_nan(left))
        return pc.or_(result, above)
    return result


def equal(left: Operand, right: Operand) -> Operand:
    left, right = _comparable(left), _comparable(right)
    result = pc.equal(left, right)
    if pa.types.is_floating(left.type) and has_nan(right):
        return pc.or_(result, pc.and_(pc.is_nan(left), pc.is_nan(right)))
    return result


def comparison_kernel(compare: Comparison) -> Kernel:
    def kernel(args: Sequence[Operand], call: Call) -> Operand:
        left, right = align(args, call)
        return compare(left, right)

    return kernel


def is_in(args: Sequence[Operand], call: Call) -> Operand:
    """``x IN (...)``: NULL when nothing matches and x or one of the values is NULL."""
    value, *candidates = align(args, call)
    constant = [c for c in candidates if isinstance(c, pa.Scalar) and c.is_valid]
    plain = not pa.types.is_floating(value.type) and not is_nested(value.type)
    if len(constant) < len(candidates) or not plain:
        # Arrow's set look-up tells -0.0 from 0.0, and takes constants only.
        return reduce(pc.or_kleene, (equal(value, c) for c in candidates))
    if isinstance(value, pa.Scalar):
        return reduce(pc.or_kleene, (equal(value, c) for c in candidates))
    members = pa.array([c.as_py() for c in constant], value.type)
    found = pc.is_in(value, value_set=members)
    return pc.if_else(pc.is_valid(value), found, null(Type.BOOLEAN)) if value.null_count else found


def choice_kernel(first_wins: Comparison) -> Kernel:
    """GREATEST and LEAST: NULLs are skipped."""

    def better(left: Operand, right: Operand) -> Operand:
        return pc.coalesce(pc.if_else(first_wins(left, right), left, right), left, right)

    def kernel(args: Sequence[Operand], call: Call) -> Operand:
        return cast_operand(reduce(better, align(args, call)), call.type)

    return kernel


def nullif(args: Sequence[Operand], call: Call) -> Operand:
    left, right = align(args, call)
    same = pc.coalesce(equal(left, right), pa.scalar(False))
    return pc.if_else(same, null(call.type), cast_operand(args[0], call.type))


def is_null(args: Sequence[Operand], _: Call) -> Operand:
    return pc.is_null(args[0])


KERNELS: dict[str, Kernel] = {
    "eq": comparison_kernel(equal),
    "ne": comparison_kernel(lambda a, b: pc.invert(equal(a, b))),
    "lt": comparison_kernel(less),
    "le": comparison_kernel(lambda a, b: pc.invert(less(b, a))),
    "gt": comparison_kernel(lambda a, b: less(b, a)),
    "ge": comparison_kernel(lambda a, b: pc.invert(less(a, b))),
    "in": is_in,
    "greatest": choice_kernel(lambda a, b: pc.invert(less(a, b))),
    "least": choice_kernel(lambda a, b: pc.invert(less(b, a))),
    "nullif": nullif,
    "is_null": is_null,
}
