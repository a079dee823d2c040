"""Which columns of the query around it a sub-query cannot read, said where binding it failed.

A sub-query is joined with the query around it by the conditions of its own WHERE. What stands
behind GROUP BY, LIMIT, a set operation or another FROM is computed once, for all outer tuples.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import expressions as exp

from windrow.core.errors import BindError, Span
from windrow.cql.positions import span_of
from windrow.cql.syntax_tree import Query, Select
from windrow.plan.binder.asked_query import AskedQuery
from windrow.plan.binder.scope import Context, Scope


def refuse_outer_columns(asked: AskedQuery, query: Query, scope: Scope, context: Context) -> None:
    """BindError if the sub-query, which does not see them, names a table of the query around it."""
    clause, remedy = "UNION, EXCEPT or INTERSECT", f"write {asked.words} for each part of it"
    if isinstance(query, Select) and asked.value is None and not query.having:
        clause = "LIMIT" if query.limit else "GROUP BY"
        remedy = "leave it out: one row is enough"
    elif isinstance(query, Select) and query.ranking:
        clause = "QUALIFY"
        remedy = (
            "compare by IN what it is partitioned by: (a, b) IN (SELECT x, y FROM ... QUALIFY "
            "ROW_NUMBER() OVER (PARTITION BY x ORDER BY z) <= 1)"
        )
    elif isinstance(query, Select) and any(i.expression.find(exp.Window) for i in query.items):
        clause, remedy = "LAG", "put it into a view, or a sub-query in FROM, and compare that"
    elif isinstance(query, Select) and query.limit:
        clause, remedy = "LIMIT", "bound the table by a window instead"
    elif isinstance(query, Select):
        clause = "GROUP BY, HAVING or an aggregate"
        remedy = (
            "compare by IN, and group by what is compared: (a, b) IN (SELECT x, y FROM ... "
            "GROUP BY x, y HAVING ...)"
        )
    column = _outer_column(asked.query, scope)
    if column is not None:
        raise BindError(
            f"a sub-query of {asked.kind} with {clause} cannot read columns of the query around it",
            span=span_of(column, context.source, asked.span),
            found=f"{column.table}.{column.name}", remedy=remedy,
        )  # fmt: skip


def refuse_outer_columns_in_from(asked: AskedQuery, scope: Scope, context: Context) -> None:
    """BindError if a sub-query in FROM of the sub-query names a table of the outermost one."""
    for table in asked.query.find_all(exp.Subquery):
        column = _outer_column(table, scope)
        if column is not None and isinstance(table.parent, exp.From | exp.Join):
            raise BindError(
                "a sub-query in FROM cannot read columns of the query around it",
                span=span_of(column, context.source, asked.span),
                found=f"{column.table}.{column.name}",
                remedy=f"compare them in WHERE of {asked.words}, outside of FROM",
            )


def refuse_outer_columns_of_value(
    nodes: Sequence[exp.Expr], query: Query, scope: Scope, context: Context, span: Span
) -> None:
    """BindError if parts of a scalar sub-query that do not see them name outer columns."""
    column = next(filter(None, (_outer_column(node, scope) for node in nodes)), None)
    if column is None:
        return
    remedy = f"compute with {column.table}.{column.name} outside of the sub-query"
    if isinstance(query, Select) and query.limit:
        remedy = "in place of ORDER BY y LIMIT 1 write SELECT MIN_BY(x, y), or MAX_BY(x, y)"
    elif isinstance(query, Select) and query.group_by:
        remedy = "leave GROUP BY out: the value is that of the rows that are equal"
    raise BindError(
        "a sub-query that stands for a value reads columns of the query around it only in the "
        "WHERE of an aggregate, without GROUP BY and LIMIT",
        span=span_of(column, context.source, span), found=f"{column.table}.{column.name}",
        remedy=remedy,
    )  # fmt: skip


def refuse_columns_further_out(
    conditions: Sequence[exp.Expr], scope: Scope, outer: Scope, context: Context, span: Span
) -> None:
    """BindError if a sub-query in the conditions names a table of ``outer``, which is around the
    query that the conditions are of.
    """
    for condition in conditions:
        column = _outer_column(condition, outer, scope.qualifiers())
        if column is not None:
            raise BindError(
                "a sub-query reads columns of the query right around it, and of none further out",
                span=span_of(column, context.source, span),
                found=f"{column.table}.{column.name}",
                remedy="join its tables into the sub-query around it, as in EXISTS (SELECT * FROM "
                "b, c WHERE b.k = a.k AND c.k = a.k)",
            )


def _outer_column(query: exp.Expr, scope: Scope, hiding: Sequence[str] = ()) -> exp.Column | None:
    """The first column that is written with a table of the scope that the query has not.

    Tables of the names in ``hiding`` stand between the two.
    """
    named = query.find_all(exp.Table, exp.Subquery, exp.Unnest)
    inside = {table.alias_or_name.lower() for table in named} | {n.lower() for n in hiding}
    outside = {name.lower() for name in scope.qualifiers()} - inside
    columns = query.find_all(exp.Column)
    return next((c for c in columns if c.table.lower() in outside), None)
