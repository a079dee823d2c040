"""``LAG(x, n) OVER (PARTITION BY k ORDER BY time)``: what a stream's earlier tuple of a key had.

A tuple of a stream keeps its place in time, so the tuples before it never change, and LAG is one
more column of the stream. Over a window, whose oldest tuples leave, it would change; the window is
put around the SELECT instead.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NoReturn

from sqlglot import expressions as exp

from windrow.core.errors import BindError
from windrow.core.patterns import UpdatePattern
from windrow.core.schema import Field, Schema
from windrow.cql.positions import span_of
from windrow.cql.syntax_tree import Select
from windrow.plan.binder.scalars import ExpressionBinder
from windrow.plan.binder.scope import Context, Scope
from windrow.plan.expressions import Column, Expression, Named
from windrow.plan.nodes import LookBack, Node
from windrow.plan.nodes.relational import columns_of_row, project

REMEDY = "write for example LAG(x, 1) OVER (PARTITION BY k ORDER BY ts)"


def add_look_backs(
    plan: Node, scope: Scope, select: Select, context: Context
) -> tuple[Node, Scope, Select]:
    """The plan with a column for each LAG of the select list, and the block that reads these."""
    calls = [c for item in select.items for c in item.expression.find_all(exp.Window) if _is_lag(c)]
    if not calls:
        return plan, scope, select
    span = span_of(calls[0], context.source, select.span)
    if plan.pattern is not UpdatePattern.MONOTONIC:
        raise BindError(
            "LAG looks back over a stream, whose tuples stay", span=span,
            expected="a stream without a window in FROM",
            found=f"tuples that are withdrawn ({plan.pattern.name})",
            remedy="put the window around the SELECT: FROM (SELECT ... LAG ... FROM s) [RANGE ...]",
        )  # fmt: skip
    names = {text: f"lag{i + 1}()" for i, text in enumerate(dict.fromkeys(c.sql() for c in calls))}
    binder = ExpressionBinder(scope, context.source, "LAG")
    carried = list(columns_of_row(plan.schema))
    looks: dict[str, tuple[int, int]] = {}
    keys = None
    for call in calls:
        value, distance = _arguments(call, context)
        _check_order(call, binder, scope, context)
        looks[names[call.sql()]] = (_place(binder.bind(value), carried), distance)
        nodes = call.args.get("partition_by") or ()
        found = tuple(_place(binder.bind(node), carried) for node in nodes)
        if keys is not None and found != keys:
            _refuse(call, "the same PARTITION BY in each LAG of a SELECT", "another one", context)
        keys = found
    hidden = [Field(n.name, n.expression.type) for n in carried[len(plan.schema) :]]
    plan = project(plan, tuple(carried), plan.span)
    plan = LookBack(plan, keys or (), tuple(looks.values()), span=span)
    added = plan.schema.fields[-len(looks) :]
    hidden += [Field(name, f.type) for name, f in zip(looks, added, strict=True)]
    scope = replace(scope, schema=scope.schema + Schema(tuple(hidden)))

    def swap(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Window) or not _is_lag(node):
            return node
        column = exp.Column(this=exp.to_identifier(names[node.sql()]))
        column.meta.update(node.meta)
        return column

    items = tuple(replace(i, expression=i.expression.copy().transform(swap)) for i in select.items)
    return plan, scope, replace(select, items=items)


def _is_lag(node: exp.Window) -> bool:
    return isinstance(node.this, exp.Anonymous) and bool(node.this.name.upper() == "LAG")


def _check_order(
    call: exp.Window, binder: ExpressionBinder, scope: Scope, context: Context
) -> None:
    """Tuples are looked at in the order in which they came; ORDER BY can only say the same."""
    for item in call.args["order"].expressions if call.args.get("order") else ():
        bound = binder.bind(item.this if isinstance(item, exp.Ordered) else item)
        if bound not in scope.times or item.args.get("desc"):
            _refuse(
                item, "the time of the stream, ascending, in ORDER BY", "another order", context
            )


def _arguments(call: exp.Window, context: Context) -> tuple[exp.Expr, int]:
    value, *rest = call.this.expressions or [None]
    distance = rest[0] if rest else None
    number = int(distance.this) if isinstance(distance, exp.Literal) and distance.is_int else 1
    plain = distance is None or (isinstance(distance, exp.Literal) and distance.is_int)
    if len(rest) == 2:
        raise BindError(
            span=span_of(call, context.source), expected="LAG(x, n)", found="a third argument",
            remedy="for tuples without an earlier one write COALESCE(LAG(x, n) OVER (...), value)",
        )  # fmt: skip
    if value is None or len(rest) > 1 or not plain or number < 1 or call.args.get("spec"):
        _refuse(call, "LAG(x) or LAG(x, n), n being at least 1", "something else", context)
    return value, number


def _place(expression: Expression, carried: list[Named]) -> int:
    if isinstance(expression, Column):
        return expression.index
    place = next((i for i, c in enumerate(carried) if c.expression == expression), None)
    if place is None:
        carried.append(Named(f"look{len(carried)}()", expression))
        place = len(carried) - 1
    return place


def _refuse(node: exp.Expr, expected: str, found: str, context: Context) -> NoReturn:
    raise BindError(
        span=span_of(node, context.source), expected=expected, found=found, remedy=REMEDY
    )
