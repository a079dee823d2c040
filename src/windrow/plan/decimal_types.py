"""The types of what is computed with decimals: how many digits a result has, and behind the point.

These are the rules of SQL Server, Spark and Flink: a result has all digits that its operands can
bring about. Where they would be more than 38, digits behind the point are given up, down to six.

    a + b, a - b    scale max(s1, s2), and one digit more before the point than the longer
    a * b           scale s1 + s2, p1 + p2 + 1 digits
    a / b           scale max(6, s1 + p2 + 1), p1 - s1 + s2 digits before the point
    a % b           scale max(s1, s2), the digits before the point of the shorter
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from windrow.core.schema import MOST_DIGITS, Type

LEAST_SCALE = 6
"""Digits behind the point that a quotient has at least, and that are not given up."""


def within_limits(whole: int, scale: int) -> Type:
    """The type with so many digits before and behind the point, or the nearest that there is."""
    if whole + scale > MOST_DIGITS:
        scale = max(MOST_DIGITS - whole, min(scale, LEAST_SCALE))
    return Type.decimal(min(max(whole + scale, 1), MOST_DIGITS), scale)


def exact_result(function: str, left: Type, right: Type) -> tuple[int, int]:
    """How many digits a result can have before and behind the point."""
    one, other = left.digits, right.digits
    whole, other_whole = one.precision - one.scale, other.precision - other.scale
    scale = max(one.scale, other.scale)
    match function:
        case "multiply":
            return whole + other_whole + 1, one.scale + other.scale
        case "divide":
            return whole + other.scale, max(LEAST_SCALE, one.scale + other.precision + 1)
        case "modulo":
            return min(whole, other_whole), scale
    return max(whole, other_whole) + 1, scale


def result_type(function: str, left: Type, right: Type) -> Type:
    """The type of ``+ - * / %``, of which one operand at least is a DECIMAL, the other a DECIMAL or
    an integer.

    >>> price, share = Type.decimal(10, 2), Type.decimal(4, 3)
    >>> [result_type(f, price, share).value for f in ("add", "multiply", "divide")]
    ['DECIMAL(12, 3)', 'DECIMAL(15, 5)', 'DECIMAL(18, 7)']
    """
    return within_limits(*exact_result(function, left, right))


def common_digits(types: Iterable[Type]) -> tuple[int, int]:
    """How many digits before and behind the point have all values of some types."""
    decimals = [kind.digits for kind in types]
    whole = max(kind.precision - kind.scale for kind in decimals)
    return whole, max(kind.scale for kind in decimals)


def is_exact(types: Iterable[Type]) -> bool:
    """Whether there is one type that has all values of these exactly."""
    return sum(common_digits(types)) <= MOST_DIGITS


def rounded_type(kind: Type) -> Type:
    """That of ROUND, FLOOR, CEIL and SIGN: one digit more before the point, if there are as many.

    Digits behind the point stay: a sum has 38 digits, and few sums use the first of them.

    >>> [rounded_type(Type.decimal(*ps)).value for ps in ((10, 2), (38, 8), (38, 38))]
    ['DECIMAL(11, 2)', 'DECIMAL(38, 8)', 'DECIMAL(38, 37)']
    """
    return Type.decimal(min(kind.precision + 1, MOST_DIGITS), min(kind.scale, MOST_DIGITS - 1))


def sum_type(kind: Type) -> Type:
    return Type.decimal(MOST_DIGITS, kind.scale)


def mean_type(kind: Type) -> Type:
    """That of AVG: six digits behind the point at least."""
    return Type.decimal(MOST_DIGITS, max(kind.scale, LEAST_SCALE))


def quantile_type(kind: Type) -> Type:
    """That of MEDIAN and QUANTILE: one digit more behind the point, and six at least.

    No digit before the point is given up, as the result is between two values.

    >>> [quantile_type(Type.decimal(*ps)).value for ps in ((10, 2), (18, 9), (38, 2))]
    ['DECIMAL(14, 6)', 'DECIMAL(19, 10)', 'DECIMAL(38, 2)']
    """
    whole = kind.precision - kind.scale
    scale = min(max(LEAST_SCALE, kind.scale + 1), MOST_DIGITS - whole)
    return Type.decimal(whole + scale, scale)


def type_of(value: Decimal) -> Type | None:
    """The type of a constant with just its digits; None if they are more than there are.

    >>> type_of(Decimal("1.50")).value, type_of(Decimal("0.001")).value
    ('DECIMAL(3, 2)', 'DECIMAL(3, 3)')
    """
    if not value.is_finite():
        return None
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    scale = max(0, -exponent)
    precision = max(len(digits) + max(0, exponent), scale, 1)
    return Type.decimal(precision, scale) if precision <= MOST_DIGITS else None
