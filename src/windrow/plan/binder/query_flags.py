"""EXISTS and IN as values: in the select list, in HAVING, in CASE, wherever an expression stands.

What a sub-query is asked becomes a column of the tuples: a flag of whether a row matches
(``MatchFlag``). IN is NULL where no row is equal but one may be, which is a second flag.

A sub-query that names no outer columns says the same of all tuples: whether it has rows, and
whether a value of it is NULL. That is a row that is always there, and joined to the tuples. It
changes when the first row comes or the last one goes, not with every row.

Pattern: STRICT. Cost: the input is there once, however many of them a query has; the sub-query of
EXISTS once, and that of IN twice. The tuples are kept by each flag.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from enum import Enum

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
from windrow.plan.nodes.joins import match_flag_of
from windrow.plan.nodes.relational import columns_of_row, project

STATE = ("there", "unknown")
"""What is said of a whole sub-query: whether it has a row, and one whose value is NULL."""
FLAGS = EQUAL, POSSIBLE = "(equal)", "(equal or unknown)"
"""What is said of a tuple: whether a row is equal as IN compares, and whether one may be."""


class Counts(Enum):
    """What counts of a condition: where it is true, where it is false, or both, and NULL."""

    TRUE = "true"
    FALSE = "false"
    ALL = "all"


def add_flags(
    plan: Node,
    scope: Scope,
    nodes: Sequence[exp.Expr],
    context: Context,
    grouped: Sequence[Grouped] = (None,),
    *,
    where: bool = False,
) -> tuple[Node, Scope, list[exp.Expr]]:
    """The plan with a column for each EXISTS and IN, and the expressions that read these.

    ``grouped`` says of each expression which outer columns it may name; ``where``, that tuples stay
    for which it is true. What is asked twice has one column.
    """
    changed = []
    width = len(plan.schema)
    names: dict[tuple[Matching, Counts], str] = {}
    for node, columns in zip(nodes, grouped, strict=True):
        root = exp.Paren(this=node.copy())
        root.meta.update(node.meta)
        for part, asked in list(_asked(root, context, where=where)):
            matching = bind_matching(scope, asked, context)
            if not is_in_aggregate(part):
                refuse_ungrouped(matching.outer_columns(width), columns, asked.span)
            key = matching, _counts(part, where=where)
            if key not in names:
                name = value_name(scope.values + len(names))
                plan = _flagged(plan, matching.beside(width, len(names)), key[1], name)
                names[key] = name
            column = exp.Column(this=exp.to_identifier(names[key], quoted=True))
            column.meta.update(part.meta)
            part.replace(column)
        changed.append(root.this)
    fields = Schema(tuple(Field(name, Type.BOOLEAN) for name in names.values()))
    scope = replace(scope, schema=scope.schema + fields, values=scope.values + len(names))
    return plan, scope, changed


def select_by_flags(plan: Node, scope: Scope, node: exp.Expr, context: Context) -> Node:
    """The tuples for which a condition is true that asks sub-queries anywhere inside it."""
    width, span = len(plan.schema), span_of(node, context.source)
    plan, scope, (changed,) = add_flags(plan, scope, [node], context, where=True)
    if has_query(changed):
        plan = select_by_values(plan, scope, changed, context)
    else:
        condition = ExpressionBinder(scope, context.source, "WHERE").condition(changed)
        plan = Selection(plan, condition, span=span)
    return project(plan, columns_of_row(plan.schema)[:width], span)


def _asked(
    root: exp.Expr, context: Context, *, where: bool
) -> Iterator[tuple[exp.Expr, AskedQuery]]:
    """Each EXISTS and IN of an expression, and what it asks; BindError if it cannot be a value."""
    for part in outermost(root):
        if isinstance(part, exp.Exists | exp.In):
            asked = asked_query(part, context.source)
            assert asked is not None, "IN with values is not among them"
            if asked.within is not None and not where:
                raise BindError(
                    "WITHIN is a condition of WHERE", span=asked.span,
                    expected=f"{asked.kind} without WITHIN",
                    remedy="write it in WHERE of a sub-query in FROM",
                )  # fmt: skip
            _refuse_aggregates(asked, context)
            yield part, asked


def _counts(part: exp.Expr, *, where: bool) -> Counts:
    """What counts of a part of an expression; ``where``: tuples stay for which that is true.

    AND and OR of values in which NULL is read as FALSE are TRUE where they are without that. Under
    NOT it is read as TRUE for the same reason.
    """
    counts, above = Counts.TRUE, part.parent
    while isinstance(above, exp.And | exp.Or | exp.Paren | exp.Not):
        if isinstance(above, exp.Not):
            counts = Counts.FALSE if counts is Counts.TRUE else Counts.TRUE
        part, above = above, above.parent
    searched = isinstance(above, exp.If) and above.this is part
    case = above.parent if searched and above is not None else None
    alone = (above is None and where) or (isinstance(case, exp.Case) and case.this is None)
    return counts if alone else Counts.ALL


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


def _flagged(plan: Node, matching: Matching, counts: Counts, name: str) -> Node:
    """The tuples, each with a last column that says what the condition is for it."""
    span, right, width = matching.asked.span, matching.right, len(plan.schema)
    crossing, equal = matching.crossing, matching.equal
    if not crossing and not equal:
        there = Column(width, STATE[0], Type.BOOLEAN)
        return _beside_row(plan, matching, there, width, name)
    if not equal or counts is Counts.TRUE:
        return match_flag_of(plan, right, (*crossing, *equal), name, span)
    if not crossing and len(equal) == 1:
        flagged = match_flag_of(plan, right, equal, EQUAL, span)
        return _beside_row(flagged, matching, _equal_or_unknown(width, equal[0]), width, name)
    if counts is Counts.FALSE:
        return match_flag_of(plan, right, (*crossing, *matching.possible), name, span)
    flagged = match_flag_of(plan, right, (*crossing, *equal), EQUAL, span)
    wider = matching.beside(width, 1)
    flagged = match_flag_of(flagged, right, (*wider.crossing, *wider.possible), POSSIBLE, span)
    flag = _three_valued(*(Column(width + i, n, Type.BOOLEAN) for i, n in enumerate(FLAGS)))
    return project(flagged, (*columns_of_row(plan.schema), Named(name, flag)), span)


def _three_valued(true: Expression, unknown: Expression) -> Expression:
    """TRUE, or NULL, or else FALSE."""
    return Call("case", (true, _truth(True), unknown, _truth(None), _truth(False)), Type.BOOLEAN)


def _equal_or_unknown(place: int, test: Expression) -> Expression:
    """What IN is for a tuple: its flag is at ``place``, and the sub-query's state behind that."""
    assert isinstance(test, Call)
    names = (EQUAL, *STATE)
    met, there, unknown = (Column(place + i, n, Type.BOOLEAN) for i, n in enumerate(names))
    absent = Call("is_null", (test.args[0],), Type.BOOLEAN)
    open_ = Call("or", (unknown, Call("and", (there, absent), Type.BOOLEAN)), Type.BOOLEAN)
    return _three_valued(met, open_)


def _beside_row(plan: Node, matching: Matching, flag: Expression, width: int, name: str) -> Node:
    """The first columns of the tuples, and a flag that is computed beside the sub-query's state."""
    right, span = matching.right, matching.asked.span
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
