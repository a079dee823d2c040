"""Aggregates in which order counts: MIN_BY, MAX_BY, FIRST, LAST, STRING_AGG, ARRAY_AGG.

They are bound as aggregates of pairs: what orders a tuple, then its value. MIN_BY(x, y) is the x of
the least pair, so it is MIN for all that comes after the binder. Without an order of its own a
tuple is ordered by its time: the time column of its stream or, in a join, the latest of its
streams'. Values of one time are in their own order. So the answer depends on the rows alone, not
on which came first within an instant, which files, buckets and strategies decide differently.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from sqlglot import expressions as exp

from windrow.core.errors import BindError, Span
from windrow.core.schema import Type
from windrow.plan.binder.calls import CHOSEN, typed_call, wrong_number
from windrow.plan.expressions import Call, Column, Expression, Literal
from windrow.plan.nodes import (
    Aggregate,
    Joining,
    Node,
    Projection,
    Retimed,
    Selection,
    StreamScan,
    Unnest,
    Window,
)

Bind = Callable[[exp.Expr], Expression]
BY_VALUE = {"MIN_BY": "MIN", "MAX_BY": "MAX"}
BY_TIME = {"FIRST": "MIN", "LAST": "MAX"}
ORDERED = frozenset({*BY_VALUE, *BY_TIME, "STRING_AGG", "ARRAY_AGG"})
NULLS_FIRST, NULLS_LAST = "!", "1"
"""What a key that is NULL begins with; those that are not begin with 0."""


def bind_ordered(
    node: exp.Anonymous,
    function: str,
    bind: Bind,
    add: Callable[[Aggregate], Column],
    times: tuple[Column, ...],
    span: Span,
) -> Expression:
    """The value of the pair that an aggregate finds; ``add`` takes the aggregate in."""
    nodes, distinct, keys = list(node.expressions), False, list[exp.Expr]()
    if nodes and isinstance(nodes[-1], exp.Order):
        keys = nodes[-1].expressions
        nodes[-1] = nodes[-1].this
    if nodes and isinstance(nodes[0], exp.Distinct):
        nodes, distinct = [*nodes[0].expressions, *nodes[1:]], True
    if function == "STRING_AGG":
        return add(_joined(nodes, keys, distinct, bind, times, span))
    if function == "ARRAY_AGG":
        chosen = node.meta.get(CHOSEN)
        condition = None if chosen is None else bind(chosen)
        return add(_collected(nodes, keys, distinct, condition, bind, times, span))
    if keys:
        raise BindError(
            f"{function} takes no ORDER BY", span=span,
            remedy="write MIN_BY(x, y) or MAX_BY(x, y) for the first or last x in the order of y",
        )  # fmt: skip
    takes = "a value and what orders it" if function in BY_VALUE else "a value"
    if len(nodes) != (2 if function in BY_VALUE else 1):
        raise wrong_number(function, takes, len(nodes), span)
    value = bind(nodes[0])
    by = bind(nodes[1]) if function in BY_VALUE else _time(function, times, span)
    least = {**BY_VALUE, **BY_TIME}[function]
    name = function.lower() + (f"_{value.name}" if isinstance(value, Column) else "")
    pair = _pair(by, value, "", span)
    found = add(Aggregate(least, pair, name, Type.STRING, span=span))
    return Call("pair_value", (found,), value.type)


def _joined(
    nodes: list[exp.Expr], keys: list[exp.Expr], distinct: bool, bind: Bind,
    times: tuple[Column, ...], span: Span,
) -> Aggregate:  # fmt: skip
    """STRING_AGG(x [, separator] [ORDER BY y [DESC]]); the separator is a comma without one."""
    if not 1 <= len(nodes) <= 2:
        raise wrong_number("STRING_AGG", "STRING_AGG(x, separator)", len(nodes), span)
    text, separator = bind(nodes[0]), bind(nodes[1]) if nodes[1:] else Literal(",", Type.STRING)
    if text.type is not Type.STRING:
        raise BindError(
            "STRING_AGG does not take this type", span=span, expected="a string",
            found=text.type.value, remedy="write CAST(... AS STRING)",
        )  # fmt: skip
    if not isinstance(separator, Literal) or not isinstance(separator.value, str):
        raise BindError(
            span=span, expected="a separator in quotes", found="something else",
            remedy="write for example STRING_AGG(x, ', ')",
        )  # fmt: skip
    descending = _descends(keys, distinct, span)
    name = "string_agg" + (f"_{text.name}" if isinstance(text, Column) else "")
    if not distinct:
        by = bind(keys[0].this) if keys else _time("STRING_AGG", times, span)
        text = _pair(by, text, NULLS_FIRST if descending else NULLS_LAST, span)
    joining = Joining(separator.value, descending, paired=not distinct)
    return Aggregate("STRING_AGG", text, name, Type.STRING, distinct, joining, span)


def _descends(keys: list[exp.Expr], distinct: bool, span: Span) -> bool:
    """Whether the one expression in ORDER BY, if there is one, descends."""
    if len(keys) > 1 or (keys and distinct):
        raise BindError(
            span=span, expected="one expression in ORDER BY, and none with DISTINCT",
            found=f"{len(keys)}", remedy="DISTINCT values are in their own order"
            if distinct else "order by one text or number that has all of them",
        )  # fmt: skip
    if keys and keys[0].args.get("nulls_first"):
        raise BindError(
            span=span, expected="NULLS LAST, which is the rule", found="NULLS FIRST",
            remedy="order by COALESCE(column, a value that comes first) instead",
        )  # fmt: skip
    return bool(keys and keys[0].args.get("desc"))


def _collected(
    nodes: list[exp.Expr], keys: list[exp.Expr], distinct: bool, condition: Expression | None,
    bind: Bind, times: tuple[Column, ...], span: Span,
) -> Aggregate:  # fmt: skip
    """ARRAY_AGG(x [ORDER BY y [DESC]]), NULLs included."""
    if len(nodes) != 1:
        raise wrong_number("ARRAY_AGG", "ARRAY_AGG(x)", len(nodes), span)
    value, descending = bind(nodes[0]), _descends(keys, distinct, span)
    name = "array_agg" + (f"_{value.name}" if isinstance(value, Column) else "")
    _refuse_unordered(value, span)
    if distinct:
        item: Expression = Call("item_text", (value,), Type.STRING)
    else:
        by = bind(keys[0].this) if keys else _time("ARRAY_AGG", times, span)
        nulls = NULLS_FIRST if descending else NULLS_LAST
        item = replace(_pair(by, value, nulls, span), function="sort_item")
    if condition is not None:
        item = Call("case", (condition, item, Literal(None, Type.STRING)), Type.STRING)
    joining = Joining("", descending, paired=not distinct)
    return Aggregate("ARRAY_AGG", item, name, Type.array(value.type), distinct, joining, span)


def _pair(by: Expression, value: Expression, nulls: str, span: Span) -> Call:
    _refuse_unordered(by, span)
    _refuse_unordered(value, span)
    return Call("sort_pair", (by, value, Literal(nulls, Type.STRING)), Type.STRING)


def _refuse_unordered(part: Expression, span: Span) -> None:
    """BindError for what cannot be a part of a text that sorts as it does."""
    if part.type is not Type.INTERVAL and not part.type.is_nested:
        return
    raise BindError(
        span=span, expected="numbers, texts or times to be ordered", found=part.type.value,
        remedy="take a value out, as in a[1] or s.name" if part.type.is_nested else "",
    )  # fmt: skip


def _time(function: str, times: tuple[Column, ...], span: Span) -> Expression:
    """When a tuple came, by the time columns of its streams."""
    if not times:
        instead = {"FIRST": "MIN_BY(x, y)", "LAST": "MAX_BY(x, y)"}
        raise BindError(
            f"{function} orders tuples by the time column of their stream, which is not here",
            span=span, expected="streams in FROM, or views that show their time column",
            found="none", remedy=f"say what orders them: {instead.get(function, 'ORDER BY y')}",
        )  # fmt: skip
    if len(times) == 1:
        return times[0]
    return typed_call("greatest", times, [span] * len(times), span)


def time_column(plan: Node, timestamps: Mapping[str, int]) -> int | None:
    """Which column of a table in FROM has the time of its stream; None if none has.

    ``timestamps`` are the places of the time columns of streams, by name.
    """
    match plan:
        case StreamScan():
            return timestamps.get(plan.name.lower())
        case Retimed():
            return plan.time
        case Window() | Selection() | Unnest():
            return time_column(plan.input, timestamps)
        case Projection():
            below = time_column(plan.input, timestamps)
            for place, column in enumerate(plan.columns):
                shown = column.expression
                if isinstance(shown, Column) and shown.index == below:
                    return place
    return None
