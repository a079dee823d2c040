"""Scalar sub-queries: a query in parentheses that stands for a value, in WHERE and in the list.

Its value is a column that the plan gets by a join: the left outer join with the sub-query, of which
the plan must show that it has at most one row, so that no tuple meets two. An aggregate that is
compared with outer columns by ``=`` becomes one row for each value of these columns. Where the
sub-query has no row the value is NULL, and a COUNT 0, as in SQL. A relation has one row by its
PRIMARY KEY, which is checked while the query runs (``windrow.plan.binder.keyed_rows``). A condition
that a NULL cannot make true needs no outer join: the tuples without a value would not stay.

Cost: that of the join, and for each tuple of the sub-query's change all tuples that meet it: a
value that all tuples are compared with reaches them all when it changes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from sqlglot import expressions as exp

from windrow.core.errors import BindError, Span
from windrow.core.schema import Field, Schema, Type
from windrow.cql.lower import lower
from windrow.cql.positions import span_of
from windrow.cql.syntax_tree import Select
from windrow.plan.binder.aggregates import Aggregates, Grouping
from windrow.plan.binder.asked_query import QUERIES
from windrow.plan.binder.join_clauses import outer_join
from windrow.plan.binder.keyed_rows import row_by_key
from windrow.plan.binder.not_exists import CorrelatedTables, correlated_tables
from windrow.plan.binder.outer_columns import refuse_outer_columns_of_value
from windrow.plan.binder.scalars import ExpressionBinder
from windrow.plan.binder.scope import Context, Scope
from windrow.plan.expressions import (
    Call,
    Column,
    Expression,
    Literal,
    Named,
    columns_of,
    replace_columns,
)
from windrow.plan.functions import AGGREGATES, TRIGONOMETRY
from windrow.plan.nodes import (
    DuplicateElimination,
    Every,
    GroupBy,
    Join,
    MatchFlag,
    Negation,
    Node,
    Projection,
    Selection,
    TopK,
    Window,
)
from windrow.plan.nodes.joins import as_key, join_of
from windrow.plan.nodes.relational import ROW_NUMBER, columns_of_row, project
from windrow.plan.nodes.window_specs import RowsWindow

NULL_OF_NULL = frozenset({
    "add", "subtract", "multiply", "divide", "modulo", "negate", "eq", "ne", "lt", "le", "gt", "ge",
    "not", "like", "ilike", "cast", "abs", "round", "floor", "ceil", "sqrt", "ln", "log10", "exp",
    "power", "sign", "single_row", "atan2", *TRIGONOMETRY,
})  # fmt: skip
"""Functions that are NULL if one of their arguments is."""
Grouped: TypeAlias = Collection[int] | None
"""The outer columns that an expression beside aggregates may name; None if it may name any."""


@dataclass(frozen=True)
class _Value:
    """A sub-query's row, the conditions under which a tuple meets it, and the value in it.

    Conditions and value are over a tuple of the outer plan and the row side by side.
    """

    right: Node
    conditions: tuple[Expression, ...]
    value: Expression
    span: Span


def asks_values_only(node: exp.Expr) -> bool:
    """Whether all sub-queries in an expression are scalar ones."""
    found = [n for n in outermost(node) if isinstance(n, (*QUERIES, exp.In))]
    return bool(found) and all(isinstance(n, exp.Subquery) for n in found)


def outermost(node: exp.Expr) -> Iterator[exp.Expr]:
    """The parts of an expression but for those of its sub-queries; IN with values is no query."""
    values = isinstance(node, exp.In) and node.args.get("query") is None
    if not values:
        yield node
    if values or not isinstance(node, (*QUERIES, exp.In)):
        for part in node.iter_expressions():
            yield from outermost(part)


def select_by_values(plan: Node, scope: Scope, node: exp.Expr, context: Context) -> Node:
    """The tuples for which a condition with scalar sub-queries is true."""
    width = len(plan.schema)
    values, (changed,) = _bind_values(scope, [node], context, [None])
    wide = _extended(scope, values)
    condition = ExpressionBinder(wide, context.source, "WHERE").condition(changed)
    for place, value in enumerate(values):
        needed = _never_true(condition, width + place) and _is_null_without_row(value, width)
        plan = _join(plan, value, width, place, outer=not needed)
    span = span_of(node, context.source)
    return project(Selection(plan, condition, span=span), columns_of_row(plan.schema)[:width], span)


def add_values(
    plan: Node,
    scope: Scope,
    nodes: Sequence[exp.Expr],
    context: Context,
    grouped: Sequence[Grouped],
) -> tuple[Node, Scope, list[exp.Expr]]:
    """The plan with a column for each scalar sub-query, and the expressions that read these.

    ``grouped`` says of each expression which outer columns it may name.
    """
    width = len(plan.schema)
    values, changed = _bind_values(scope, nodes, context, grouped)
    for place, value in enumerate(values):
        plan = _join(plan, value, width, place, outer=True)
    return plan, _extended(scope, values), changed


def is_in_aggregate(node: exp.Expr) -> bool:
    """Whether it is part of what an aggregate takes, or of its FILTER."""
    above = node.parent
    while above is not None:
        called = isinstance(above, exp.Anonymous) and above.name.lower() in AGGREGATES
        if called or isinstance(above, exp.Filter):
            return True
        above = above.parent
    return False


def refuse_ungrouped(read: Collection[int], grouped: Grouped, span: Span) -> None:
    """BindError if a sub-query beside aggregates reads columns that a group has many values of."""
    if grouped is not None and not set(read) <= set(grouped):
        raise BindError(
            "beside aggregates a sub-query must not name outer columns that are not grouped",
            span=span,
            remedy="add them to GROUP BY, or group in a sub-query in FROM, and write this one "
            "around it",
        )  # fmt: skip


def _bind_values(
    scope: Scope, nodes: Sequence[exp.Expr], context: Context, grouped: Sequence[Grouped]
) -> tuple[list[_Value], list[exp.Expr]]:
    """The sub-queries of the expressions, and the expressions with columns in their places."""
    values: list[_Value] = []
    changed = []
    width = len(scope.schema)
    for node, columns in zip(nodes, grouped, strict=True):
        root = exp.Paren(this=node.copy())
        root.meta.update(node.meta)
        _refuse_any_and_all(root, context)
        for query in [n for n in outermost(root) if isinstance(n, exp.Subquery)]:
            name = value_name(scope.values + len(values))
            column = exp.Column(this=exp.to_identifier(name, quoted=True))
            value = _bind_value(scope, query, context)
            if not is_in_aggregate(query):
                read = {c.index for e in value.conditions for c in columns_of(e) if c.index < width}
                refuse_ungrouped(read, columns, value.span)
            values.append(value)
            column.meta.update(query.meta)
            query.replace(column)
        changed.append(root.this)
    return values, changed


def _refuse_any_and_all(root: exp.Expr, context: Context) -> None:
    """``= ANY`` and ``<> ALL`` are IN and NOT IN; others ask for the least or greatest value."""
    for part in outermost(root):
        if isinstance(part, exp.Any | exp.All) and part.find(*QUERIES) is not None:
            raise BindError(
                f"{type(part).__name__.upper()} takes a sub-query behind = ANY and <> ALL only",
                span=span_of(part, context.source),
                remedy="compare with (SELECT MAX(x) FROM ...) or (SELECT MIN(x) FROM ...)",
            )  # fmt: skip


def value_name(place: int) -> str:
    """What the column is called that stands for a sub-query, the first being 0."""
    return f"(sub-query {place + 1})"


def _extended(scope: Scope, values: Sequence[_Value]) -> Scope:
    names = map(value_name, range(scope.values, scope.values + len(values)))
    fields = tuple(Field(n, value.value.type) for n, value in zip(names, values, strict=True))
    return replace(scope, schema=scope.schema + Schema(fields), values=scope.values + len(values))


def _bind_value(scope: Scope, node: exp.Subquery, context: Context) -> _Value:
    span, query = span_of(node, context.source), lower(node, context.source)
    if isinstance(query, Select) and query.tables and not (query.group_by or query.limit):
        inner = node.find_all(exp.Subquery)
        blind: list[exp.Expr] = [n for n in inner if isinstance(n.parent, exp.From | exp.Join)]
        blind += [item.expression for item in query.items]
        try:
            matched = correlated_tables(scope, query, context, "a scalar sub-query", span)
            if matched.crossing:
                return _correlated_value(scope, query, matched, context, span)
        except BindError:
            refuse_outer_columns_of_value(blind, query, scope, context, span)
            raise
        keyed = _keyed_value(scope, query, matched, (), (), context, span)
        if keyed is not None:
            return keyed
    try:
        plan = context.bind_query(query, context)
    except BindError:
        refuse_outer_columns_of_value([node], query, scope, context, span)
        raise
    if len(plan.schema) != 1:
        raise BindError(
            span=span, expected="one column in a scalar sub-query", found=f"{len(plan.schema)}"
        )
    if not at_most_one_row(plan):
        raise BindError(
            "a sub-query that stands for a value must have at most one row", span=span,
            expected="an aggregate without GROUP BY, LIMIT 1, [ROWS 1], or a PRIMARY KEY compared",
            found="a query that may have more",
            remedy="aggregate it, or write EXISTS, IN or a join",
        )  # fmt: skip
    value: Expression = Column(0, plan.schema[0].name, plan.schema[0].type)
    if isinstance(plan, Projection) and isinstance(plan.input, GroupBy):
        value, plan = plan.columns[0].expression, plan.input
    value = _of_nothing(value, plan) if isinstance(plan, GroupBy) else value
    width = len(scope.schema)
    return _Value(plan, (), _shift(value, width), span)


def _correlated_value(
    scope: Scope, query: Select, matched: CorrelatedTables, context: Context, span: Span
) -> _Value:
    """An aggregate for each value of what the sub-query compares with outer columns."""
    width = len(scope.schema)
    keys: list[Named] = []
    conditions: list[Expression] = []
    for condition in matched.crossing:
        key = as_key(condition, width)
        if key is None:
            raise BindError(
                "a scalar sub-query is compared with outer columns by = only", span=span,
                remedy="write a join and GROUP BY",
            )  # fmt: skip
        own = Column(width + len(keys), f"key{len(keys) + 1}", key[1].type)
        keys.append(Named(own.name, key[1]))
        conditions.append(Call("eq", (key[0], own), Type.BOOLEAN))
    aggregates = Aggregates()
    if len(query.items) != 1 or query.having is not None or query.distinct:
        raise BindError(
            span=span, expected="one aggregate in a sub-query that names outer columns",
            found="more items, HAVING or DISTINCT", remedy="write a join and GROUP BY",
        )  # fmt: skip
    items = ExpressionBinder(matched.scope, context.source, "the select list", aggregates)
    item = items.bind(query.items[0].expression)
    if not aggregates.found:
        keyed = _keyed_value(scope, query, matched, keys, conditions, context, span)
        if keyed is not None:
            return keyed
        raise BindError(
            "a sub-query that stands for a value must have at most one row", span=span,
            expected="an aggregate, or the whole PRIMARY KEY of a relation compared by =",
            found="neither",
            remedy="aggregate it, as in MIN(x), or write EXISTS, IN or a join",
        )  # fmt: skip
    grouping = Grouping(tuple(keys), tuple(aggregates.found))
    groups = GroupBy(matched.plan, grouping.keys, grouping.aggregates, span=span)
    value = _of_nothing(grouping.over_groups(item, items.seen), groups)
    return _Value(groups, tuple(conditions), _shift(value, width), span)


def _keyed_value(
    scope: Scope, query: Select, matched: CorrelatedTables, keys: Sequence[Named],
    conditions: Sequence[Expression], context: Context, span: Span,
) -> _Value | None:  # fmt: skip
    """A column of the row of a relation by its PRIMARY KEY; None if it is not such a query."""
    plain = len(query.items) == 1 and not query.items[0].expression.is_star
    if not plain or query.having is not None or query.distinct:
        return None
    aggregates = Aggregates()
    items = ExpressionBinder(matched.scope, context.source, "the select list", aggregates)
    item = items.bind(query.items[0].expression)
    found = None if aggregates.found else row_by_key(matched.plan, keys, item, context, span)
    if found is None:
        return None
    groups, value = found
    return _Value(groups, tuple(conditions), _shift(value, len(scope.schema)), span)


def _of_nothing(value: Expression, groups: GroupBy) -> Expression:
    """The value over the groups' row, with counts that are 0 where there is none."""

    def or_zero(column: Column) -> Expression:
        aggregate = groups.aggregates[column.index - len(groups.keys)]
        if column.index < len(groups.keys) or aggregate.function != "COUNT":
            return column
        return Call("coalesce", (column, Literal(0, column.type)), column.type)

    return replace_columns(value, or_zero)


