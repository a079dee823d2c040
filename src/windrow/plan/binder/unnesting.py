"""UNNEST in FROM: the values of an ARRAY as rows beside the tuple that has it.

``FROM s [RANGE 5], UNNEST(s.tags) AS t(tag)``: an array is an expression over the tables before.
It is no table of its own, so it is not joined: the tables before it are unnested, and conditions
that name the value select above. The update pattern is that of what is unnested.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import expressions as exp

from windrow.core.errors import BindError, Span
from windrow.core.schema import Field, Schema, Type
from windrow.cql.positions import span_of
from windrow.cql.syntax_tree import Name, Select, Table, Unnested
from windrow.plan.binder.scalars import ExpressionBinder
from windrow.plan.binder.scope import Context, Scope
from windrow.plan.expressions import (
    Expression,
    Literal,
    columns_of,
    conjunction,
    shift_columns,
)
from windrow.plan.functions import AGGREGATES
from windrow.plan.nodes import Node, RelationScan, Selection, Unnest

VALUE, PLACE, UNNESTED = "unnest", "ordinality", "unnested"
"""What the columns are called if the script does not say."""


def bind_unnest(
    source: Unnested, table: Table, before: Sequence[Field], context: Context
) -> RelationScan:
    """What stands for UNNEST until it is applied; ``before`` are the columns of earlier tables."""
    if table.window is not None:
        raise BindError(
            "the values of an array have no time of their own", span=table.window.span,
            expected="the window behind the stream whose array it is", found="one behind UNNEST",
        )  # fmt: skip
    if not before:
        raise BindError(
            "UNNEST stands alone in FROM", span=source.span,
            expected="the stream or relation that has the array before it", found="none",
            remedy="write FROM s [RANGE ...], UNNEST(s.a) AS t(x); to look for a value, x = ANY(a)",
        )  # fmt: skip
    binder = ExpressionBinder(Scope(Schema(tuple(before)), context=context), context.source, "FROM")
    array = binder.bind(source.array)
    if array.type.element is None:
        raise BindError(
            span=span_of(source.array, context.source, source.span), expected="an ARRAY in UNNEST",
            found=array.type.value,
        )  # fmt: skip
    kinds = [array.type.element, Type.BIGINT][: 1 + source.ordinality]
    names = [VALUE, PLACE][: len(kinds)]
    if table.columns:
        names = [column.text for column in table.columns]
    elif table.alias is not None:
        names[0] = table.alias.text
    if len(names) != len(kinds):
        raise BindError(
            "UNNEST lists the wrong number of columns", span=table.columns[0].span,
            expected=f"{len(kinds)}", found=f"{len(names)}",
            remedy="" if source.ordinality else "write WITH ORDINALITY for the place of a value",
        )  # fmt: skip
    fields = tuple(Field(name, kind) for name, kind in zip(names, kinds, strict=True))
    return RelationScan("UNNEST", Schema(fields), True, array=array, span=source.span)


def array_of(node: Node) -> Expression | None:
    """The array that is to be unnested; None for any other plan."""
    return node.array if isinstance(node, RelationScan) else None


def unnest(
    left: Node, right: Node, conditions: Sequence[Expression], span: Span | None, start: int = 0
) -> Node:
    """The tables before UNNEST unnested, and the conditions above that name the value.

    Columns of the array are counted from those of the table at ``start`` on.
    """
    plan: Node = _unnest(left, right, start, outer=False)
    predicate = conjunction(tuple(conditions))
    return plan if predicate is None else Selection(plan, predicate, span=span)


def outer_unnest(
    kind: str, left: Node, right: Node, conditions: Sequence[Expression], span: Span, start: int
) -> Node:
    """LEFT JOIN UNNEST(...) ON TRUE: also the tuples without values."""
    always = all(isinstance(c, Literal) and c.value is True for c in conditions)
    if kind != "LEFT" or not always or array_of(right) is None:
        raise BindError(
            span=span, expected="LEFT JOIN UNNEST(...) ON TRUE", found=f"another {kind} JOIN",
            remedy="conditions on the values belong into WHERE",
        )  # fmt: skip
    return _unnest(left, right, start, outer=True)


def _unnest(left: Node, right: Node, start: int, *, outer: bool) -> Unnest:
    array = array_of(right)
    if array is None or array_of(left) is not None:
        raise BindError(
            "UNNEST stands before the table that has the array", span=left.span,
            remedy="write FROM s [RANGE ...], UNNEST(s.a) AS t(x)",
        )  # fmt: skip
    if any(column.index < start for column in columns_of(array)):
        raise BindError(
            "the array of UNNEST is of a table that is not joined here", span=right.span,
            remedy="write a comma before UNNEST, or JOIN before the table that has the array",
        )  # fmt: skip
    own = shift_columns(array, -start)
    return Unnest(left, own, right.schema, outer, span=right.span)


def unnest_items(select: Select, context: Context) -> Select:
    """The block with an UNNEST of its select list moved to the end of FROM."""
    found = [n for item in select.items for n in _calls(item.expression) if n.name.lower() == VALUE]
    if not found:
        return select
    span = span_of(found[0], context.source, select.span)
    others = [n for item in select.items for n in _calls(item.expression)]
    grouped = select.group_by or select.having or any(n.name.lower() in AGGREGATES for n in others)
    starred = any(item.expression.is_star for item in select.items)
    if len(found) > 1 or len(found[0].expressions) != 1 or grouped or starred:
        raise BindError(
            span=span, expected="one UNNEST(array) in the select list, beside columns",
            found="another one" if len(found) > 1 else "aggregates, GROUP BY or *",
            remedy="write it in FROM: FROM s [RANGE ...], UNNEST(s.a) AS t(x)",
        )  # fmt: skip
    items = []
    for item in select.items:
        column = exp.column(VALUE, table=UNNESTED)
        expression = item.expression.transform(lambda n, c=column: c if n in found else n)
        items.append(replace(item, expression=expression))
    source = Unnested(found[0].expressions[0], False, span)
    table = Table(source, None, Name(UNNESTED, span), None, span, columns=(Name(VALUE, span),))
    return replace(select, items=tuple(items), tables=(*select.tables, table))


def _calls(node: exp.Expr) -> list[exp.Anonymous]:
    return list(node.find_all(exp.Anonymous))
