"""One SELECT block: FROM, WHERE, GROUP BY, HAVING, the select list, DISTINCT, ORDER BY, TOP.

The plan is built in that order, from the leaves up; INTERNAL windows close it with AppendOnly or,
if there are others, make its join a LastingJoin. What stands above that join, aggregates and TOP
too, is asked of its answer: a result of the join counts until the join withdraws it (Golab 2006,
Definition 3.1).
"""

from __future__ import annotations

from sqlglot import expressions as exp

from windrow.core.errors import BindError
from windrow.core.schema import Schema
from windrow.cql.syntax_tree import Limit, Select
from windrow.plan.binder.clauses import Clauses, Order, bind_clauses
from windrow.plan.binder.from_clause import (
    BoundTable,
    append_only,
    bind_tables,
    join_tables,
    mixes_internal_windows,
    refuse_internal,
)
from windrow.plan.binder.internal_windows import join_mixed
from windrow.plan.binder.not_exists import has_query, select_where_true
from windrow.plan.binder.scalars import ExpressionBinder, operands_of
from windrow.plan.binder.scope import Context, Scope
from windrow.plan.expressions import Column, Named, conjunction
from windrow.plan.nodes import DuplicateElimination, GroupBy, Node, OrderKey, Selection, TopK
from windrow.plan.nodes.relational import columns_of_row, project


def bind_select(select: Select, context: Context) -> Node:
    """The plan of one block."""
    if not select.tables:
        raise BindError(
            span=select.span, expected="FROM and a stream, relation or view", found="none",
            remedy="name the source of the columns",
        )  # fmt: skip
    tables = bind_tables(select.tables, context)
    scope = Scope(_row(tables))
    plan = _filter_tables(select, tables, scope, context)
    clauses = bind_clauses(select, scope, context)
    if clauses.grouping is not None:
        grouping = clauses.grouping
        plan = GroupBy(plan, grouping.keys, grouping.aggregates, span=select.span)
    if clauses.having is not None:
        plan = Selection(plan, clauses.having, span=select.span)
    limited = select.limit is not None or bool(select.order_by)
    if select.distinct:
        refuse_internal(tables, "DISTINCT", select.span)
        plan = DuplicateElimination(project(plan, clauses.items, select.span), span=select.span)
        plan = _top_of_distinct(plan, clauses, select) if limited else plan
    elif limited:
        plan = _top(plan, clauses, select)
    else:
        plan = project(plan, clauses.items, select.span)
    return append_only(plan, tables, select.span)


def _row(tables: tuple[BoundTable, ...]) -> Schema:
    schema = tables[0].schema
    for table in tables[1:]:
        schema = schema + table.schema
    return schema


def _filter_tables(
    select: Select, tables: tuple[BoundTable, ...], scope: Scope, context: Context
) -> Node:
    """The joined tables for which WHERE and every ON are true."""
    binder = ExpressionBinder(scope, context.source, "WHERE")
    asking, conditions = [], []
    for node in (*(t.on for t in select.tables), select.where):
        for part in operands_of(node, exp.And) if node is not None else ():
            if has_query(part):
                asking.append(part)
            else:
                conditions.append(binder.condition(part))
    join = join_mixed if mixes_internal_windows(tables) else join_tables
    plan, rest = join(tables, conditions)
    predicate = conjunction(rest)
    if predicate is not None:
        span = binder.span(select.where) if select.where is not None else select.span
        plan = Selection(plan, predicate, span=span)
    for part in asking:
        refuse_internal(tables, "negation", binder.span(part))
        plan = select_where_true(plan, scope, part, context)
    return plan


def _top(plan: Node, clauses: Clauses, select: Select) -> Node:
    """The first tuples of the select list; a key that is not in the list is carried and dropped."""
    limit = _limit(select)
    carried = list(clauses.items)
    keys = []
    for expression, descending in _order(clauses, limit):
        place = next((i for i, c in enumerate(carried) if c.expression == expression), None)
        if place is None:
            place = len(carried)
            carried.append(Named(f"order{place + 1}", expression))
        keys.append(OrderKey(Column(place, carried[place].name, expression.type), descending))
    listed = project(plan, tuple(carried), select.span)
    top = TopK(listed, tuple(keys), limit.count, span=limit.span)
    return project(top, columns_of_row(top.schema)[: len(clauses.items)], select.span)


def _top_of_distinct(plan: Node, clauses: Clauses, select: Select) -> Node:
    """The first of ``plan``'s tuples, which are distinct: only their own columns can order them."""
    limit = _limit(select)
    keys = []
    for expression, descending in _order(clauses, limit):
        place = next((i for i, c in enumerate(clauses.items) if c.expression == expression), None)
        if place is None:
            raise BindError(
                span=select.order_by[0].span,
                expected="only columns of the select list in ORDER BY with DISTINCT",
                found="another expression",
            )
        column = Column(place, plan.schema[place].name, expression.type)
        keys.append(OrderKey(column, descending))
    return TopK(plan, tuple(keys), limit.count, span=limit.span)


def _limit(select: Select) -> Limit:
    if select.limit is None:
        raise BindError(
            span=select.order_by[0].span, expected="LIMIT with ORDER BY", found="none",
            remedy="an answer is a bag without an order; write LIMIT to keep its first tuples",
        )  # fmt: skip
    if select.limit.count < 1:
        raise BindError(span=select.limit.span, expected="at least one row", found="0")
    return select.limit


def _order(clauses: Clauses, limit: Limit) -> tuple[Order, ...]:
    """ORDER BY; without it the first aggregate of the select list, greatest first."""
    if clauses.order:
        return clauses.order
    if clauses.grouping is not None:
        keys = len(clauses.grouping.keys)
        for item in clauses.items:
            if isinstance(item.expression, Column) and item.expression.index >= keys:
                return ((item.expression, True),)
    raise BindError(
        span=limit.span, expected="an order to take the first tuples of", found="none",
        remedy="write ORDER BY",
    )  # fmt: skip
