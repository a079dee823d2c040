"""Which stretch of a clock each day of an archive is, and how people write it.

Day ``d`` is the ticks from ``d * length`` up to ``(d + 1) * length``. On the clock of TIMESTAMP
columns a tick is a microsecond, and a day of 24 hours is written as a date; an hour is a "day"
like any other. Without a clock days are plain numbers that somebody else counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
import numpy.typing as npt

from windrow.archive.errors import DayError

HOUR = 3_600_000_000
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
UNITS = {"numbers": (1, False), "hours": (HOUR, True), "days": (24 * HOUR, True)}


def read_moment(text: str, length: int | None, expected: str) -> int:
    """A number as it is; a date or moment as the stretch of ``length`` microseconds that it is in,
    unless that is None; DayError for anything else.
    """
    try:
        return int(text)
    except ValueError:
        pass
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or length is None:
        raise DayError(where=text, expected=expected, found=text)
    moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return (moment - EPOCH) // timedelta(microseconds=length)


@dataclass(frozen=True)
class Calendar:
    """How long a day is, and how it is written.

    >>> days = Calendar.of("days")
    >>> days.parse("2026-03-01"), days.label(20513)
    (20513, '2026-03-01')
    >>> Calendar().label(7)
    '7'
    """

    length: int = 1
    timestamps: bool = False

    @classmethod
    def of(cls, unit: str) -> Calendar:
        """``numbers``, ``hours`` or ``days``."""
        if unit not in UNITS:
            raise DayError(where="calendar", expected=", ".join(UNITS), found=unit)
        return cls(*UNITS[unit])

    def days_of(self, ticks: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The day of each instant."""
        return ticks // self.length

    def label(self, day: int) -> str:
        """A day as people write it: a date, a moment, or its number."""
        if not self.timestamps:
            return str(day)
        try:
            begin = EPOCH + timedelta(microseconds=day * self.length)
        except OverflowError:
            return str(day)
        plain = begin.replace(tzinfo=None)
        if self.length % (24 * HOUR) == 0:
            return plain.date().isoformat()
        return plain.isoformat(" ", "minutes" if self.length % 60_000_000 == 0 else "seconds")

    def parse(self, text: str) -> int:
        """The day that a text names: its number, or a date or moment that lies in it."""
        return read_moment(
            text,
            self.length if self.timestamps else None,
            "a date such as 2026-03-01" if self.timestamps else "the number of a day",
        )


NUMBERS = Calendar()
"""Days that somebody else counts."""


def latest_plausible_day(days: Iterable[int], now: int | None, window: int) -> int | None:
    """The last of some days that time has come to, for want of a clock on the wall.

    A day that lies by itself, more than a window after all others, may be a wrong number, and would
    make all others expire: it is believed when the days after it begin to come.

    >>> latest_plausible_day([4, 5, 999], now=3, window=7)
    5
    >>> latest_plausible_day([999, 1000], now=5, window=7)
    1000
    """
    later = sorted({day for day in days if now is None or day > now})
    for day, following in zip(later, [*later[1:], None], strict=True):
        is_near = now is None or day - now <= window
        if is_near or (following is not None and following - day <= window):
            now = day
    return now
