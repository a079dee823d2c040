"""One SELECT block: FROM, WHERE, GROUP BY, HAVING, the select list, DISTINCT, ORDER BY, TOP.

The plan is built in that order, from the leaves up. INTERNAL windows close it with AppendOnly or,
if there are others, make its join a LastingJoin: a combination of tuples is a result once all of
them are live together, and from then on it lasts as long as its external tuples do (Golab 2006,
3.3.2). What stands above that join, aggregates and TOP too, is asked of its answer: a result of the
join counts until the join withdraws it (Definition 3.1).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sqlglot import expressions as exp

from windrow.core.errors import BindError
from windrow.cql.syntax_tree import Limit, Ranking, Select
from windrow.plan.binder.aggregates import Grouping
from windrow.plan.binder.asked_query import has_query
from windrow.plan.binder.clause_queries import add_sub_queries, expressions_of, name_groups
from windrow.plan.binder.clauses import Clauses, Order, bind_clauses
from windrow.plan.binder.from_clause import (
    BoundTable,
    append_only,
    bind_tables,
    join_tables,
    left_deep,
    mixes_internal_windows,
    refuse_internal,
)
from windrow.plan.binder.join_clauses import JoinedTables, bind_joins, use_buckets
from windrow.plan.binder.lag_calls import add_look_backs
from windrow.plan.binder.not_exists import select_where_all
from windrow.plan.binder.ordered_aggregates import time_column
from windrow.plan.binder.restrictions import check_sub_windows, lists_of
from windrow.plan.binder.scalars import ExpressionBinder, operands_of
from windrow.plan.binder.scope import Context, clock_of
from windrow.plan.binder.unnesting import array_of, unnest_items
from windrow.plan.binder.window_bounds import find_bounds, group_with_bounds
from windrow.plan.catalog import StreamDeclaration
from windrow.plan.expressions import (
    Column,
    Expression,
    Named,
    columns_of,
    conjunction,
    replace_columns,
    shift_columns,
)
from windrow.plan.nodes import (
    DuplicateElimination,
    GroupBy,
    Node,
    OrderKey,
    RelationScan,
    Selection,
    Stamped,
    StreamScan,
    TopK,
    Window,
    is_nrr,
    walk,
)
from windrow.plan.nodes.joins import lasting_join_of
from windrow.plan.nodes.relational import columns_of_row, project


def bind_select(select: Select, context: Context) -> Node:
    """The plan of one block."""
    select = unnest_items(name_groups(select), context)
    tables = bind_tables(select, context)
    joined = bind_joins(select.tables, tables, context)
    joined = replace(joined, scope=replace(joined.scope, aliases=tuple(_aliases(select))))
    scope = replace(joined.scope, times=_times(tables, context))
    select, bounds = find_bounds(select, tables, context)
    plan = _filter_tables(select, tables, joined, context)
    if select.option is not None:
        plan = use_buckets(plan, [t.plan for t in tables], select.option)
    if any(map(has_query, expressions_of(select))):
        refuse_internal(tables, "a sub-query that stands for a value", select.span)
        if bounds is not None:
            raise BindError(
                "a sub-query can change an answer while its window rests", span=select.span,
                expected="no sub-query beside window_start() and window_end()", found="one",
                remedy="select the bounds in a sub-query in FROM",
            )  # fmt: skip
        plan, scope, select = add_sub_queries(plan, scope, select, context)
    plan, scope, select = add_look_backs(plan, scope, select, context)
    if bounds is not None:
        scope = replace(scope, schema=scope.schema + bounds.columns)
    clauses = bind_clauses(select, scope, context)
    if clauses.grouping is not None and bounds is not None:
        plan, inner, restore = group_with_bounds(plan, clauses.grouping, bounds, select)
        plan = restore(_group(plan, inner, clauses.having, select))
    elif bounds is not None:
        plan = bounds.add_to(plan, select.span)
    elif clauses.grouping is not None:
        plan = _group(plan, clauses.grouping, clauses.having, select)
    elif select.limit is not None and select.limit.frequent:
        lists_of(select, select.limit, 0, (), None, select.span)  # refuses
    if clauses.having is not None:
        plan = Selection(plan, clauses.having, span=select.span)
    limited = bool(select.order_by) or (select.limit is not None and not select.limit.frequent)
    if select.ranking is not None:
        plan = _first_of_groups(plan, clauses, select, select.ranking)
    elif select.distinct:
        refuse_internal(tables, "DISTINCT", select.span)
        plan = DuplicateElimination(project(plan, clauses.items, select.span), span=select.span)
        plan = _top_of_distinct(plan, clauses, select) if limited else plan
    elif limited:
        plan = _top(plan, clauses, select)
    else:
        plan = project(plan, clauses.items, select.span)
    return append_only(plan, tables, select.span)


def _group(plan: Node, grouping: Grouping, having: Expression | None, select: Select) -> Node:
    """The groups; sub-windows are needed where tuples are not to be kept."""
    keys, aggregates, lists = grouping.keys, grouping.aggregates, None
    if select.limit is not None and select.limit.frequent:
        lists = lists_of(select, select.limit, len(keys), aggregates, having, select.span)
        check_sub_windows("FREQUENT", plan, select.limit.span)
    for aggregate in aggregates:
        if not aggregate.exact and aggregate.span is not None and lists is None:
            check_sub_windows("APPROXIMATE", plan, aggregate.span)
    return GroupBy(plan, keys, aggregates, lists=lists, span=select.span)


def _aliases(select: Select) -> Iterator[str]:
    """Names that the select list gives to something else than a column of that name."""
    for item in select.items:
        columns = {column.name.lower() for column in item.expression.find_all(exp.Column)}
        if item.alias is not None and item.alias.text.lower() not in columns:
            yield item.alias.text


def _times(tables: tuple[BoundTable, ...], context: Context) -> tuple[Column, ...]:
    """The time columns of the streams in FROM; none if one of them does not show its own."""
    scans = {n.name for t in tables for n in walk(t.plan) if isinstance(n, StreamScan)}
    streams = (d for d in map(context.catalog.find, scans) if isinstance(d, StreamDeclaration))
    timestamps = {stream.name.lower(): stream.timestamp for stream in streams}
    found: list[Column] = []
    start = 0
    for table in tables:
        plan, schema = table.plan, table.plan.schema
        place = time_column(plan, timestamps)
        if place is not None:
            found.append(Column(start + place, schema[place].name, schema[place].type))
        elif not isinstance(plan, RelationScan):
            return ()
        start += len(schema)
    return tuple(found)


def _filter_tables(
    select: Select, tables: tuple[BoundTable, ...], joined: JoinedTables, context: Context
) -> Node:
    """The joined tables for which WHERE and every ON are true."""
    binder = ExpressionBinder(joined.scope, context.source, "WHERE")
    asking, conditions = [], list(joined.equalities)
    where = operands_of(select.where, exp.And) if select.where is not None else []
    for part in (*joined.parts, *where):
        if has_query(part):
            asking.append(part)
        else:
            conditions.append(binder.condition(part))
    mixed = mixes_internal_windows(tables)
    for table in tables if mixed else ():
        if array_of(table.plan) is not None:
            raise BindError(
                "UNNEST stands beside INTERNAL windows and others", span=table.span,
                remedy="unnest the stream in a view, and put the window behind the view",
            )  # fmt: skip
    join = _join_mixed if mixed else join_tables
    plan, rest = join(joined.tables, conditions)
    predicate = conjunction(rest)
    if predicate is not None:
        span = binder.span(select.where) if select.where is not None else select.span
        plan = Selection(plan, predicate, span=span)
    for part in asking:
        refuse_internal(tables, "a sub-query in WHERE", binder.span(part))
    return select_where_all(plan, joined.scope, asking, context)


def _first_of_groups(plan: Node, clauses: Clauses, select: Select, ranking: Ranking) -> Node:
    """The first tuples of each group, and perhaps their numbers in the place of ROW_NUMBER()."""
    if ranking.count is None:
        raise BindError(
            f"{ranking.function}() of all tuples would change with each that comes or leaves",
            span=ranking.span, expected="a number that it does not exceed", found="none",
            remedy=f"write QUALIFY {ranking.function}() OVER (...) <= 3, or bound its name by "
            "WHERE of a query around this one",
        )  # fmt: skip
    if ranking.count < 1:
        raise BindError(span=ranking.span, expected="at least one row", found=f"{ranking.count}")
    if select.distinct or select.limit is not None or select.order_by:
        raise BindError(
            span=ranking.span, found="one of them",
            expected=f"no DISTINCT, ORDER BY or LIMIT beside {ranking.function}()",
            remedy="put the SELECT into another one's FROM",
        )  # fmt: skip
    carried = list(clauses.items)
    keys = tuple(OrderKey(_carry(e, carried), descending) for e, descending in clauses.ranking)
    groups = tuple(_carry(e, carried) for e in clauses.ranked_in)
    listed = project(plan, tuple(carried), select.span)
    numbered = ranking.name is not None
    top = TopK(listed, keys, ranking.count, groups, numbered, ranking.function, span=ranking.span)
    row = columns_of_row(top.schema)
    shown = list(row[: len(clauses.items)])
    if ranking.name is not None:
        place, after = ranking.place, len(select.items) - ranking.place
        if any(i.expression.find(exp.Star) for i in select.items[:place]):
            place = len(shown) - after  # a star stands for many columns
        shown.insert(place, replace(row[-1], name=ranking.name.text))
    return project(top, tuple(shown), select.span)


def _carry(expression: Expression, carried: list[Named]) -> Column:
    """The column of the select list that is this expression, added if there is none."""
    place = next((i for i, c in enumerate(carried) if c.expression == expression), None)
    if place is None:
        place = len(carried)
        carried.append(Named(f"order{place + 1}", expression))
    return Column(place, carried[place].name, expression.type)


def _top(plan: Node, clauses: Clauses, select: Select) -> Node:
    """The first tuples of the select list; a key that is not in the list is carried and dropped."""
    limit = _limit(select)
    carried = list(clauses.items)
    keys = [OrderKey(_carry(e, carried), descending) for e, descending in _order(clauses, limit)]
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


def _join_mixed(
    tables: Sequence[BoundTable], conditions: Sequence[Expression]
) -> tuple[Node, tuple[Expression, ...]]:
    """The join of internal and external windows with columns as FROM has them, and the conditions
    left over; results ignore when internal tuples expire.

    Internal windows are joined with each other as if they were external, since their state is
    maintained so, and the external ones likewise; one LastingJoin brings the two together. External
    tuples say when they came, since equal ones that came at different times have met different
    partners. NRRs are looked up by what comes out of the join, since they are seen as they are when
    a result comes (Golab 2006, Definition 3.1).
    """
    order = sorted(range(len(tables)), key=lambda i: _rank(tables[i]))
    ordered = [_add_stamp(tables[i]) for i in order]
    places = _places(tables, dict(zip(order, ordered, strict=True)))
    external, internal, nrrs = ([t for t in ordered if _rank(t) == rank] for rank in range(3))

    left, rest = left_deep(
        external[0].plan, external[1:], [_move_columns(c, places) for c in conditions]
    )
    width = len(left.schema)
    own = [c for c in rest if _lowest(c) >= width]
    right, unused = left_deep(
        internal[0].plan, internal[1:], [shift_columns(c, -width) for c in own]
    )
    rest = (*(c for c in rest if c not in own), *(shift_columns(c, width) for c in unused))
    both = width + len(right.schema)
    across = [c for c in rest if _lowest(c) < width <= _highest(c) < both]
    stamps = tuple(i for i in range(width) if i not in places)
    plan: Node = lasting_join_of(left, right, across, stamps, internal[0].span)
    clock_of(plan, internal[0].span)
    plan, rest = left_deep(plan, nrrs, [c for c in rest if c not in across])

    schema = plan.schema
    columns = tuple(
        Named(schema[i].name, Column(i, schema[i].name, schema[i].type), schema[i].qualifier)
        for i in places
    )
    back = {new: old for old, new in enumerate(places)}
    return project(plan, columns, None), tuple(_move_columns(c, back) for c in rest)


def _rank(table: BoundTable) -> int:
    """External tables first, then internal ones, then NRRs."""
    return 2 if is_nrr(table.plan) else int(bool(table.internal))


def _add_stamp(table: BoundTable) -> BoundTable:
    """An external table whose tuples say when they came; others as they are."""
    plan = table.plan
    if _rank(table):
        return table
    if isinstance(plan, Window):
        return replace(table, plan=replace(plan, input=Stamped(plan.input, span=table.span)))
    return replace(table, plan=Stamped(plan, span=table.span))


def _places(tables: Sequence[BoundTable], ordered: dict[int, BoundTable]) -> list[int]:
    """Where each column of the row of FROM stands once the tables are in another order."""
    starts, width = {}, 0
    for number, table in ordered.items():
        starts[number] = width
        width += len(table.plan.schema)
    return [
        starts[number] + column
        for number, table in enumerate(tables)
        for column in range(len(table.plan.schema))
    ]


def _move_columns(condition: Expression, places: Sequence[int] | dict[int, int]) -> Expression:
    return replace_columns(condition, lambda c: replace(c, index=places[c.index]))


def _lowest(condition: Expression) -> int:
    return min((c.index for c in columns_of(condition)), default=-1)


def _highest(condition: Expression) -> int:
    return max((c.index for c in columns_of(condition)), default=-1)
