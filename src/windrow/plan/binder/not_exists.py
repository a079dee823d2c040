"""EXISTS, IN and their negations: parts of WHERE that become joins and negations, alone or beside
OR, AND and NOT.

EXISTS and IN are semi-joins: the join with the different keys of the sub-query, of which a tuple
meets at most one, so it stays as often as it is there. Under another condition than equality, they
are the tuples with a flag of whether a row matches, and of these those that have it.

A condition keeps the tuples for which it is true. NOT is taken to the leaves by De Morgan's rules,
which hold in three truth values too. Of a stream without a window ``A OR B`` keeps the tuples of A,
and of the others those of B, if there is one sub-query and A is plain: a union of two selections,
which withdraws nothing if the sub-query does not. In any other expression what a sub-query is asked
becomes a column (``windrow.plan.binder.query_flags``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from sqlglot import expressions as exp

from windrow.core.errors import BindError, Span
from windrow.core.patterns import UpdatePattern
from windrow.core.schema import Type
from windrow.cql.lower import lower
from windrow.cql.positions import span_of
from windrow.cql.syntax_tree import Query, Select, StreamOf
from windrow.plan.binder.asked_query import AskedQuery, asked_query, has_query
from windrow.plan.binder.from_clause import bind_tables, join_tables, refuse_internal
from windrow.plan.binder.join_clauses import bind_joins
from windrow.plan.binder.outer_columns import (
    refuse_columns_further_out,
    refuse_outer_columns,
    refuse_outer_columns_in_from,
)
from windrow.plan.binder.scalars import ExpressionBinder, operands_of
from windrow.plan.binder.scope import Context, Scope
from windrow.plan.binder.unnesting import unnest_items
from windrow.plan.binder.within import (
    await_end,
    bound_by,
    common_within,
    report,
)
from windrow.plan.expressions import (
    Call,
    Column,
    Expression,
    Literal,
    Named,
    columns_of,
    conjunction,
    connect,
    replace_columns,
    shift_columns,
)
from windrow.plan.functions import AGGREGATES
from windrow.plan.nodes import (
    DuplicateElimination,
    Join,
    MatchFlag,
    Negation,
    NegationForm,
    Node,
    Selection,
    Union,
)
from windrow.plan.nodes.joins import join_of, side_of
from windrow.plan.nodes.relational import cast_to, columns_of_row, is_null_column, project

MATCHED = "(matched)"
"""The column that says of a tuple whether a row matches."""


@dataclass(frozen=True)
class Matching:
    """Which tuples of a sub-query match an outer one: conditions over the two side by side.

    ``equal`` compares the values of IN, ``possible`` is true also where that is not known.
    """

    asked: AskedQuery = field(compare=False)
    right: Node
    crossing: tuple[Expression, ...]
    equal: tuple[Expression, ...] = ()
    possible: tuple[Expression, ...] = ()

    def select_from(self, plan: Node, *, negated: bool) -> Node:
        """The tuples for which the condition is true or, negated, for which it is false."""
        span, right = self.asked.span, self.right
        if not negated:
            return _match(plan, right, [*self.crossing, *self.equal], None, span)
        if not self.crossing and len(self.equal) == 1:
            return _match(plan, right, self.equal, NegationForm.NOT_IN, span)
        return _match(plan, right, [*self.crossing, *self.possible], NegationForm.NOT_EXISTS, span)

    def beside(self, width: int, more: int) -> Matching:
        """The same for tuples that have ``more`` columns behind ``width`` others."""

        def move(column: Column) -> Column:
            return replace(column, index=column.index + more) if column.index >= width else column

        conditions = self.crossing, self.equal, self.possible
        moved = (tuple(replace_columns(c, move) for c in cs) for cs in conditions)
        return Matching(self.asked, self.right, *moved)

    def outer_columns(self, width: int) -> set[int]:
        """The places of the outer columns that it reads, of which there are ``width``."""
        conditions = [*self.crossing, *self.equal]
        return {c.index for e in conditions for c in columns_of(e) if c.index < width}


def bind_matching(scope: Scope, asked: AskedQuery, context: Context) -> Matching:
    """What is asked of a sub-query about the tuples of the scope."""
    query = _contents(lower(asked.query, context.source))
    if isinstance(query, Select):
        query = unnest_items(query, context)
    if asked.value is not None:
        return _bind_in(scope, asked, asked.value, query, context)
    if not isinstance(query, Select) or query.group_by or query.having or query.limit:
        right, crossing = _bind_alone(asked, query, scope, context), list[Expression]()
    else:
        try:
            matched = correlated_tables(scope, query, context, asked.words, asked.span)
        except BindError:
            refuse_outer_columns_in_from(asked, scope, context)
            raise
        right, crossing = matched.plan, matched.crossing
    return Matching(asked, bound_by(right, asked.within, context), tuple(crossing))


def _bind_in(
    scope: Scope, asked: AskedQuery, node: exp.Expr, query: Query, context: Context
) -> Matching:
    """IN is true if a row is equal, NOT IN if none is equal or NULL, or compared with NULL."""
    binder = ExpressionBinder(scope, context.source, asked.words)
    nodes = node.expressions if isinstance(node, exp.Tuple) else [node]
    values = [binder.bind(each) for each in nodes]
    width = len(scope.schema)
    crossing: list[Expression] = []
    if isinstance(query, Select) and _names_values(query, len(values)):
        matched = correlated_tables(scope, query, context, asked.words, asked.span)
        crossing = matched.crossing
        items = ExpressionBinder(matched.scope, context.source, "the select list")
        bound = (items.bind(item.expression) for item in query.items)
        asked_for = (Named(f"value{i + 1}", value) for i, value in enumerate(bound))
        row = columns_of_row(matched.plan.schema)
        right = project(matched.plan, (*row, *asked_for), asked.span)
    if not crossing:
        right = _bind_alone(asked, query, scope, context)
        if len(right.schema) != len(values):
            columns = "one column" if len(values) == 1 else f"{len(values)} columns"
            raise BindError(
                span=asked.span, expected=f"{columns} in the sub-query of {asked.words}",
                found=f"{len(right.schema)}",
            )  # fmt: skip
    right = bound_by(right, asked.within, context)
    first = len(right.schema) - len(values)
    kinds = [f.type for f in right.schema]
    for place, value in enumerate(values, first):
        if is_null_column(right, place):
            kinds[place] = value.type
    right = cast_to(right, kinds)
    tests: list[Expression] = []
    possible: list[Expression] = []
    for place, (value, each) in enumerate(zip(values, nodes, strict=True), first):
        other = shift_columns(Scope(right.schema).column(place), width)
        tests.append(binder.call("eq", [value, other], [each, asked.query], asked.span))
        unknown = [Call("is_null", (side,), Type.BOOLEAN) for side in (value, other)]
        possible.append(connect("or", (tests[-1], *unknown)))
    return Matching(asked, right, tuple(crossing), tuple(tests), tuple(possible))


def _bind_alone(asked: AskedQuery, query: Query, scope: Scope, context: Context) -> Node:
    """The plan of a sub-query that sees nothing of the query around it."""
    try:
        return context.bind_query(query, context)
    except BindError:
        refuse_outer_columns(asked, query, scope, context)
        raise


def _names_values(query: Select, count: int) -> bool:
    """Whether the block has so many items, computed from each of its tuples alone."""
    if query.group_by or query.having or query.limit or query.ranking:
        return False
    nodes = [item.expression for item in query.items]
    if len(nodes) != count or any(node.is_star or node.find(exp.Window) for node in nodes):
        return False
    calls = (call for node in nodes for call in node.find_all(exp.Anonymous))
    return not any(call.name.lower() in AGGREGATES for call in calls)


def _contents(query: Query) -> Query:
    """The query itself in place of its RSTREAM.

    The whole answer, streamed at every instant, is the answer at every instant: Golab 2006 (3.5.1)
    writes ``NOT EXISTS (SELECT Rstream(*) ...)`` and negates the view that the sub-query keeps.
    """
    if isinstance(query, StreamOf) and query.kind == "RSTREAM" and query.window is None:
        return query.query
    return query


@dataclass(frozen=True)
class CorrelatedTables:
    """What FROM and WHERE of a sub-query give, and the conditions that name outer columns too.

    Those are over an outer tuple and one of ``plan`` side by side; ``scope`` is of ``plan`` alone.
    """

    plan: Node
    scope: Scope
    crossing: list[Expression]


def correlated_tables(
    scope: Scope, query: Select, context: Context, construct: str, span: Span
) -> CorrelatedTables:
    """The sub-query may name columns of the outer query in its conditions."""
    tables = bind_tables(query, context)
    refuse_internal(tables, construct, span)
    joined = bind_joins(query.tables, tables, context)
    width = len(scope.schema)
    binder = ExpressionBinder(joined.scope.within(scope), context.source, "WHERE")
    where = operands_of(query.where, exp.And) if query.where is not None else []
    parts = [*joined.parts, *where]
    conditions = [shift_columns(c, width) for c in joined.equalities]
    conditions += [binder.condition(part) for part in parts if not has_query(part)]
    crossing: list[Expression] = []
    own: list[Expression] = []
    for condition in conditions:
        local = not side_of(condition, width).left
        (own if local else crossing).append(condition)
    plan, rest = join_tables(joined.tables, [shift_columns(c, -width) for c in own])
    predicate = conjunction(rest)
    if predicate is not None:
        plan = Selection(plan, predicate, span=span)
    # Of this sub-query's columns, not the outer one's.
    asking = [part for part in parts if has_query(part)]
    try:
        plan = select_where_all(plan, joined.scope, asking, context)
    except BindError:
        refuse_columns_further_out(asking, joined.scope, scope, context, span)
        raise
    return CorrelatedTables(plan, joined.scope, crossing)


def _match(
    left: Node, right: Node, conditions: Sequence[Expression], form: NegationForm | None, span: Span
) -> Node:
    """The left tuples that a negation of this form leaves; with no form, those with a match."""
    width = len(left.schema)
    if form is None:
        outer = tuple(c for c in conditions if not side_of(c, width).right)
        if (predicate := conjunction(outer)) is not None:
            left = Selection(left, predicate, span=span)
        conditions = [c for c in conditions if c not in outer]
    join = join_of(left, right, conditions)
    keys = join.left_keys, join.right_keys
    if form is not None:
        return Negation(left, right, *keys, form, join.residual, span=span)
    if join.residual is not None:
        flagged = MatchFlag(left, right, *keys, join.residual, MATCHED, span=span)
        chosen = Selection(flagged, Column(width, MATCHED, Type.BOOLEAN), span=span)
        return project(chosen, columns_of_row(left.schema), span)
    named = tuple(
        Named(key.name, key, right.schema[key.index].qualifier)
        if isinstance(key, Column)
        else Named(f"key{place + 1}", key)
        for place, key in enumerate(join.right_keys)
    )
    if not named:  # whatever is there
        named = (Named("any", Literal(True, Type.BOOLEAN)),)
    different = DuplicateElimination(project(right, named, span), span=span)
    right_keys = tuple(Scope(different.schema).column(i) for i in range(len(join.right_keys)))
    semi = Join(left, different, join.left_keys, right_keys, span=span)
    return project(semi, columns_of_row(semi.schema)[:width], span)


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
    # Imported here: the conditions of a sub-query may have sub-queries themselves.
    from windrow.plan.binder.query_flags import select_by_flags  # noqa: PLC0415
    from windrow.plan.binder.scalar_queries import (  # noqa: PLC0415
        asks_values_only,
        select_by_values,
    )

    if asks_values_only(node):
        return select_by_values(plan, scope, node, context)
    asked = asked_query(node, context.source)
    if asked is not None:
        matching = bind_matching(scope, asked, context)
        return matching.select_from(plan, negated=asked.negated)
    match node:
        case exp.And():
            for part in _plain_first(operands_of(node, exp.And)):
                plan = select_where_true(plan, scope, part, context)
            return plan
        case exp.Or() if plan.pattern is UpdatePattern.MONOTONIC:
            parts = _plain_first(operands_of(node, exp.Or))
            if not has_query(parts[-2]):
                return _select_where_one_true(plan, scope, parts, context)
        case exp.Not() if (inner := _without_not(node)) is not None:
            return select_where_true(plan, scope, inner, context)
    return select_by_flags(plan, scope, node, context)


def _select_where_one_true(
    plan: Node, scope: Scope, parts: list[exp.Expr], context: Context
) -> Node:
    """The tuples for which one of the parts, of which the last has a sub-query, is true."""
    *plain, last = parts
    span = span_of(parts[0], context.source)
    test = connect("or", tuple(_condition(scope, part, context) for part in plain))
    true = Call("coalesce", (test, Literal(False, Type.BOOLEAN)), Type.BOOLEAN)
    others = Selection(plan, Call("not", (true,), Type.BOOLEAN), span=span)
    found = select_where_true(others, scope, last, context)
    return Union((Selection(plan, test, span=span), found), span=span)


def _without_not(node: exp.Not) -> exp.Expr | None:
    """The condition under a NOT with the NOT at its leaves; None if it is no AND, OR or NOT."""
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
    return None


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
