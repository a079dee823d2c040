"""One SELECT block: FROM, WHERE, GROUP BY, HAVING, the select list, DISTINCT, ORDER BY, TOP.

The plan is built in that order, from the leaves up; INTERNAL windows close it with AppendOnly or,
if there are others, make its join a LastingJoin. What stands above that join, aggregates and TOP
too, is asked of its answer: a result of the join counts until the join withdraws it (Golab 2006,
Definition 3.1).
"""

from __future__ import annotations

from windrow.core.errors import BindError
from windrow.core.schema import Schema
from windrow.cql.syntax_tree import Select
from windrow.plan.binder.clauses import bind_clauses
from windrow.plan.binder.context import Context
from windrow.plan.binder.disjunction import kept
from windrow.plan.binder.from_clause import (
    BoundTable,
    append_only,
    bind_tables,
    join_tables,
    mixed,
    refuse_internal,
)
from windrow.plan.binder.internal_windows import join_mixed
from windrow.plan.binder.not_exists import has_query, split
from windrow.plan.binder.ordering import distinct_first, first
from windrow.plan.binder.scalars import ExpressionBinder
from windrow.plan.binder.scope import Scope
from windrow.plan.expressions import conjunction
from windrow.plan.nodes import DuplicateElimination, GroupBy, Node, Selection
from windrow.plan.nodes.projections import projected


def bind_select(select: Select, context: Context) -> Node:
    """The plan of one block."""
    if not select.tables:
        raise BindError(
            span=select.span, expected="FROM and a stream, relation or view", found="none",
            remedy="say where the columns come from",
        )  # fmt: skip
    tables = bind_tables(select.tables, context)
    scope = Scope(_row(tables))
    plan = _filtered(select, tables, scope, context)
    clauses = bind_clauses(select, scope, context)
    if clauses.grouping is not None:
        grouping = clauses.grouping
        plan = GroupBy(plan, grouping.keys, grouping.aggregates, span=select.span)
    if clauses.having is not None:
        plan = Selection(plan, clauses.having, span=select.span)
    limited = select.limit is not None or bool(select.order_by)
    if select.distinct:
        refuse_internal(tables, "DISTINCT", select.span)
        plan = DuplicateElimination(projected(plan, clauses.items, select.span), span=select.span)
        plan = distinct_first(plan, clauses, select) if limited else plan
    elif limited:
        plan = first(plan, clauses, select)
    else:
        plan = projected(plan, clauses.items, select.span)
    return append_only(plan, tables, select.span)


def _row(tables: tuple[BoundTable, ...]) -> Schema:
    schema = tables[0].schema
    for table in tables[1:]:
        schema = schema + table.schema
    return schema


def _filtered(
    select: Select, tables: tuple[BoundTable, ...], scope: Scope, context: Context
) -> Node:
    """The joined tables for which WHERE and every ON are true."""
    binder = ExpressionBinder(scope, context.source, "WHERE")
    asking, conditions = [], []
    for node in (*(t.on for t in select.tables), select.where):
        for part in split(node) if node is not None else ():
            if has_query(part):
                asking.append(part)
            else:
                conditions.append(binder.condition(part))
    join = join_mixed if mixed(tables) else join_tables
    plan, rest = join(tables, conditions)
    predicate = conjunction(rest)
    if predicate is not None:
        span = binder.span(select.where) if select.where is not None else select.span
        plan = Selection(plan, predicate, span=span)
    for part in asking:
        refuse_internal(tables, "negation", binder.span(part))
        plan = kept(plan, scope, part, context)
    return plan
