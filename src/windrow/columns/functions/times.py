"""Parts of timestamps and dates. The calendar is UTC's; weeks start on Monday."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from windrow.columns.functions.operands import Kernel, Operand, cast_operand, literal, row_by_row
from windrow.core.errors import DataError
from windrow.core.schema import Type
from windrow.core.time import MICROSECONDS
from windrow.plan.expressions import Call, Literal, render

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
}