def _shift(value: Expression, width: int) -> Expression:
    return replace_columns(value, lambda c: replace(c, index=c.index + width))


def _join(plan: Node, value: _Value, width: int, before: int, *, outer: bool) -> Node:
    """``plan``, which has ``before`` values behind its ``width`` columns, with one more."""

    def move(expression: Expression) -> Expression:
        return replace_columns(
            expression,
            lambda c: replace(c, index=c.index + before) if c.index >= width else c,
        )

    conditions = [move(c) for c in value.conditions]
    if outer:
        joined = outer_join("LEFT", plan, value.right, conditions, value.span)
    else:
        joined = join_of(plan, value.right, conditions, value.span)
    kept = columns_of_row(plan.schema)
    return Projection(
        joined, (*kept, Named(value_name(before), move(value.value))), span=value.span
    )


def at_most_one_row(plan: Node) -> bool:
    """Whether the plan shows that there is never more than one row at an instant."""
    match plan:
        case GroupBy():
            return not plan.keys and not plan.lists
        case TopK():
            alone = not plan.groups and plan.function == ROW_NUMBER
            return (alone and plan.count == 1) or at_most_one_row(plan.input)
        case Window(spec=RowsWindow(count=1, partition_by=())):
            return True
        case Selection() | Projection() | DuplicateElimination() | Every():
            return at_most_one_row(plan.input)
        case Join():
            return all(map(at_most_one_row, plan.inputs))
        case Negation() | MatchFlag():
            return at_most_one_row(plan.left)
    return False


def _never_true(condition: Expression, index: int) -> bool:
    """Whether a NULL in the column keeps the condition from being true."""
    if isinstance(condition, Call) and condition.function in ("and", "or"):
        parts = [_never_true(part, index) for part in condition.args]
        return any(parts) if condition.function == "and" else all(parts)
    return _null_of_null(condition, index)


def _null_of_null(expression: Expression, index: int) -> bool:
    if isinstance(expression, Column):
        return expression.index == index
    if not isinstance(expression, Call) or expression.function not in NULL_OF_NULL:
        return False
    return any(_null_of_null(argument, index) for argument in expression.args)


def _is_null_without_row(value: _Value, width: int) -> bool:
    """Whether the value is NULL where the sub-query has no row: some column of it decides that."""
    last = width + len(value.right.schema)
    return any(_null_of_null(value.value, index) for index in range(width, last))
