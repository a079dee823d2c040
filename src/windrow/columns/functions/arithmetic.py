"""``+ - * / %``, the sign, rounding, roots, powers and logarithms.

The operators work on numbers, timestamps, dates and intervals. Integers are computed as BIGINT, and
a result beyond it is NULL (``windrow.columns.integer_overflow``); whatever involves a FLOAT or a
DOUBLE is computed as DOUBLE, else a DECIMAL is computed in ``decimal_arithmetic``. Dividing by
zero gives NULL. The difference of two dates is in days, every other one of times in microseconds.

Outside their domain roots and logarithms give what IEEE arithmetic gives: the root of -1 is NaN,
the logarithm of 0 is minus infinity.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from windrow.columns.functions.decimal_arithmetic import either
from windrow.columns.functions.operands import Kernel, Operand, cast_operand, literal, row_by_row
from windrow.columns.integer_overflow import exact_or_null, or_null
from windrow.core.schema import Type
from windrow.core.time import MICROSECONDS
from windrow.plan.expressions import Call

multiply = or_null(pc.multiply_checked, operator.mul)
AWAY = "half_towards_infinity"  # 0.5 becomes 1 and -0.5 becomes -1
DIGITS = 300
"""Beyond these digits, either way of the point, rounding changes nothing or leaves nothing."""
DIGITS_OF_FLOAT = 30
"""Powers of ten much beyond are none that a FLOAT has."""
WHOLE = 2**53
"""From here on every floating-point number is whole."""


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


def on_doubles(compute: Callable[..., Operand]) -> Kernel:
    def kernel(args: Sequence[Operand], call: Call) -> Operand:
        return cast_operand(compute(*(cast_operand(a, Type.DOUBLE) for a in args)), call.type)

    return kernel


def whole(compute: Callable[[Operand], Operand]) -> Kernel:
    """FLOOR and CEIL, which leave integers as they are."""

    def kernel(args: Sequence[Operand], call: Call) -> Operand:
        if pa.types.is_integer(args[0].type):
            return cast_operand(args[0], call.type)
        return cast_operand(compute(args[0]), call.type)

    return kernel


def round_to(value: Operand, digits: int) -> Operand:
    """Halves go away from zero. Arrow alone fails where the digits are more than the number has."""
    if not pa.types.is_floating(value.type):
        return _whole_to(value, digits)
    if digits > DIGITS:
        return value
    if digits < -DIGITS:
        return pc.if_else(pc.is_finite(value), pa.scalar(0, value.type), value)
    if digits <= 0:
        return pc.round(value, digits, round_mode=AWAY)
    if pa.types.is_float32(value.type) and digits > DIGITS_OF_FLOAT:
        return pc.cast(round_to(pc.cast(value, pa.float64()), digits), value.type)
    full = pc.greater_equal(pc.abs(value), pa.scalar(WHOLE / 10**digits, value.type))
    small = pc.if_else(full, pa.scalar(0, value.type), value)
    return pc.if_else(full, value, pc.round(small, digits, round_mode=AWAY))


def _whole_to(value: Operand, digits: int) -> Operand:
    """Integers; NULL where they round to a power of ten that the type does not have."""
    if digits >= 0:
        return value
    greatest = 2 ** (8 * value.type.byte_width - 1)
    step = 10 ** min(-digits, 20)  # greater than all integers already
    if step // 2 >= greatest:
        return pc.multiply(value, pa.scalar(0, value.type))
    if step >= greatest:  # Arrow does not have the step
        return exact_or_null(partial(_multiple, step), value)
    return or_null(partial(pc.round, ndigits=digits, round_mode=AWAY), partial(_multiple, step))(
        value
    )


def _multiple(step: int, value: int) -> int:
    """The multiple of ``step`` that is nearest, of two the one away from zero."""
    size = (abs(value) + step // 2) // step * step
    return size if value >= 0 else -size


def _round_one(kind: pa.DataType, value: float, digits: int) -> float | None:
    rounded: float | None = round_to(pa.scalar(value, kind), digits).as_py()
    return rounded


def round_kernel(args: Sequence[Operand], call: Call) -> Operand:
    """ROUND: halves go away from zero; negative digits round before the point."""
    digits = literal(args[1]) if len(args) > 1 else 0
    value = cast_operand(args[0], call.type)
    if digits is None:
        return row_by_row(partial(_round_one, value.type), [value, args[1]], call.type)
    return round_to(value, digits)


PLAIN: dict[str, Kernel] = {
    "add": binary(or_null(pc.add_checked, operator.add)),
    "subtract": binary(or_null(pc.subtract_checked, operator.sub)),
    "multiply": binary(multiply),
    "divide": binary(divide),
    "modulo": binary(modulo),
    "negate": unary(or_null(pc.negate_checked, operator.neg)),
    "abs": absolute,
    "sign": sign,
    "round": round_kernel,
    "floor": whole(pc.floor),
    "ceil": whole(pc.ceil),
}
KERNELS: dict[str, Kernel] = {
    **{name: either(name, kernel) for name, kernel in PLAIN.items()},
    "sqrt": on_doubles(pc.sqrt),
    "power": on_doubles(pc.power),
    "ln": on_doubles(pc.ln),
    "log10": on_doubles(pc.log10),
    "exp": on_doubles(pc.exp),
    "sin": on_doubles(pc.sin),
    "cos": on_doubles(pc.cos),
    "tan": on_doubles(pc.tan),
    "asin": on_doubles(pc.asin),
    "acos": on_doubles(pc.acos),
    "atan": on_doubles(pc.atan),
    "atan2": on_doubles(pc.atan2),
    "radians": on_doubles(lambda x: pc.multiply(x, math.pi / 180)),
    "degrees": on_doubles(lambda x: pc.multiply(x, 180 / math.pi)),
}
