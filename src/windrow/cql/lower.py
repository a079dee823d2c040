"""SQLGlot's query nodes as our tree; whatever SQL has and CQL has not is refused here.

``SUM(WSTREAM(SUM(a))[ROWS 10])``, an aggregate over a window on a query's own results, is short for
a sub-query (Golab 2006, 3.4): the inner expressions are the select list of a
WSTREAM in FROM, and the outer ones aggregate its columns.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NoReturn

from sqlglot import expressions as exp

from windrow.core.errors import ParseError, Span
from windrow.cql.dialect import FREQUENT, OPTION
from windrow.cql.positions import span_of
from windrow.cql.query_parser import EVERY, STREAM, WITH
from windrow.cql.ranking import bound_inner_ranking, order_item, take_ranking
from windrow.cql.syntax_tree import (
    Definition,
    EveryOf,
    Item,
    Limit,
    Name,
    Query,
    Select,
    SetOperation,
    StreamOf,
    Table,
    Unnested,
    Values,
    With,
)
from windrow.cql.table_parser import BOUNDED, WINDOW

KNOWN_CLAUSES = {
    "expressions", "from_", "joins", "where", "group", "having", "distinct", "order", "limit",
    "qualify",
}  # fmt: skip
JOINS = {",": ",", "": "INNER", "INNER": "INNER", "CROSS": "CROSS", "LEFT": "LEFT",
         "LEFT OUTER": "LEFT", "RIGHT": "RIGHT", "RIGHT OUTER": "RIGHT", "FULL": "FULL",
         "FULL OUTER": "FULL"}  # fmt: skip
"""The words before JOIN, and the one kind that they mean."""
CLAUSE_NAMES = {"laterals": "LATERAL", "windows": "WINDOW",
                "offset": "OFFSET", "sample": "TABLESAMPLE", "connect": "CONNECT BY"}  # fmt: skip


def lower(node: exp.Expr, sql: str) -> Query:
    """The query that ``node``, as the dialect parsed it, stands for."""
    span = span_of(node, sql)
    query: Query
    match node:
        case exp.Select():
            query = unnest_wstreams(_select(node, sql, span), sql)
        case exp.Subquery():
            query = lower(node.this, sql)
        case exp.Values():
            query = Values(tuple(tuple(row.expressions) for row in node.expressions), span)
        case exp.Union() | exp.Except() | exp.Intersect():
            left, right = lower(node.this, sql), lower(node.expression, sql)
            distinct = bool(node.args.get("distinct"))
            query = SetOperation(type(node).__name__.upper(), left, right, span, distinct)
        case _:
            _refuse("this query", span, sql)
    if named := node.meta.get(WITH):
        definitions = tuple(Definition(n, columns, lower(q, sql)) for n, columns, q in named)
        query = With(definitions, query, span)
    if form := node.meta.get(STREAM):
        kind, window, place = form
        query = StreamOf(kind, query, window, place)
    for period in node.meta.get(EVERY, ()):
        query = EveryOf(query, period, span)
    return query


def _select(node: exp.Select, sql: str, span: Span) -> Select:
    for key, value in node.args.items():
        if value and key not in KNOWN_CLAUSES:
            place = span_of(value, sql, span) if isinstance(value, exp.Expr) else span
            _refuse(CLAUSE_NAMES.get(key, key.strip("_").upper()), place, sql)
    group, order = node.args.get("group"), node.args.get("order")
    where, having = node.args.get("where"), node.args.get("having")
    known = ("expressions", "all")
    if group and (other := [k for k, v in group.args.items() if v and k not in known]):
        _refuse(f"GROUP BY {other[0].upper()}", span_of(group, sql, span), sql)
    distinct = node.args.get("distinct")
    if distinct and distinct.args.get("on"):
        _refuse("DISTINCT ON", span_of(distinct, sql, span), sql)
    qualify = node.args.get("qualify")
    select = Select(
        items=tuple(_item(e, sql, span) for e in node.expressions),
        tables=_tables(node, sql, span),
        where=where.this if where else None,
        group_by=_groups(group),
        having=having.this if having else None,
        distinct=distinct is not None,
        order_by=tuple(order_item(e, sql, span) for e in order.expressions) if order else (),
        limit=_limit(node.args.get("limit"), sql, span),
        span=span,
        option=node.meta.get(OPTION),
    )
    ranked = take_ranking(select, qualify.this if qualify else None, sql)
    return bound_inner_ranking(ranked)


def _groups(group: exp.Group | None) -> tuple[exp.Expr, ...]:
    """What GROUP BY names; of GROUP BY ALL a node that the binder replaces by the items."""
    if group is None or not group.args.get("all"):
        return tuple(group.expressions) if group is not None else ()
    everything = exp.All()
    everything.meta.update(group.meta)
    return (everything,)


def _item(node: exp.Expr, sql: str, default: Span) -> Item:
    place = span_of(node, sql, default)
    if isinstance(node, exp.Alias):
        alias = node.args["alias"]
        return Item(node.this, Name(alias.name, span_of(alias, sql, place)), place)
    return Item(node, None, place)


def _tables(node: exp.Select, sql: str, span: Span) -> tuple[Table, ...]:
    from_ = node.args.get("from_")
    tables = [_table(from_.this, sql, span)] if from_ else []
    for join in node.args.get("joins") or ():
        place = span_of(join, sql, span)
        natural = join.method == "NATURAL"
        words = (join.side, join.kind) if natural else (join.method, join.side, join.kind)
        kind = " ".join(filter(None, words))
        if kind not in JOINS:
            _refuse(f"{kind} JOIN", place, sql)
        using = tuple(
            Name(column.name, span_of(column, sql, place))
            for column in join.args.get("using") or ()
        )
        table = _table(join.this, sql, place)
        table = replace(table, on=join.args.get("on"), join=JOINS[kind], using=using)
        tables.append(replace(table, natural=natural))
    return tuple(tables)


def _table(node: exp.Expr, sql: str, default: Span) -> Table:
    span = span_of(node, sql, default)
    alias_node = node.args.get("alias")
    alias, columns = None, list[exp.Expr]()
    if alias_node is not None:
        alias = Name(alias_node.name, span_of(alias_node, sql, span))
        columns = alias_node.args.get("columns") or columns
    names = tuple(Name(column.name, span_of(column, sql, span)) for column in columns)
    source: Name | Query | Unnested
    if isinstance(node, exp.Subquery):
        source = lower(node.this, sql)
    elif isinstance(node, exp.Unnest):
        source = Unnested(node.expressions[0], bool(node.args.get("offset")), span)
    elif isinstance(node, exp.Table):
        source = Name(node.name, span_of(node.this, sql, span))
    else:
        _refuse("this table", span, sql)
    window, time = node.meta.get(WINDOW), node.meta.get(BOUNDED)
    return Table(source, window, alias, None, span, time, columns=names)


def _limit(node: exp.Expr | None, sql: str, default: Span) -> Limit | None:
    if node is None:
        return None
    span = span_of(node, sql, default)
    frequent = bool(node.meta.get(FREQUENT))
    word = "FREQUENT" if frequent else "TOP" if node.meta.get("top") else "LIMIT"
    count = node.args.get("expression")
    if node.args.get("limit_options") or node.args.get("expressions"):
        _refuse(f"{word} with PERCENT, WITH TIES or BY", span, sql)
    plain = isinstance(node, exp.Limit) and not node.args.get("offset")
    if not plain or not isinstance(count, exp.Literal) or not count.name.isdigit():
        raise ParseError(
            span=span, source=sql, expected=f"a whole number after {word}",
            found="something else", remedy=f"write for example {word} 10",
        )  # fmt: skip
    return Limit(int(count.name), span, frequent)


def _refuse(construct: str, span: Span, sql: str) -> NoReturn:
    remedies = {
        "GROUP BY ROLLUP": "write a SELECT for each set of columns, with UNION ALL between them",
        **dict.fromkeys(("SEMI JOIN", "LEFT SEMI JOIN"), "write WHERE EXISTS (SELECT * FROM ...)"),
        **dict.fromkeys(("ANTI JOIN", "LEFT ANTI JOIN"), "write WHERE NOT EXISTS (SELECT ...)"),
        "ASOF JOIN": "write ISTREAM(SELECT ... FROM t [NOW] JOIN q [PARTITION BY k ROWS 1] ON "
        "...): each tuple of t with the latest of its key, as it was then",
        "DISTINCT ON": "write QUALIFY ROW_NUMBER() OVER (PARTITION BY k ORDER BY x) <= 1",
        "OFFSET": "an answer has its first rows only: LIMIT n",
        "WINDOW": "bound the input with a window in FROM: s [RANGE 5 MINUTES]",
    }
    raise ParseError(
        f"{construct} is not part of CQL", span=span, source=sql, remedy=remedies.get(construct, "")
    )


WSTREAM = "WSTREAM"


def unnest_wstreams(select: Select, sql: str) -> Select:
    """The block with every WSTREAM inside an expression moved into a sub-query."""
    found = [node for item in select.items for node in _wstreams(item.expression)]
    if not found:
        return select
    span = span_of(found[0], sql, select.span)
    if select.group_by or select.having or select.distinct or select.order_by or select.limit:
        raise ParseError(
            "WSTREAM inside an expression takes the whole SELECT for its sub-query", span=span,
            source=sql, expected="no GROUP BY, HAVING, DISTINCT, ORDER BY or LIMIT beside it",
            found="one of them",
            remedy="write the sub-query in FROM, with INTERNAL windows and a window after it",
        )  # fmt: skip
    windows = [node.meta.get(WINDOW) for node in found]
    if None in windows or any(w != windows[0] for w in windows):
        raise ParseError(
            span=span, source=sql, expected="the same window after each WSTREAM(...)",
            found="none" if None in windows else "different ones",
            remedy="write for example WSTREAM(...)[ROWS 10]",
        )  # fmt: skip
    inner: list[Item] = []
    for node in found:
        if len(node.expressions) != 1:
            raise ParseError(
                span=span_of(node, sql, span), source=sql, expected="one expression in WSTREAM",
                found=str(len(node.expressions)),
            )  # fmt: skip
        place = span_of(node.expressions[0], sql, span)
        inner.append(Item(node.expressions[0], Name(f"result{len(inner) + 1}", place), place))
    stream = StreamOf(WSTREAM, replace(select, items=tuple(inner)), windows[0], span)
    outer, number = [], 0
    for item in select.items:
        expression = item.expression.copy()
        for node in _wstreams(expression):
            number += 1
            column = exp.Column(this=exp.to_identifier(f"result{number}"))
            column.meta.update(node.meta)
            node.replace(column)
        outer.append(replace(item, expression=expression))
    return replace(
        select, items=tuple(outer), tables=(Table(stream, None, None, None, span),), where=None
    )


def _wstreams(expression: exp.Expr) -> list[exp.Anonymous]:
    return [n for n in expression.find_all(exp.Anonymous) if n.name.upper() == WSTREAM]
