"""Projections over projections become one, and those that change nothing disappear."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from windrow.plan.expressions import Column, Expression, columns_of, replace_columns
from windrow.plan.nodes import Node, Projection
from windrow.plan.nodes.rebuild import map_inputs
from windrow.plan.nodes.relational import changes_nothing


def merge_projections(plan: Node) -> Node:
    """The plan without superfluous projections; no expression is computed twice because of it."""
    node = map_inputs(plan, merge_projections)
    if not isinstance(node, Projection):
        return node
    inner = node.input
    if isinstance(inner, Projection) and _each_computed_once(node, inner):
        columns = tuple(replace(c, expression=_through(c.expression, inner)) for c in node.columns)
        node = replace(node, input=inner.input, columns=columns)
    return node.input if changes_nothing(node.columns, node.input.schema) else node


def _through(expression: Expression, inner: Projection) -> Expression:
    return replace_columns(expression, lambda c: inner.columns[c.index].expression)


def _each_computed_once(outer: Projection, inner: Projection) -> bool:
    uses = Counter(c.index for named in outer.columns for c in columns_of(named.expression))
    return all(
        count == 1 or isinstance(inner.columns[index].expression, Column)
        for index, count in uses.items()
    )
