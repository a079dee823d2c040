"""``SUM(WSTREAM(SUM(a))[ROWS 10])``: an aggregate over a window on a query's own results.

It is short for a sub-query (Golab 2006, 3.4): the inner expressions are the select list of a
WSTREAM in FROM, and the outer ones aggregate its columns.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import expressions as exp

from windrow.core.errors import ParseError
from windrow.cql.dialect import WINDOW
from windrow.cql.positions import span_of
from windrow.cql.syntax_tree import Item, Name, Select, StreamOf, Table

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
            span=span, source=sql, expected="one and the same window after each WSTREAM(...)",
            found="none" if None in windows else "different ones",
            remedy="write WSTREAM(...)[ROWS 10], say",
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
