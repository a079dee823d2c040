"""Conditions of a join: which are equalities between the sides, and so keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from windrow.core.errors import Span
from windrow.core.schema import Type
from windrow.plan.expressions import (
    Call,
    Expression,
    columns_of,
    conjunction,
    conjuncts,
    shift_columns,
)
from windrow.plan.functions import common
from windrow.plan.nodes import Join, LastingJoin, Node


@dataclass(frozen=True)
class SidesUsed:
    """Which sides of a join an expression over the joined row has columns of."""

    left: bool
    right: bool


def side_of(expression: Expression, width: int) -> SidesUsed:
    """``width`` is the number of columns on the left."""
    indexes = [c.index for c in columns_of(expression)]
    return SidesUsed(any(i < width for i in indexes), any(i >= width for i in indexes))


def as_key(condition: Expression, width: int) -> tuple[Expression, Expression] | None:
    """The two sides of ``left expression = right expression``, each over its own row.

    Both get the same type, so that equal keys have equal hashes.
    """
    if not isinstance(condition, Call) or condition.function != "eq":
        return None
    one, other = condition.args
    if side_of(one, width) == SidesUsed(False, True):
        one, other = other, one
    if side_of(one, width) != SidesUsed(True, False) or side_of(other, width) != SidesUsed(
        False, True
    ):
        return None
    kind = common((one.type, other.type))
    if kind is None:
        return None
    return _cast_to(one, kind), _cast_to(shift_columns(other, -width), kind)


def _cast_to(expression: Expression, kind: Type) -> Expression:
    return expression if expression.type is kind else Call("cast", (expression,), kind)


def join_of(
    left: Node, right: Node, conditions: Sequence[Expression], span: Span | None = None
) -> Join:
    """The join of two plans under conditions over the joined row."""
    width = len(left.schema)
    left_keys: list[Expression] = []
    right_keys: list[Expression] = []
    rest: list[Expression] = []
    for condition in conditions:
        key = as_key(condition, width)
        if key is None:
            rest.append(condition)
        elif key not in zip(left_keys, right_keys, strict=True):
            left_keys.append(key[0])
            right_keys.append(key[1])
    residual = conjunction(tuple(rest))
    return Join(left, right, tuple(left_keys), tuple(right_keys), residual, span=span)


def lasting_join_of(
    left: Node,
    right: Node,
    conditions: Sequence[Expression],
    stamps: tuple[int, ...],
    span: Span | None = None,
) -> LastingJoin:
    """As ``join_of``, with results that outlive their right tuples."""
    join = join_of(left, right, conditions)
    keys = join.left_keys, join.right_keys
    return LastingJoin(left, right, *keys, join.residual, stamps, span=span)


def conditions_of(join: Join | LastingJoin) -> tuple[Expression, ...]:
    """All conditions of a join over its row, keys as equalities again."""
    width = len(join.left.schema)
    keys = tuple(
        Call("eq", (one, shift_columns(other, width)), Type.BOOLEAN)
        for one, other in zip(join.left_keys, join.right_keys, strict=True)
    )
    return keys + (conjuncts(join.residual) if join.residual is not None else ())
