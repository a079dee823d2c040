"""EXISTS and IN as values: in the select list, in HAVING, in CASE, wherever an expression stands.

What a sub-query is asked becomes a column of the tuples: TRUE for those that the condition keeps,
FALSE for those that its negation keeps and, of IN, NULL for the others. That is a union of the
plans that WHERE would have, so a tuple is in one of them at each instant, as often as it is there.

A sub-query that names no outer columns says the same of all tuples: whether it has rows, and
whether a value of it is NULL. That is a row that is always there, and joined to the tuples. It
changes when the first row comes or the last one goes, not with every row.

Pattern: STRICT. Cost: EXISTS that names no outer columns has its input once, what names some twice,
IN too; IN that names outer columns inside, or compares several values, has it five times. A query
with several of them has the product.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sqlglot import expressions as exp

from windrow.core.errors import BindError
from windrow.core.schema import Field, Schema, Type
from windrow.cql.positions import span_of
from windrow.plan.binder.asked_query import AskedQuery, asked_query, has_query
from windrow.plan.binder.not_exists import Matching, bind_matching
from windrow.plan.binder.scalar_queries import (
    Grouped,
    is_in_aggregate,
    outermost,
    refuse_ungrouped,
    select_by_values,
    value_name,
)
from windrow.plan.binder.scalars import ExpressionBinder
from windrow.plan.binder.scope import Context, Scope
from windrow.plan.expressions import Call, Column, Expression, Literal, Named
from windrow.plan.functions import AGGREGATES
from windrow.plan.nodes import (
    Aggregate,
    ConstantRows,
    DuplicateElimination,
    GroupBy,
    Join,
    Node,
    Selection,
    Union,
)
from windrow.plan.nodes.joins import difference_of
from windrow.plan.nodes.relational import columns_of_row, project

STATE = ("there", "unknown")
"""What is said of a whole sub-query: whether it has a row, and one whose value is NULL."""


def add_flags(
    plan: Node,
    scope: Scope,
    nodes: Sequence[exp.Expr],
    context: Context,
    grouped: Sequence[Grouped] = (None,),
) -> tuple[Node, Scope, list[exp.Expr]]:
    """The plan with a column for each EXISTS and IN, and the expressions that read these.

    ``grouped`` says of each expression which outer columns it may name.
    """
    changed = []
    for node, columns in zip(nodes, grouped, strict=True):
        root = exp.Paren(this=node.copy())
        root.meta.update(node.meta)
        for part, asked in list(_asked(root, context)):
            matching = bind_matching(scope, asked, context)
            if not is_in_aggregate(part):
                refuse_ungrouped(matching.outer_columns(len(scope.schema)), columns, asked.span)
            name = value_name(scope.values)
            plan = _flagged(plan, matching, name)
            field = Schema((Field(name, Type.BOOLEAN),))
            scope = replace(scope, schema=scope.schema + field, values=scope.values + 1)
            column = exp.Column(this=exp.to_identifier(name, quoted=True))
            column.meta.update(part.meta)
            part.replace(column)
        changed.append(root.this)
    return plan, scope, changed


def select_by_flags(plan: Node, scope: Scope, node: exp.Expr, context: Context) -> Node:
    """The tuples for which a condition is true that asks sub-queries anywhere inside it."""
    width, span = len(plan.schema), span_of(node, context.source)
    plan, scope, (changed,) = add_flags(plan, scope, [node], context)
    if has_query(changed):
        plan = select_by_values(plan, scope, changed, context)
    else:
        condition = ExpressionBinder(scope, context.source, "WHERE").condition(changed)
        plan = Selection(plan, condition, span=span)
    return project(plan, columns_of_row(plan.schema)[:width], span)


def _asked(root: exp.Expr, context: Context) -> Iterator[tuple[exp.Expr, AskedQuery]]:
    """Each EXISTS and IN of an expression, and what it asks; BindError if it cannot be a value."""
    for part in outermost(root):
        if isinstance(part, exp.Exists | exp.In):
            asked = asked_query(part, context.source)
            assert asked is not None, "IN with values is not among them"
            if asked.within is not None:
                raise BindError(
                    "WITHIN is a condition of WHERE", span=asked.span,
                    expected=f"{asked.kind} without WITHIN",
                    remedy="write it in WHERE of a sub-query in FROM",
                )  # fmt: skip
            _refuse_aggregates(asked, context)
            yield part, asked


def _refuse_aggregates(asked: AskedQuery, context: Context) -> None:
    """A tuple is compared before it is grouped."""
    if asked.value is None:
        return
    for call in asked.value.find_all(exp.Anonymous):
        if call.name.lower() in AGGREGATES:
            raise BindError(
                "an aggregate is compared with a sub-query", span=span_of(call, context.source),
                expected="columns before IN", found=call.name,
                remedy="group in a sub-query in FROM, and write IN in WHERE around it",
            )  # fmt: skip


def _flagged(plan: Node, matching: Matching, name: str) -> Node:
    """The tuples, each with a last column that says what the condition is for it."""
    span, row = matching.asked.span, columns_of_row(plan.schema)
    if not matching.crossing and not matching.equal:
        there = Column(len(plan.schema), STATE[0], Type.BOOLEAN)
        return _beside_row(plan, matching, there, name)
    true = matching.select_from(plan, negated=False)
    branches = [project(true, (*row, Named(name, _truth(True))), span)]
    if not matching.crossing and len(matching.equal) == 1:
        branches.append(_false_or_unknown(plan, matching, name))
        return Union(tuple(branches), span=span)
    false = matching.select_from(plan, negated=True)
    branches.append(project(false, (*row, Named(name, _truth(False))), span))
    if matching.equal:
        rest = difference_of(difference_of(plan, true, span), false, span)
        branches.append(project(rest, (*row, Named(name, _truth(None))), span))
    return Union(tuple(branches), span=span)


def _false_or_unknown(plan: Node, matching: Matching, name: str) -> Node:
    """The tuples whose value no row of the sub-query equals: FALSE, or NULL if one may."""
    alone = matching.select_unequal(plan)
    [test] = matching.equal
    assert isinstance(test, Call)
    value, width = test.args[0], len(plan.schema)
    there, unknown = (Column(width + i, n, Type.BOOLEAN) for i, n in enumerate(STATE))
    absent = Call("and", (there, Call("is_null", (value,), Type.BOOLEAN)), Type.BOOLEAN)
    open_ = Call("or", (unknown, absent), Type.BOOLEAN)
    flag = Call("case", (open_, _truth(None), _truth(False)), Type.BOOLEAN)
    return _beside_row(alone, matching, flag, name)


def _beside_row(plan: Node, matching: Matching, flag: Expression, name: str) -> Node:
    """The tuples with a flag that is computed of each of them beside the sub-query's state."""
    right, span, width = matching.right, matching.asked.span, len(plan.schema)
    unknown: Expression = _truth(False)
    if matching.equal:
        last = len(right.schema) - 1
        value = Column(last, right.schema[last].name, right.schema[last].type)
        unknown = Call("is_null", (value,), Type.BOOLEAN)
    shown = tuple(Named(n, e) for n, e in zip(STATE, (_truth(True), unknown), strict=True))
    states = DuplicateElimination(project(right, shown, span), span=span)
    columns = Schema(tuple(Field(n, Type.BOOLEAN) for n in STATE))
    nothing = ConstantRows(columns, ((_truth(False), _truth(False)),), span=span)
    both = Union((states, nothing), span=span)
    largest = tuple(
        Aggregate("MAX", Column(i, n, Type.BOOLEAN), n, Type.BOOLEAN) for i, n in enumerate(STATE)
    )
    joined = Join(plan, GroupBy(both, (), largest, span=span), (), (), span=span)
    row = columns_of_row(joined.schema)[:width]
    return project(joined, (*row, Named(name, flag)), span)


def _truth(value: bool | None) -> Literal:
    return Literal(value, Type.BOOLEAN)
