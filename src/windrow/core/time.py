"""Time is a 64-bit integer per clock: microseconds for TIMESTAMP columns, plain integers otherwise.

A tuple is live in ``[ts, exp)``. On an integer clock one tick stands for one second, so that
``[RANGE 1 MINUTE]`` is 60 ticks.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from enum import Enum

FOREVER = 2**63 - 1
"""The expiry of what never expires."""
BEGINNING = -(2**63) + 1
"""The instant before every other."""

Wall = Callable[[], int]
"""What the clock on the wall shows, in microseconds since 1970."""

Stopwatch = Callable[[], float]
"""Seconds since some moment, to measure how long something takes."""

MICROSECONDS = {
    "MICROSECOND": 1,
    "MILLISECOND": 1_000,
    "SECOND": 1_000_000,
    "MINUTE": 60_000_000,
    "HOUR": 3_600_000_000,
    "DAY": 86_400_000_000,
    "WEEK": 604_800_000_000,
}
"""Length of each unit of duration; the language accepts plurals and short forms of them."""


class Clock(Enum):
    """What one tick of a stream's time is."""

    INTEGER = "integer"
    TIMESTAMP = "timestamp"

    @property
    def ticks_per_second(self) -> int:
        return 1 if self is Clock.INTEGER else 1_000_000


def ticks(microseconds: int, clock: Clock) -> int | None:
    """A duration in ticks of ``clock``, or None if it is not a whole number of them.

    >>> ticks(60_000_000, Clock.INTEGER), ticks(5, Clock.TIMESTAMP), ticks(1_500_000, Clock.INTEGER)
    (60, 5, None)
    """
    if clock is Clock.TIMESTAMP:
        return microseconds
    whole, rest = divmod(microseconds, 1_000_000)
    return None if rest else whole


def add(ts: int, duration: int) -> int:
    """``ts + duration``, staying at FOREVER rather than overflowing."""
    return min(ts + duration, FOREVER)


def wall_clock() -> int:
    """For the outermost rooms: everywhere else time is an argument."""
    return time.time_ns() // 1000


def no_wall_clock() -> int:
    """For those who say themselves what time it is: every instant may have been."""
    return FOREVER


def no_stopwatch() -> float:
    """For those to whom nothing takes time."""
    return 0.0
