"""Which day of an archive a row belongs to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from windrow.archive.errors import ArchiveError, DayError
from windrow.archive.format.day_calendar import NUMBERS, Calendar
from windrow.archive.format.layout import Layout
from windrow.core.errors import InputError

MOST = 2**31


@dataclass(frozen=True)
class Stamps:
    """Which day rows belong to: ``day``, or that of a ``column`` of time, if it is not given.

    ``kind`` is the column's type in the archive. Rows of days before ``first`` are late; they are
    given ``first``.
    """

    day: int | None = None
    column: str = ""
    kind: pa.DataType | None = None
    calendar: Calendar = NUMBERS
    first: int | None = None

    @classmethod
    def by(cls, column: str, layout: Layout, calendar: Calendar) -> Stamps:
        """By a column of an archive, if it tells days on the archive's calendar."""
        kinds = {field.name: field.type for field in layout.schema}
        fit = pa.types.is_timestamp if calendar.timestamps else pa.types.is_integer
        names = [name for name, kind in kinds.items() if fit(kind)]
        if column not in names:
            raise ArchiveError(
                where="timestamp",
                expected=f"one of the columns {', '.join(names) or '(there is none)'}",
                found=f"{column}, of type {kinds[column]}" if column in kinds else column,
                remedy="name a column of "
                + ("timestamps" if calendar.timestamps else "whole numbers, as days are here"),
            )
        return cls(None, column, kinds[column], calendar)

    def of(self, batch: pa.RecordBatch) -> tuple[np.ndarray, int | None]:
        """The day of each row, and the latest instant among them."""
        if self.day is not None:
            return np.full(batch.num_rows, self.day, np.int64), None
        times = batch.column(self.column)
        if times.null_count:
            raise InputError(
                where=f"column {self.column}",
                expected="a time in each row, which decides its day",
                found=f"{times.null_count} rows without one",
                remedy="leave them out with .where, or give them a time",
            )
        ticks = self._ticks(times)
        days = self.calendar.days_of(ticks)
        if len(days) and max(-int(days.min()), int(days.max())) >= MOST:
            raise DayError(
                where=f"column {self.column}",
                expected="times whose days have at most 31 bits",
                found=f"day {int(days[np.abs(days).argmax()])}",
                remedy="create the archive with a calendar of longer days",
            )
        if self.first is not None:
            days = np.maximum(days, self.first)
        return days, int(ticks.max()) if len(ticks) else None

    def _ticks(self, times: pa.Array) -> np.ndarray:
        """Instants as the archive will have them: the day is that of the value that is kept."""
        try:
            kept = times.cast(self.kind)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise InputError(
                where=f"column {self.column}",
                expected=f"values of type {self.kind}",
                found=str(error),
                remedy="cast the column before it is written",
            ) from error
        if pa.types.is_timestamp(kept.type):
            kept = kept.cast(pa.timestamp("us", kept.type.tz), safe=False)
        ticks: np.ndarray = kept.cast(pa.int64()).to_numpy()
        return ticks
