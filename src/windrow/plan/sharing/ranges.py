"""Predicates that an index can answer: an expression between constants, or equal to some.

Only comparisons whose meaning is an interval of the values themselves are taken: integers with
integers, floating point numbers with numbers, times with times of the same kind, texts for
equality. NULL is in no interval, and a comparison with it is not true either.
"""

from __future__ import annotations

import math
from dataclasses import replace

from windrow.core.schema import Type
from windrow.plan.expressions import Call, Expression, Literal, Value, columns_of
from windrow.plan.nodes.routed import Among, Asked, Between

MIRRORED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq"}
ORDERED = (Type.TIMESTAMP, Type.DATE)


def condition_of(predicate: Expression) -> tuple[Expression, Type, Asked] | None:
    """The expression, the type it is compared in, and the condition; None if it is no such."""
    if not isinstance(predicate, Call):
        return None
    if predicate.function == "in":
        value, *members = predicate.args
        kinds = {_comparison_type(value, m) for m in members}
        kind = kinds.pop() if len(kinds) == 1 else None
        if kind is None:
            return None
        return _condition(value, kind, Among(tuple(_constant(m, kind) for m in members)))
    if predicate.function not in MIRRORED:
        return None
    left, right = predicate.args
    function = predicate.function
    if isinstance(left, Literal):
        left, right, function = right, left, MIRRORED[function]
    kind = _comparison_type(left, right)
    if kind is None:
        return None
    constant = _constant(right, kind)
    if kind is Type.STRING:
        return _condition(left, kind, Among((constant,))) if function == "eq" else None
    return _condition(left, kind, _between(function, constant))


def _between(function: str, value: Value) -> Between:
    match function:
        case "lt" | "le":
            return Between(high=value, high_open=function == "lt")
        case "gt" | "ge":
            return Between(low=value, low_open=function == "gt")
        case _:
            return Between(value, value)


def _condition(
    expression: Expression, kind: Type, condition: Asked
) -> tuple[Expression, Type, Asked] | None:
    if next(columns_of(expression), None) is None:
        return None
    return expression, kind, condition


def _constant(expression: Expression, kind: Type) -> Value:
    """The constant in the type in which it is compared: an integer may be rounded there."""
    assert isinstance(expression, Literal)
    value = expression.value
    return float(value) if kind is Type.DOUBLE and isinstance(value, int) else value


def _comparison_type(value: Expression, constant: Expression) -> Type | None:
    """The type in which a value is compared with a constant, if that is one of the plain cases."""
    if not isinstance(constant, Literal) or constant.value is None:
        return None
    if isinstance(constant.value, float) and math.isnan(constant.value):
        return None
    left, right = value.type, constant.type
    if left.integral and right.integral:
        return Type.BIGINT
    if left in (Type.FLOAT, Type.DOUBLE) and right.numeric and right is not Type.FLOAT:
        return Type.DOUBLE
    if left is right and (left in ORDERED or left is Type.STRING):
        return left
    return None


def both(one: Asked, other: Asked) -> Asked:
    """What meets both conditions.

    >>> both(Between(low=3), both(Between(high=9), Between(high=5, high_open=True)))
    Between(low=3, high=5, low_open=False, high_open=True)
    >>> both(Among((1, 4, 7)), Between(low=3))
    Among(values=(4, 7))
    """
    if isinstance(one, Among):
        return Among(tuple(v for v in one.values if _meets(v, other)))
    if isinstance(other, Among):
        return both(other, one)
    whole = one
    if other.low is not None:
        if whole.low is None or _beyond(other.low, whole.low):
            whole = replace(whole, low=other.low, low_open=other.low_open)
        elif other.low == whole.low:
            whole = replace(whole, low_open=whole.low_open or other.low_open)
    if other.high is not None:
        if whole.high is None or _beyond(whole.high, other.high):
            whole = replace(whole, high=other.high, high_open=other.high_open)
        elif other.high == whole.high:
            whole = replace(whole, high_open=whole.high_open or other.high_open)
    return whole


def _meets(value: Value, condition: Asked) -> bool:
    if isinstance(condition, Among):
        return value in condition.values
    low, high = condition.low, condition.high
    above = low is None or _beyond(value, low) or (value == low and not condition.low_open)
    below = high is None or _beyond(high, value) or (value == high and not condition.high_open)
    return above and below


def _beyond(one: Value, other: Value) -> bool:
    assert isinstance(one, int | float)
    assert isinstance(other, int | float)
    return one > other
