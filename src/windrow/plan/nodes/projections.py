"""Projections that pass columns on as they are, or cast them.

A column that is NULL and nothing else takes the type that its neighbours have.
"""

from __future__ import annotations

from collections.abc import Sequence

from windrow.core.errors import Span
from windrow.core.schema import Schema, Type
from windrow.plan.expressions import Call, Column, Expression, Literal, Named
from windrow.plan.nodes import GroupBy, Node, Projection, Unary, Union


def columns_of_row(schema: Schema) -> tuple[Named, ...]:
    """The projection that changes nothing."""
    return tuple(
        Named(f.name, Column(i, f.name, f.type), f.qualifier) for i, f in enumerate(schema)
    )


def changes_nothing(columns: tuple[Named, ...], schema: Schema) -> bool:
    """Whether a projection of such a row gives the same columns under the same names."""
    return len(columns) == len(schema) and all(
        isinstance(c.expression, Column)
        and c.expression.index == i
        and (c.name, c.qualifier) == (schema[i].name, schema[i].qualifier)
        for i, c in enumerate(columns)
    )


def project(plan: Node, columns: tuple[Named, ...], span: Span | None) -> Node:
    """A projection, unless it would change nothing."""
    return plan if changes_nothing(columns, plan.schema) else Projection(plan, columns, span=span)


def is_null_column(plan: Node, index: int) -> bool:
    """Whether the column was written as NULL, wherever it comes from."""
    match plan:
        case Projection():
            value = plan.columns[index].expression
            if isinstance(value, Column):
                return is_null_column(plan.input, value.index)
            return isinstance(value, Literal) and value.value is None
        case Union():
            return all(is_null_column(branch, index) for branch in plan.branches)
        case GroupBy():
            return False
        case Unary():
            return len(plan.schema) == len(plan.input.schema) and is_null_column(plan.input, index)
    return False


def cast_to(plan: Node, kinds: Sequence[Type]) -> Node:
    """The plan with its columns in other types."""
    if all(f.type is kind for f, kind in zip(plan.schema, kinds, strict=True)):
        return plan
    columns = []
    for index, (field, kind) in enumerate(zip(plan.schema, kinds, strict=True)):
        value: Expression = Column(index, field.name, field.type)
        if field.type is not kind:
            null = is_null_column(plan, index)
            value = Literal(None, kind) if null else Call("cast", (value,), kind)
        columns.append(Named(field.name, value, field.qualifier))
    return project(plan, tuple(columns), plan.span)
