"""Which column of which stream an expression of a plan is, if it is one."""

from __future__ import annotations

from windrow.plan.costs.flows import SourceColumn
from windrow.plan.expressions import Column, Expression
from windrow.plan.nodes import (
    Join,
    Negation,
    NegativeTuples,
    Node,
    Projection,
    RelationScan,
    Selection,
    StreamScan,
    Window,
)


def source_column(expression: Expression, node: Node) -> SourceColumn | None:
    """Where the value of an expression over what ``node`` gives was read; None if computed."""
    if not isinstance(expression, Column):
        return None
    index = expression.index
    match node:
        case StreamScan() | RelationScan():
            return node.name.lower(), node.columns[index].name.lower()
        case Projection(input=below, columns=columns):
            return source_column(columns[index].expression, below)
        case Selection(input=below) | Window(input=below) | NegativeTuples(input=below):
            return source_column(expression, below)
        case Negation(left=left):
            return source_column(expression, left)
        case Join(left=left, right=right):
            own = len(left.schema)
            if index < own:
                return source_column(expression, left)
            moved = Column(index - own, expression.name, expression.type)
            return source_column(moved, right)
        case _:
            return None
