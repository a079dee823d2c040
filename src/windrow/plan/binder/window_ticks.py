"""Window clauses in ticks."""

from __future__ import annotations

from collections.abc import Sequence

from windrow.core.errors import BindError
from windrow.core.schema import Schema
from windrow.core.time import FOREVER, MICROSECONDS, Clock, ticks
from windrow.cql.syntax_tree import (
    ColumnName,
    Duration,
    NowClause,
    RangeClause,
    RowsClause,
    SessionClause,
    UnboundedClause,
    WindowClause,
)
from windrow.plan.binder.scope import Scope
from windrow.plan.nodes.window_specs import (
    NowWindow,
    RangeWindow,
    RowsWindow,
    SessionWindow,
    UnboundedWindow,
    WindowSpec,
)


def in_ticks(duration: Duration, clock: Clock, what: str, least: int = 1) -> int:
    """The duration on ``clock``; BindError if it is no whole number of ticks, or too small.

    A number alone counts ticks; on a TIMESTAMP clock, where that is hardly meant, it is refused.
    """
    if duration.unit is None and clock is Clock.TIMESTAMP and duration.amount:
        raise BindError(
            span=duration.span, expected=f"a unit of time for {what}",
            found=f"{duration.amount} alone, which is microseconds on a TIMESTAMP clock",
            remedy=f"write for example {what} {duration.amount} SECONDS, or MICROSECONDS",
        )  # fmt: skip
    if duration.unit is None:
        whole = int(duration.amount)
        count = whole if whole == duration.amount else None
    else:
        microseconds = duration.amount * MICROSECONDS[duration.unit]
        whole = int(microseconds)
        count = ticks(whole, clock) if whole == microseconds else None
    unit = duration.unit or "TICK"
    found = f"{duration.amount} {unit}{'' if duration.amount == 1 else 'S'}"
    if count is None:
        tick = "second" if clock is Clock.INTEGER else "microsecond"
        raise BindError(
            span=duration.span,
            expected=f"a whole number of ticks for {what}",
            found=found,
            remedy=f"one tick of this stream's clock is one {tick}",
        )
    if count < least:
        kind = "positive" if least == 1 else "non-negative"
        raise BindError(span=duration.span, expected=f"a {kind} {what}", found=found)
    if count >= FOREVER:
        raise BindError(
            span=duration.span, expected=f"{what} of less than 64 bits of ticks", found=found,
            remedy="write UNBOUNDED for a window without an end",
        )  # fmt: skip
    return count


def window_spec(
    clause: WindowClause, clock: Clock, schema: Schema, names: Sequence[str] = ()
) -> WindowSpec:
    """What the clause says about a stream with these columns and this clock.

    ``names`` are what the stream itself is called here, if anything: columns may be asked for by
    each of them.
    """
    match clause:
        case NowClause():
            return NowWindow(clause.internal)
        case UnboundedClause():
            return UnboundedWindow(clause.internal)
        case RangeClause():
            length = in_ticks(clause.length, clock, "RANGE")
            slide = in_ticks(clause.slide, clock, "SLIDE") if clause.slide else None
            return RangeWindow(length, slide, clause.internal)
        case SessionClause():
            gap = in_ticks(clause.gap, clock, "SESSION")
            keys = tuple(_place(column, schema, names) for column in clause.partition_by)
            return SessionWindow(gap, keys, clause.internal)
        case RowsClause():
            if clause.count < 1:
                raise BindError(
                    span=clause.span, expected="at least one row", found=f"ROWS {clause.count}"
                )
            if clause.count >= FOREVER:
                raise BindError(
                    span=clause.span, expected="a number of rows of less than 64 bits",
                    found=f"ROWS {clause.count}", remedy="write UNBOUNDED to keep all",
                )  # fmt: skip
            keys = tuple(_place(column, schema, names) for column in clause.partition_by)
            return RowsWindow(clause.count, keys, clause.internal, _step(clause))


def _step(clause: RowsClause) -> int | None:
    """By how many rows the window moves."""
    if clause.slide is None:
        return None
    if not 1 <= clause.slide < FOREVER:
        raise BindError(
            span=clause.span, expected="a positive number of rows for SLIDE",
            found=f"SLIDE {clause.slide}",
        )  # fmt: skip
    if clause.partition_by:
        raise BindError(
            span=clause.span, expected="SLIDE in a window of all rows", found="PARTITION BY",
            remedy="leave SLIDE out, or PARTITION BY",
        )  # fmt: skip
    return clause.slide


def _place(column: ColumnName, schema: Schema, names: Sequence[str]) -> int:
    """Which column of the stream is meant."""
    qualifier = column.qualifier
    if names:
        schema = schema.with_qualifier(names[0])
        if qualifier is not None and qualifier.lower() in map(str.lower, names):
            qualifier = names[0]
    return Scope(schema).resolve(column.text, qualifier, column.span).index
