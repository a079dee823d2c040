"""Conditions of WHERE in which NOT EXISTS and NOT IN stand beside OR, AND and NOT.

A condition keeps the tuples for which it is true. ``A OR B`` keeps those of A, and of the others
those of B: two plans over the same input, one union. The others are a selection if A is a plain
condition; if there is a sub-query in A they are the input EXCEPT what A keeps, which is a bag
difference of equal tuples and therefore exact. NOT is taken to the leaves by De Morgan's rules,
which hold in three truth values too.

Cost: the input is there once for each operand of OR, and twice where a sub-query stands before the
last one; plain conditions are put first for that reason.
"""

from __future__ import annotations

from sqlglot import expressions as exp

from windrow.core.errors import BindError
from windrow.core.schema import Type
from windrow.cql.positions import span_of
from windrow.plan.binder.context import Context, operands_of
from windrow.plan.binder.not_exists import QUERIES, bind_negation, has_query, negated_query
from windrow.plan.binder.scalars import ExpressionBinder
from windrow.plan.binder.scope import Scope
from windrow.plan.expressions import Call, Column, Expression, Literal
from windrow.plan.nodes import Negation, NegationForm, Node, Selection, Union


def select_where_true(plan: Node, scope: Scope, node: exp.Expr, context: Context) -> Node:
    """The tuples of ``plan`` for which the condition is true."""
    while isinstance(node, exp.Paren):
        node = node.this
    if not has_query(node):
        return Selection(plan, _condition(scope, node, context), span=span_of(node, context.source))
    negated = negated_query(node, context.source)
    if negated is not None:
        return bind_negation(plan, scope, negated, context, select_where_true)
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
