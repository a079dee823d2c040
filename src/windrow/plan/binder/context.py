"""What every part of the binder needs to know, and how chains of AND and OR are opened.

The parser makes such chains as deep as they are long.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from sqlglot import expressions as exp

from windrow.core.errors import BindError, Span
from windrow.core.time import Clock
from windrow.cql.syntax_tree import Query
from windrow.plan.catalog import Catalog
from windrow.plan.nodes import (
    GroupBy,
    Join,
    LastingJoin,
    Negation,
    Node,
    Projection,
    RelationScan,
    StreamScan,
    Unary,
    Union,
    walk,
)


@dataclass(frozen=True)
class Context:
    """The catalog, the text, and the way back to the binder of whole queries."""

    catalog: Catalog
    source: str
    bind_query: Callable[[Query, Context], Node]


def clock_of(plan: Node, span: Span | None = None) -> Clock | None:
    """The clock of the plan's streams; None if it has none, BindError if they differ."""
    clocks = {n.clock: n.name for n in walk(plan) if isinstance(n, StreamScan)}
    if len(clocks) > 1:
        names = " and ".join(f"{name} ({clock.value})" for clock, name in clocks.items())
        raise BindError(
            span=span,
            expected="streams that share one kind of clock",
            found=names,
            remedy="declare both with a TIMESTAMP column, or both with an integer one",
        )
    return next(iter(clocks), None)


def with_table_name(plan: Node, name: str | None) -> Node:
    """The same plan with its columns under the table name ``name``."""
    match plan:
        case StreamScan() | RelationScan():
            return replace(plan, columns=plan.columns.with_qualifier(name))
        case Projection():
            columns = tuple(replace(c, qualifier=name) for c in plan.columns)
            return replace(plan, columns=columns)
        case GroupBy():
            return replace(plan, keys=tuple(replace(k, qualifier=name) for k in plan.keys))
        case Join() | LastingJoin() | Negation():
            right = plan.right if isinstance(plan, Negation) else with_table_name(plan.right, name)
            return replace(plan, left=with_table_name(plan.left, name), right=right)
        case Union():
            return replace(
                plan, branches=(with_table_name(plan.branches[0], name), *plan.branches[1:])
            )
        case Unary():
            return replace(plan, input=with_table_name(plan.input, name))
    return plan


def operands_of(node: exp.Expr, connector: type[exp.Expr]) -> list[exp.Expr]:
    """The operands of a chain of one connector from left to right, parentheses opened."""
    operands: list[exp.Expr] = []
    waiting = [node]
    while waiting:
        part = waiting.pop()
        inner = part
        while isinstance(inner, exp.Paren):
            inner = inner.this
        if isinstance(inner, connector):
            waiting += [inner.args["expression"], inner.args["this"]]
        else:
            operands.append(part)
    return operands
