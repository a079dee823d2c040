"""``+ - * / %`` and the sign, on numbers, timestamps, dates and intervals.

Integers are computed as BIGINT, and a result beyond it is NULL
(``windrow.columns.integer_overflow``); whatever involves a FLOAT or a DOUBLE is computed as DOUBLE.
Dividing by zero gives NULL. The difference of two dates is in days, every other difference of times
in microseconds.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from windrow.columns.functions.operands import Kernel, Operand, cast_operand, literal
from windrow.columns.integer_overflow import or_null
from windrow.core.schema import Type
from windrow.core.time import MICROSECONDS
from windrow.plan.expressions import Call

multiply = or_null(pc.multiply_checked, operator.mul)


def number(operand: Operand, kind: Type, call: Call) -> Operand:
    """The operand as the int64 or double that ``call`` is computed in."""
    if call.type is Type.DOUBLE or call.type is Type.FLOAT:
        return cast_operand(operand, Type.DOUBLE)
    if kind is Type.DATE:
        days = cast_operand(pc.cast(operand, pa.int32()), Type.BIGINT)
        return days if in_days(call) else multiply(days, pa.scalar(MICROSECONDS["DAY"]))
    return pc.cast(operand, pa.int64())


def in_days(call: Call) -> bool:
    """Dates are counted in days, unless microseconds are involved."""
    return call.type is not Type.TIMESTAMP and not any(
        a.type in (Type.TIMESTAMP, Type.INTERVAL) for a in call.args
    )


def binary(compute: Callable[[Operand, Operand], Operand]) -> Kernel:
    def kernel(args: Sequence[Operand], call: Call) -> Operand:
        left, right = (number(v, a.type, call) for v, a in zip(args, call.args, strict=True))
        return cast_operand(compute(left, right), call.type)

    return kernel


def unary(compute: Callable[[Operand], Operand]) -> Kernel:
    def kernel(args: Sequence[Operand], call: Call) -> Operand:
        return cast_operand(compute(number(args[0], call.args[0].type, call)), call.type)

    return kernel


def nonzero(divisor: Operand) -> Operand:
    """The divisor with NULL for zero."""
    constant = literal(divisor)
    if constant is not None and constant != 0:
        return divisor
    return pc.if_else(pc.equal(divisor, 0), pa.scalar(None, divisor.type), divisor)


def quotient(left: int, right: int) -> int:
    """Cut off toward zero."""
    whole = abs(left) // abs(right)
    return whole if (left < 0) == (right < 0) else -whole


def divide(left: Operand, right: Operand) -> Operand:
    return or_null(pc.divide_checked, quotient)(left, nonzero(right))


def modulo(left: Operand, right: Operand) -> Operand:
    """The remainder with the sign of the dividend, the counterpart of a truncating division."""
    return pc.remainder(left, nonzero(right))


def absolute(args: Sequence[Operand], call: Call) -> Operand:
    return cast_operand(or_null(pc.abs_checked, abs)(cast_operand(args[0], call.type)), call.type)


def sign(args: Sequence[Operand], call: Call) -> Operand:
    """-1, 0 or 1; NaN has no sign and gives 0."""
    value = pc.sign(args[0])
    if pa.types.is_floating(args[0].type):
        value = pc.if_else(pc.is_nan(value), pa.scalar(0, value.type), value)
    return cast_operand(value, call.type)


KERNELS: dict[str, Kernel] = {
    "add": binary(or_null(pc.add_checked, operator.add)),
    "subtract": binary(or_null(pc.subtract_checked, operator.sub)),
    "multiply": binary(multiply),
    "divide": binary(divide),
    "modulo": binary(modulo),
    "negate": unary(or_null(pc.negate_checked, operator.neg)),
    "abs": absolute,
    "sign": sign,
}
