"""``CREATE VIEW ... TIMESTAMP BY column``: a stream of results with a time of its own.

A tuple may name its present or its future. That a column holds the past is known here where it is
the time of a stream less a constant; elsewhere the operator finds out (``operators/retime.py``).
"""

from __future__ import annotations

from windrow.core.errors import BindError
from windrow.core.patterns import UpdatePattern
from windrow.core.schema import Type
from windrow.core.time import Clock
from windrow.cql.syntax_tree import Name
from windrow.plan.binder.ordered_aggregates import time_column
from windrow.plan.binder.scope import Context, Scope
from windrow.plan.catalog import StreamDeclaration
from windrow.plan.expressions import Call, Column, Literal
from windrow.plan.nodes import Node, Projection, Retimed, is_constant


def retime(plan: Node, time: Name, clock: Clock | None, context: Context) -> Node:
    """The tuples of a view at the time that one of their columns holds."""
    column = Scope(plan.schema.with_qualifier(None)).resolve(time.text, None, time.span)
    if plan.pattern is not UpdatePattern.MONOTONIC:
        raise BindError(
            "TIMESTAMP BY gives the tuples of a stream a time", span=time.span,
            expected="a view whose results stay", found=f"one that is {plan.pattern.name}",
            remedy="make it a stream with ISTREAM(...)",
        )  # fmt: skip
    if is_constant(plan):
        raise BindError(
            "TIMESTAMP BY gives the tuples of a stream a time", span=time.span,
            expected="a stream", found="VALUES only",
            remedy="put the rows into a file, and declare it with CREATE STREAM",
        )  # fmt: skip
    stamps = (clock or context.catalog.clock) is Clock.TIMESTAMP
    if not (column.type is Type.TIMESTAMP if stamps else column.type.integral):
        raise BindError(
            span=time.span, expected=f"a column of type {'TIMESTAMP' if stamps else 'BIGINT'}, "
            "which the clock of the view's streams has", found=column.type.value,
            remedy="cast it in the view's query",
        )  # fmt: skip
    if _is_past(plan, column.index, context):
        raise BindError(
            f"{time.text} is before the time at which tuples come, and time does not run backwards",
            span=time.span, expected="the time of a tuple or a later one", found="an earlier one",
            remedy="add to the time instead of subtracting from it",
        )  # fmt: skip
    return Retimed(plan, column.index, span=time.span)


def _is_past(plan: Node, index: int, context: Context) -> bool:
    """Whether a column is the time of its stream less a constant."""
    value = plan.columns[index].expression if isinstance(plan, Projection) else None
    if not isinstance(value, Call) or value.function != "subtract":
        return False
    start, less = value.args
    streams = (d for d in context.catalog.declarations.values() if isinstance(d, StreamDeclaration))
    timestamps = {stream.name.lower(): stream.timestamp for stream in streams}
    of_time = isinstance(start, Column) and start.index == time_column(plan.inputs[0], timestamps)
    amount = less.value if isinstance(less, Literal) else None
    return of_time and isinstance(amount, int) and amount > 0
