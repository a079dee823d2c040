"""Projections that pass columns on as they are."""

from __future__ import annotations

from windrow.core.errors import Span
from windrow.core.schema import Schema
from windrow.plan.expressions import Column, Named
from windrow.plan.nodes import Node, Projection


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
