"""Sub-queries after WHERE: columns that stand for them, and a block that reads these.

Beside aggregates a sub-query is the same for all tuples of a group: it names no outer columns, or
grouped ones. What an aggregate takes, or its FILTER, or what is a key of GROUP BY itself, is of
each tuple, and may name any.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import expressions as exp

from windrow.core.errors import BindError
from windrow.cql.syntax_tree import Select
from windrow.plan.binder.query_flags import add_flags
from windrow.plan.binder.scalar_queries import Grouped, add_values, outermost
from windrow.plan.binder.scalars import ExpressionBinder
from windrow.plan.binder.scope import Context, Scope
from windrow.plan.expressions import Column
from windrow.plan.functions import AGGREGATES
from windrow.plan.nodes import Node


def expressions_of(select: Select) -> list[exp.Expr]:
    """The expressions of the clauses that read the filtered tables; GROUP BY takes no sub-query."""
    having = [select.having] if select.having is not None else []
    items, order = select.items, select.order_by
    return [*(i.expression for i in items), *having, *(o.expression for o in order)]


def add_sub_queries(
    plan: Node, scope: Scope, select: Select, context: Context
) -> tuple[Node, Scope, Select]:
    """The plan with columns for the sub-queries, and the block that reads these."""
    nodes = expressions_of(select)
    parts = (part for node in nodes for part in outermost(node))
    grouped = bool(select.group_by) or any(map(_is_aggregate, parts))
    columns: list[Grouped] = [None] * len(nodes)
    if grouped:
        shared, keys = _grouped_columns(select, scope, context), _grouped_items(select, scope)
        columns = [None if place in keys else shared for place in range(len(nodes))]
    plan, scope, changed = add_flags(plan, scope, nodes, context, columns)
    plan, scope, changed = add_values(plan, scope, changed, context, columns)
    count, having = len(select.items), select.having is not None
    items = [replace(i, expression=e) for i, e in zip(select.items, changed, strict=False)]
    order = zip(select.order_by, changed[count + having :], strict=True)
    return plan, scope, replace(
        select,
        items=tuple(items),
        having=changed[count] if having else None,
        order_by=tuple(replace(o, expression=e) for o, e in order),
    )  # fmt: skip


def name_groups(select: Select) -> Select:
    """The block with GROUP BY ALL as the numbers of the items that have no aggregate in them."""
    if not any(isinstance(node, exp.All) for node in select.group_by):
        return select
    [everything] = select.group_by
    groups = []
    for number, item in enumerate(select.items, 1):
        if item.expression.is_star:
            raise BindError(
                "GROUP BY ALL groups by the items of the select list, one by one", span=item.span,
                expected="columns and expressions", found="*", remedy="name the columns",
            )  # fmt: skip
        if not any(map(_is_aggregate, outermost(item.expression))):
            groups.append(exp.Literal.number(number))
            groups[-1].meta.update(everything.meta)
    return replace(select, group_by=tuple(groups))


def _is_aggregate(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and node.name.lower() in AGGREGATES


def _grouped_items(select: Select, scope: Scope) -> set[int]:
    """The items that GROUP BY names, by their number or their alias: keys, of each tuple."""
    aliases = [i.alias.text.lower() if i.alias is not None else None for i in select.items]
    found = {int(node.this) - 1 for node in select.group_by if node.is_int}
    for node in select.group_by:
        named = isinstance(node, exp.Column) and not node.table and not scope.find(node.name)
        if named and node.name.lower() in aliases:
            found.add(aliases.index(node.name.lower()))
    return found


def _grouped_columns(select: Select, scope: Scope, context: Context) -> set[int]:
    """The columns that GROUP BY names, by themselves or by the number of their item."""
    binder = ExpressionBinder(scope, context.source, "GROUP BY")
    nodes = [
        select.items[int(node.this) - 1].expression
        if node.is_int and 1 <= int(node.this) <= len(select.items)
        else node
        for node in select.group_by
    ]
    named = [n for n in nodes if isinstance(n, exp.Column) and scope.find(n.name, n.table or None)]
    bound = [binder.bind(node) for node in named if not node.is_star]
    return {column.index for column in bound if isinstance(column, Column)}
