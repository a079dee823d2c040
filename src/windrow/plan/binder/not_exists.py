"""NOT EXISTS and NOT IN: parts of WHERE that become negations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import expressions as exp

from windrow.core.errors import BindError, Span
from windrow.cql.lower import lower
from windrow.cql.positions import span_of
from windrow.cql.syntax_tree import Query, Select, StreamOf
from windrow.plan.binder.context import Context, operands_of
from windrow.plan.binder.from_clause import bind_tables, join_tables, refuse_internal
from windrow.plan.binder.scalars import ExpressionBinder
from windrow.plan.binder.scope import Scope
from windrow.plan.expressions import Expression, conjunction, shift_columns
from windrow.plan.nodes import Negation, NegationForm, Node, Selection
from windrow.plan.nodes.join_conditions import join_of, side_of
from windrow.plan.nodes.projections import cast_to, is_null_column

QUERIES = (exp.Exists, exp.Subquery, exp.Select, exp.SetOperation)


@dataclass(frozen=True)
class NegatedQuery:
    """A part of WHERE that is NOT EXISTS (query), or value NOT IN (query)."""

    query: exp.Expr
    value: exp.Expr | None
    span: Span


def negated_query(part: exp.Expr, source: str) -> NegatedQuery | None:
    """The negated sub-query that a part of WHERE is, if it is one."""
    while isinstance(part, exp.Paren):
        part = part.this
    if not isinstance(part, exp.Not):
        return None
    inner = part.this
    while isinstance(inner, exp.Paren):
        inner = inner.this
    span = span_of(part, source)
    if isinstance(inner, exp.Exists):
        return NegatedQuery(inner.this, None, span)
    if isinstance(inner, exp.In) and inner.args.get("query") is not None:
        return NegatedQuery(inner.args["query"], inner.this, span)
    return None


Keep = Callable[[Node, Scope, exp.Expr, Context], Node]
"""Gives the tuples of a plan for which a condition with sub-queries in it is true."""


def has_query(node: exp.Expr) -> bool:
    """Whether a sub-query stands anywhere in the condition."""
    return node.find(*QUERIES) is not None


def bind_negation(
    plan: Node, scope: Scope, negated: NegatedQuery, context: Context, keep: Keep
) -> Node:
    """``plan`` less the tuples that the sub-query matches; ``keep`` binds what stands in it."""
    query = _contents(lower(negated.query, context.source))
    if negated.value is not None:
        binder = ExpressionBinder(scope, context.source, "NOT IN")
        value = binder.bind(negated.value)
        right = context.bind_query(query, context)
        if len(right.schema) != 1:
            raise BindError(
                span=negated.span, expected="one column in the sub-query of NOT IN",
                found=f"{len(right.schema)}",
            )  # fmt: skip
        if is_null_column(right, 0):
            right = cast_to(right, (value.type,))
        other = shift_columns(Scope(right.schema).column(0), len(plan.schema))
        nodes = [negated.value, negated.query]
        test = binder.call("eq", [value, other], nodes, negated.span)
        return _negation(plan, right, [test], NegationForm.NOT_IN, negated.span)
    if not isinstance(query, Select) or query.group_by or query.having or query.limit:
        right = context.bind_query(query, context)
        return _negation(plan, right, [], NegationForm.NOT_EXISTS, negated.span)
    return _correlated_negation(plan, scope, query, context, negated.span, keep)


def _contents(query: Query) -> Query:
    """The query itself in place of its RSTREAM.

    The whole answer, streamed at every instant, is the answer at every instant: Golab 2006 (3.5.1)
    writes ``NOT EXISTS (SELECT Rstream(*) ...)`` and negates the view that the sub-query keeps.
    """
    if isinstance(query, StreamOf) and query.kind == "RSTREAM" and query.window is None:
        return query.query
    return query


def _correlated_negation(
    plan: Node, scope: Scope, query: Select, context: Context, span: Span, keep: Keep
) -> Node:
    """The sub-query may name columns of the outer query in its conditions."""
    tables = bind_tables(query.tables, context)
    refuse_internal(tables, "NOT EXISTS", span)
    inner = tables[0].schema
    for table in tables[1:]:
        inner = inner + table.schema
    width = len(scope.schema)
    whole = Scope(scope.schema + inner, inner_from=width)
    binder = ExpressionBinder(whole, context.source, "WHERE")
    nodes = [t.on for t in query.tables if t.on is not None]
    nodes += [query.where] if query.where is not None else []
    parts = [part for node in nodes for part in operands_of(node, exp.And)]
    conditions = [binder.condition(part) for part in parts if not has_query(part)]
    crossing: list[Expression] = []
    own: list[Expression] = []
    for condition in conditions:
        local = not side_of(condition, width).left
        (own if local else crossing).append(condition)
    right, rest = join_tables(tables, [shift_columns(c, -width) for c in own])
    predicate = conjunction(rest)
    if predicate is not None:
        right = Selection(right, predicate, span=span)
    for part in filter(has_query, parts):  # of this sub-query's columns, not the outer one's
        right = keep(right, Scope(inner), part, context)
    return _negation(plan, right, crossing, NegationForm.NOT_EXISTS, span)


def _negation(
    left: Node, right: Node, conditions: list[Expression], form: NegationForm, span: Span
) -> Node:
    join = join_of(left, right, conditions)
    return Negation(left, right, join.left_keys, join.right_keys, form, join.residual, span=span)
