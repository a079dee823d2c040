"""Columns that are NULL and nothing else: they take the type that their neighbours have."""

from __future__ import annotations

from collections.abc import Sequence

from windrow.core.schema import Type
from windrow.plan.expressions import Call, Column, Expression, Literal, Named
from windrow.plan.nodes import GroupBy, Node, Projection, Unary, Union
from windrow.plan.nodes.projections import project


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
