"""Conditions matched against a column, and the same by exact fractions, a value at a time."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pyarrow as pa

from windrow.subscriptions.predicates import OneOf, Range, Subscription
from windrow.subscriptions.subscriptions import Subscriptions


def matched(kind: Any, conditions: list[Any], column: pa.Array) -> set[tuple[int, int]]:
    """Which rows meet which conditions."""
    ours = Subscriptions({"x": kind}, ids=pa.int64())
    ours.add([Subscription.of(i, {"x": c}) for i, c in enumerate(conditions)])
    found = ours.match(pa.record_batch({"x": column}))
    pairs = list(zip(found["row"].to_pylist(), found["subscription"].to_pylist(), strict=True))
    assert len(pairs) == len(set(pairs))
    return set(pairs)


def number(bound: Any) -> Fraction | float:
    """The number that a bound stands for: a float is the shortest decimal that reads as it."""
    if isinstance(bound, float):
        if math.isinf(bound):
            return bound
        return Fraction(repr(bound)) if not bound.is_integer() else Fraction(int(bound))
    return Fraction(bound)


def met(condition: Range | OneOf, value: Fraction) -> bool:
    if isinstance(condition, OneOf):
        return any(value == number(v) for v in condition.values)
    low = None if condition.low is None else number(condition.low)
    high = None if condition.high is None else number(condition.high)
    if low is not None and not (value > low if condition.low_open else value >= low):
        return False
    return high is None or (value < high if condition.high_open else value <= high)


def expected(conditions: list[Any], values: list[Any]) -> set[tuple[int, int]]:
    return {
        (row, i)
        for row, value in enumerate(values)
        if value is not None
        for i, condition in enumerate(conditions)
        if met(condition, Fraction(value))
    }
