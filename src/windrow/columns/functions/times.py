"""Parts of timestamps and dates, and TO_TIMESTAMP and STRFTIME.

The calendar is UTC's; weeks start on Monday. A format has the directives that the binder lets pass,
which mean the same in C, Python and DuckDB; names of days and months are English.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from windrow.columns.functions.operands import Kernel, Operand, cast_operand, literal, row_by_row
from windrow.columns.functions.regular_expressions import constant
from windrow.columns.types import ARROW
from windrow.core.errors import DataError
from windrow.core.schema import Type
from windrow.core.time import MICROSECONDS
from windrow.plan.expressions import Call, Literal, render

SECOND = MICROSECONDS["SECOND"]
MOST = (2**63 - 1) // SECOND
"""Seconds that a TIMESTAMP can be away from 1970."""
FRACTION = "%f"


def to_timestamp(args: Sequence[Operand], call: Call) -> Operand:
    """The time so many seconds after 1970, to the nearest microsecond; NULL where there is none."""
    if call.args[0].type.integral:
        seconds = cast_operand(args[0], Type.BIGINT)
        whole = pc.multiply(_within_reach(seconds), SECOND)
    else:
        seconds = cast_operand(args[0], Type.DOUBLE)
        micros = pc.round(pc.multiply(_within_reach(seconds), float(SECOND)))
        whole = pc.cast(micros, pa.int64())
    return pc.cast(whole, ARROW[Type.TIMESTAMP])


def _within_reach(seconds: Operand) -> Operand:
    """The seconds, NULL where they are too many or NaN."""
    near = pc.and_(pc.greater_equal(seconds, -MOST), pc.less_equal(seconds, MOST))
    return pc.if_else(near, seconds, pa.scalar(None, seconds.type))


def strftime(args: Sequence[Operand], call: Call) -> Operand:
    """The format with parts of the time in the places of its directives.

    Arrow writes the fraction behind ``%S``, so it gets whole seconds, and ``%f`` is put between the
    pieces of the format.
    """
    moment = cast_operand(args[0], Type.TIMESTAMP)
    seconds = pc.cast(pc.floor_temporal(moment, unit="second"), pa.timestamp("s"))
    micros = pc.cast(pc.add(pc.multiply(pc.millisecond(moment), 1000), pc.microsecond(moment)),
                     pa.string())  # fmt: skip
    fraction = pc.utf8_lpad(micros, width=6, padding="0")
    pieces = [pc.strftime(seconds, format=p) for p in _pieces(constant(call, 1))]
    joined = [part for piece in pieces for part in (fraction, piece)][1:]
    return pc.binary_join_element_wise(*joined, pa.scalar("", pa.string()))


def _pieces(text: str) -> list[str]:
    """The format around each ``%f``, where that is no end of ``%%f``."""
    pieces, place = [""], 0
    while place < len(text):
        directive = text[place : place + 2] if text[place] == "%" else text[place]
        place += len(directive)
        if directive == FRACTION:
            pieces.append("")
        else:
            pieces[-1] += directive
    return pieces


UNITS = (
    "microsecond", "millisecond", "second", "minute", "hour",
    "day", "week", "month", "quarter", "year",
)  # fmt: skip
"""What DATE_TRUNC cuts to."""


def part(compute: Callable[..., Operand], **options: Any) -> Kernel:
    def kernel(args: Sequence[Operand], call: Call) -> Operand:
        moment = cast_operand(args[0], Type.TIMESTAMP)
        return cast_operand(compute(moment, **options), call.type)

    return kernel


def epoch(moment: Operand) -> Operand:
    """Whole seconds since 1970, rounded down, also before it."""
    micros = pc.cast(moment, pa.int64())
    below = pc.modulo(micros, MICROSECONDS["SECOND"])
    return pc.divide(pc.subtract(micros, below), MICROSECONDS["SECOND"])


def date_trunc(args: Sequence[Operand], call: Call) -> Operand:
    unit, moment = literal(args[0]), cast_operand(args[1], Type.TIMESTAMP)
    if unit is None:
        return row_by_row(
            lambda name, one: truncate(name, pa.scalar(one, moment.type), call).as_py(),
            [args[0], moment],
            call.type,
        )
    return cast_operand(truncate(unit, moment, call), call.type)


def truncate(unit: str, moment: Operand, call: Call) -> Operand:
    name = unit.lower()
    if name not in UNITS:
        raise DataError(where=render(call), expected=f"one of {', '.join(UNITS)}", found=repr(unit))
    return pc.floor_temporal(moment, unit=name, week_starts_monday=True)


def months_between(start: Operand, end: Operand) -> Operand:
    years = pc.multiply(pc.subtract(pc.year(end), pc.year(start)), 12)
    return pc.add(years, pc.subtract(pc.month(end), pc.month(start)))


BETWEEN: dict[str, Callable[[Operand, Operand], Operand]] = {
    "microsecond": pc.microseconds_between, "millisecond": pc.milliseconds_between,
    "second": pc.seconds_between, "minute": pc.minutes_between, "hour": pc.hours_between,
    "day": pc.days_between, "week": pc.weeks_between, "month": months_between,
    "quarter": pc.quarters_between, "year": pc.years_between,
}  # fmt: skip


def date_diff(args: Sequence[Operand], call: Call) -> Operand:
    """How often the unit begins after the first time and up to the second."""
    unit = call.args[0]
    assert isinstance(unit, Literal)  # the binder sees to it
    start, end = (cast_operand(a, Type.TIMESTAMP) for a in args[1:])
    return cast_operand(BETWEEN[str(unit.value)](start, end), call.type)


KERNELS: dict[str, Kernel] = {
    "extract_year": part(pc.year),
    "extract_quarter": part(pc.quarter),
    "extract_month": part(pc.month),
    "extract_week": part(pc.iso_week),
    "extract_day": part(pc.day),
    "extract_doy": part(pc.day_of_year),
    "extract_hour": part(pc.hour),
    "extract_minute": part(pc.minute),
    "extract_second": part(pc.second),
    "extract_dow": part(pc.day_of_week, count_from_zero=True, week_start=7),
    "extract_isodow": part(pc.day_of_week, count_from_zero=False, week_start=1),
    "extract_epoch": part(epoch),
    "date_trunc": date_trunc,
    "date_diff": date_diff,
    "to_timestamp": to_timestamp,
    "strftime": strftime,
}
