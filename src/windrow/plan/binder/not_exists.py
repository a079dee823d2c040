"""NOT EXISTS and NOT IN: parts of WHERE that become negations, alone or beside OR, AND and NOT.

A condition keeps the tuples for which it is true. ``A OR B`` keeps those of A, and of the others
those of B: two plans over the same input, one union. The others are a selection if A is a plain
condition; if there is a sub-query in A they are the input EXCEPT what A keeps, which is a bag
difference of equal tuples and therefore exact. NOT is taken to the leaves by De Morgan's rules,
which hold in three truth values too.

Cost: the input is there once for each operand of OR, and twice where a sub-query stands before the
last one; plain conditions are put first for that reason.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import expressions as exp

from windrow.core.errors import BindError, Span
from windrow.core.schema import Type
from windrow.cql.lower import lower
from windrow.cql.positions import span_of
from windrow.cql.syntax_tree import Query, Select, StreamOf
from windrow.plan.binder.from_clause import bind_tables, join_tables, refuse_internal
from windrow.plan.binder.scalars import ExpressionBinder, operands_of
from windrow.plan.binder.scope import Context, Scope
from windrow.plan.binder.within import (
    Within,
    await_end,
    bound_by,
    common_within,
    report,
    within_of,
)
from windrow.plan.expressions import Call, Column, Expression, Literal, conjunction, shift_columns
from windrow.plan.nodes import Negation, NegationForm, Node, Selection, Union
from windrow.plan.nodes.joins import join_of, side_of
from windrow.plan.nodes.relational import cast_to, is_null_column

QUERIES = (exp.Exists, exp.Subquery, exp.Select, exp.SetOperation)


@dataclass(frozen=True)
class _NegatedQuery:
    """A part of WHERE that is NOT EXISTS (query), or value NOT IN (query)."""

    query: exp.Expr
    value: exp.Expr | None
    span: Span
    within: Within | None


def _negated_query(part: exp.Expr, source: str) -> _NegatedQuery | None:
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
        return _NegatedQuery(inner.this, None, span, within_of(inner))
    if isinstance(inner, exp.In) and inner.args.get("query") is not None:
        return _NegatedQuery(inner.args["query"], inner.this, span, within_of(inner))
    return None


def has_query(node: exp.Expr) -> bool:
    """Whether a sub-query stands anywhere in the condition."""
    return node.find(*QUERIES) is not None


def _bind_negation(plan: Node, scope: Scope, negated: _NegatedQuery, context: Context) -> Node:
    """``plan`` less the tuples that the sub-query matches."""
    query = _contents(lower(negated.query, context.source))
    if negated.value is not None:
        binder = ExpressionBinder(scope, context.source, "NOT IN")
        value = binder.bind(negated.value)
        right = bound_by(context.bind_query(query, context), negated.within, context)
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
        right = bound_by(context.bind_query(query, context), negated.within, context)
        return _negation(plan, right, [], NegationForm.NOT_EXISTS, negated.span)
    return _correlated_negation(plan, scope, query, context, negated)


def _contents(query: Query) -> Query:
    """The query itself in place of its RSTREAM.

    The whole answer, streamed at every instant, is the answer at every instant: Golab 2006 (3.5.1)
    writes ``NOT EXISTS (SELECT Rstream(*) ...)`` and negates the view that the sub-query keeps.
    """
    if isinstance(query, StreamOf) and query.kind == "RSTREAM" and query.window is None:
        return query.query
    return query


def _correlated_negation(
    plan: Node, scope: Scope, query: Select, context: Context, negated: _NegatedQuery
) -> Node:
    """The sub-query may name columns of the outer query in its conditions."""
    span = negated.span
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
    # Of this sub-query's columns, not the outer one's.
    right = select_where_all(right, Scope(inner), list(filter(has_query, parts)), context)
    right = bound_by(right, negated.within, context)
    return _negation(plan, right, crossing, NegationForm.NOT_EXISTS, span)


def _negation(
    left: Node, right: Node, conditions: list[Expression], form: NegationForm, span: Span
) -> Node:
    join = join_of(left, right, conditions)
    return Negation(left, right, join.left_keys, join.right_keys, form, join.residual, span=span)


def select_where_all(plan: Node, scope: Scope, parts: list[exp.Expr], context: Context) -> Node:
    """The tuples for which all conditions, each with a sub-query in it, are true."""
    within = common_within(parts)
    if within is not None:
        plan, scope = await_end(plan, scope, within, context)
    for part in parts:
        plan = select_where_true(plan, scope, part, context)
    return plan if within is None else report(plan, within)


def select_where_true(plan: Node, scope: Scope, node: exp.Expr, context: Context) -> Node:
    """The tuples of ``plan`` for which the condition is true."""
    while isinstance(node, exp.Paren):
        node = node.this
    if not has_query(node):
        return Selection(plan, _condition(scope, node, context), span=span_of(node, context.source))
    negated = _negated_query(node, context.source)
    if negated is not None:
        return _bind_negation(plan, scope, negated, context)
    match node:
        case exp.And():
            for part in _plain_first(operands_of(node, exp.And)):
                plan = select_where_true(plan, scope, part, context)
            return plan
        case exp.Or():
            return _select_where_one_true(
                plan, scope, _plain_first(operands_of(node, exp.Or)), context
            )
        case exp.Not():
            return select_where_true(plan, scope, _without_not(node, context), context)
    raise _refusal(node, context)


def _select_where_one_true(
    plan: Node, scope: Scope, parts: list[exp.Expr], context: Context
) -> Node:
    """The tuples for which one of the parts is true, each of them once."""
    branches: list[Node] = []
    for number, part in enumerate(parts):
        chosen = select_where_true(plan, scope, part, context)
        branches.append(chosen)
        if number == len(parts) - 1:
            break
        span = span_of(part, context.source)
        if has_query(part):
            row = tuple(Column(i, f.name, f.type) for i, f in enumerate(plan.schema))
            plan = Negation(plan, chosen, row, row, NegationForm.EXCEPT, span=span)
        else:
            test = _condition(scope, part, context)
            true = Call("coalesce", (test, Literal(False, Type.BOOLEAN)), Type.BOOLEAN)
            plan = Selection(plan, Call("not", (true,), Type.BOOLEAN), span=span)
    return Union(tuple(branches), span=span_of(parts[0], context.source))


def _without_not(node: exp.Not, context: Context) -> exp.Expr:
    """The condition under a NOT with the NOT at its leaves."""
    inner = node.this
    while isinstance(inner, exp.Paren):
        inner = inner.this
    match inner:
        case exp.Not():
            twice: exp.Expr = inner.this
            return twice
        case exp.And():
            return _connect(exp.Or, [_negate(part) for part in operands_of(inner, exp.And)])
        case exp.Or():
            return _connect(exp.And, [_negate(part) for part in operands_of(inner, exp.Or)])
    raise _refusal(node, context)


def _negate(part: exp.Expr) -> exp.Expr:
    node = exp.Not(this=part.copy())
    node.meta.update(part.meta)
    return node


def _connect(connector: type[exp.Connector], parts: list[exp.Expr]) -> exp.Expr:
    found = parts[0]
    for part in parts[1:]:
        found = connector(this=found, expression=part)
    return found


def _plain_first(parts: list[exp.Expr]) -> list[exp.Expr]:
    return sorted(parts, key=has_query)


def _condition(scope: Scope, node: exp.Expr, context: Context) -> Expression:
    return ExpressionBinder(scope, context.source, "WHERE").condition(node)


def _refusal(node: exp.Expr, context: Context) -> BindError:
    """What is neither NOT EXISTS nor NOT IN, nor made of such by AND, OR and NOT."""
    place = node.find(*QUERIES, exp.In) or node
    what = "IN" if isinstance(node, exp.In) else "EXISTS" if isinstance(node, exp.Exists) else ""
    return BindError(
        f"{what} with a sub-query is not allowed here"
        if what
        else "a sub-query is not allowed here",
        span=span_of(node if what else place, context.source),
        remedy="write it as a join, or as NOT EXISTS or NOT IN, which may be combined with AND, OR "
        "and NOT in WHERE",
    )
