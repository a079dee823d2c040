"""``+ - * / %`` and rounding of decimals, exactly.

Arrow adds, subtracts and multiplies what has at most 38 digits whatever the values are. All else is
computed with integers without a limit and rounded once, halves away from zero; a result that has no
place in its type is NULL and counted (``windrow.columns.integer_overflow``). Dividing by zero
gives NULL.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.columns.arrays import Bools, validity
from windrow.columns.decimal_numbers import (
    Integers,
    divide_rounded,
    from_last_places,
    last_places,
    rescale,
    to_scale,
)
from windrow.columns.functions.operands import (
    Kernel,
    Operand,
    as_array,
    cast_operand,
    length_of,
    literal,
)
from windrow.columns.integer_overflow import note_overflows
from windrow.columns.types import ARROW
from windrow.core.schema import MOST_DIGITS, Type
from windrow.plan.decimal_types import exact_result
from windrow.plan.expressions import Call

BY_ARROW = {"add": pc.add, "subtract": pc.subtract, "multiply": pc.multiply}


def either(function: str, plain: Kernel) -> Kernel:
    """The kernel of a function: this room's if the result is a DECIMAL, else ``plain``."""
    special = BY_ITSELF.get(function)

    def kernel(args: Sequence[Operand], call: Call) -> Operand:
        if not call.type.is_decimal:
            return plain(args, call)
        return special(args, call) if special else _calculate(function, args, call)

    return kernel


def _calculate(function: str, args: Sequence[Operand], call: Call) -> Operand:
    left, right = (a.type for a in call.args)
    if function in BY_ARROW and sum(exact_result(function, left, right)) <= MOST_DIGITS:
        operands = [cast_operand(v, a.type.digits) for v, a in zip(args, call.args, strict=True)]
        return cast_operand(BY_ARROW[function](*operands), call.type)
    count = length_of(args)
    one, other = (as_array(v, count) for v in args)
    valid = _both(one, other)
    scales = left.digits.scale, right.digits.scale
    integers, scale = _exact(
        function, last_places(one), last_places(other), scales, call.type.scale
    )
    if function in ("divide", "modulo"):
        zero = np.asarray(last_places(other) == 0, np.bool_)
        valid = ~zero if valid is None else valid & ~zero
    return _noted(rescale(integers, call.type.scale - scale), valid, call.type)


def _both(one: pa.Array, other: pa.Array) -> Bools | None:
    found = [valid for valid in (validity(one), validity(other)) if valid is not None]
    return np.logical_and.reduce(found) if found else None


def _exact(
    function: str, left: Integers, right: Integers, scales: tuple[int, int], wanted: int
) -> tuple[Integers, int]:
    """The result in units of its last place, and where that is; a quotient has what is wanted."""
    if function == "multiply":
        return left * right, sum(scales)
    if function == "divide":
        divisors = np.where(np.asarray(right == 0, np.bool_), 1, right)
        raised = wanted - scales[0] + scales[1]
        return divide_rounded(left * 10**raised, divisors), wanted
    scale = max(scales)
    left, right = (rescale(v, scale - s) for v, s in zip((left, right), scales, strict=True))
    if function == "modulo":
        divisors = np.where(np.asarray(right == 0, np.bool_), 1, np.abs(right))
        sizes = np.abs(left) % divisors
        return np.where(np.asarray(left < 0, np.bool_), -sizes, sizes), scale
    return (left + right if function == "add" else left - right), scale


def _noted(integers: Integers, valid: Bools | None, kind: Type) -> pa.Array:
    found = from_last_places(integers, valid, ARROW[kind])
    expected = 0 if valid is None else int(np.count_nonzero(~valid))
    note_overflows(found.null_count - expected)
    return found


def _sign(args: Sequence[Operand], call: Call) -> Operand:
    return cast_operand(pc.sign(args[0]), call.type)


def _by_arrow(compute: Callable[[Operand], Operand]) -> Kernel:
    """What keeps the type of its operand, or has one digit less than the result."""

    def kernel(args: Sequence[Operand], call: Call) -> Operand:
        return compute(cast_operand(args[0], call.type))

    return kernel


def _raised(values: pa.Array, call: Call) -> int:
    """How many digits behind the point the result has more than the values."""
    return int(call.type.scale - values.type.scale)


def _whole(up: bool) -> Kernel:
    """FLOOR and CEIL."""

    def kernel(args: Sequence[Operand], call: Call) -> Operand:
        values = as_array(args[0], length_of(args))
        unit = 10**values.type.scale
        integers = last_places(values)
        lower = (-(-integers // unit) if up else integers // unit) * unit
        return _noted(rescale(lower, _raised(values, call)), validity(values), call.type)

    return kernel


def _round(args: Sequence[Operand], call: Call) -> Operand:
    """ROUND: halves go away from zero; negative digits round before the point."""
    values = as_array(args[0], length_of(args))
    digits = literal(args[1]) if len(args) > 1 else 0
    if digits is None:
        places = as_array(args[1], len(values))
        known = pc.fill_null(places, 0).to_pylist()
        rounded = [_round_to(values[i : i + 1], place, call) for i, place in enumerate(known)]
        found = pa.concat_arrays(rounded) if rounded else pa.array([], ARROW[call.type])
        return pc.if_else(pc.is_valid(places), found, pa.scalar(None, found.type))
    return _round_to(values, digits, call)


def _round_to(values: pa.Array, digits: int, call: Call) -> pa.Array:
    dropped = min(values.type.scale - digits, MOST_DIGITS + 1)
    if dropped <= 0:
        return to_scale(values, ARROW[call.type])
    rounded = rescale(rescale(last_places(values), -dropped), dropped + _raised(values, call))
    return _noted(rounded, validity(values), call.type)


BY_ITSELF: dict[str, Kernel] = {
    "negate": _by_arrow(pc.negate),
    "abs": _by_arrow(pc.abs),
    "sign": _sign,
    "floor": _whole(up=False),
    "ceil": _whole(up=True),
    "round": _round,
}
"""Functions of one decimal, and of how it is rounded."""
