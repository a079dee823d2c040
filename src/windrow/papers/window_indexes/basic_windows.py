"""Basic windows: a sliding window as a circular array of sub-windows (Golab et al. 2004, 2.1).

Each of the n basic windows holds the same number of tuples or spans the same time. The newest one
fills in a buffer of its own, which no query sees; when it is full it takes the place of the
oldest and the window has *turned*. So the window jumps in units of a basic window, expiry is one
step for all tuples of the oldest, and one timestamp per basic window is enough: that of its
oldest tuple.

A time-based basic window covers ``[k * span, (k + 1) * span)`` and is full as soon as a later
tuple comes or the window is told that time has passed; it may be empty. What takes place within
a basic window is the business of the subclasses.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Generic, TypeVar

import numpy as np

from windrow.columns.arrays import Int64s
from windrow.core.errors import WindrowError

Full = TypeVar("Full")


class WindowError(WindrowError):
    """A window was described or fed in a way that it cannot follow.

    >>> from windrow.windows import CountBased, WindowError
    >>> try:
    ...     CountBased(basic_windows=0, tuples=4)
    ... except WindowError as error:
    ...     print(error.expected)
    at least one basic window, with room for something
    """


@dataclass(frozen=True)
class CountBased:
    """``basic_windows`` times ``tuples`` tuples.

    >>> CountBased(basic_windows=10, tuples=100)  # the last 901 to 1,000 tuples that have come
    CountBased(basic_windows=10, tuples=100)
    """

    basic_windows: int
    tuples: int

    def __post_init__(self) -> None:
        _positive("CountBased", self.basic_windows, self.tuples)


@dataclass(frozen=True)
class TimeBased:
    """``basic_windows`` times ``span`` ticks of the stream's clock.

    >>> import numpy as np
    >>> from windrow.windows import IndexedWindow, ListStorage, TimeBased, histogram, t_index
    >>> window = IndexedWindow(TimeBased(basic_windows=3, span=60), ListStorage(), t_index())
    >>> window.append(np.array([7, 7, 9, 8]), ts=np.array([0, 59, 60, 130]))
    2
    >>> histogram(window)
    (array([7, 9]), array([2, 1]))
    """

    basic_windows: int
    span: int

    def __post_init__(self) -> None:
        _positive("TimeBased", self.basic_windows, self.span)


def _positive(where: str, basic_windows: int, size: int) -> None:
    if basic_windows < 1 or size < 1:
        raise WindowError(
            where=where, expected="at least one basic window, with room for something",
            found=f"{basic_windows} of size {size}", remedy="use positive numbers",
        )  # fmt: skip


@dataclass(frozen=True)
class BasicWindow(Generic[Full]):
    """A full basic window: the time of its oldest tuple, and what it holds."""

    stamp: int
    contents: Full


class Circle(Generic[Full]):
    """A circular array of basic windows; a new one takes the place of the oldest."""

    def __init__(self, size: int) -> None:
        self._places: list[BasicWindow[Full] | None] = [None] * size
        self._next = 0

    def push(self, newest: BasicWindow[Full]) -> BasicWindow[Full] | None:
        """Put a basic window in; the one that it replaces."""
        oldest = self._places[self._next]
        self._places[self._next] = newest
        self._next = (self._next + 1) % len(self._places)
        return oldest

    def __iter__(self) -> Iterator[BasicWindow[Full]]:
        """Oldest first."""
        for part in self._places[self._next :] + self._places[: self._next]:
            if part is not None:
                yield part


class SlidingWindow(ABC, Generic[Full]):
    """``Full`` is what a subclass keeps of a basic window that is full."""

    def __init__(self, spec: CountBased | TimeBased) -> None:
        self.spec = spec
        self.basic: Circle[Full] = Circle(spec.basic_windows)
        self.turns = 0
        self._came = 0  # tuples that ever came
        self._filling = 0  # tuples in the basic window that is filling
        self._stamp: int | None = None  # the time of the oldest of them
        self._span: int | None = None  # the number of the span that is filling
        self._now: int | None = None

    def append(self, values: Int64s, ts: Int64s | None = None) -> int:
        """Take tuples in; how often the window turned. ``ts`` must not decrease."""
        return sum(1 for _ in self.feed(values, ts))

    def feed(self, values: Int64s, ts: Int64s | None = None) -> Iterator[int]:
        """As ``append``, pausing after each turn, which is when queries are evaluated."""
        values = np.ascontiguousarray(values, np.int64)
        if isinstance(self.spec, CountBased):
            yield from self._by_count(values, ts, self.spec.tuples)
        elif ts is None:
            raise WindowError(
                where="append", expected="a timestamp per tuple", found="none",
                remedy="a time-based window needs the time of each tuple",
            )  # fmt: skip
        else:
            yield from self._by_time(values, np.ascontiguousarray(ts, np.int64), self.spec.span)

    def advance(self, now: int) -> int:
        """Let time pass up to ``now`` without tuples; how often the window turned."""
        if not isinstance(self.spec, TimeBased):
            return 0
        self._check_time(now)
        return sum(1 for _ in self._reach(now // self.spec.span, self.spec.span))

    def stamps(self) -> list[int]:
        """The timestamps of the basic windows, oldest first."""
        return [part.stamp for part in self.basic]

    def _by_count(self, values: Int64s, ts: Int64s | None, room: int) -> Iterator[int]:
        start = 0
        while start < len(values):
            stop = min(start + room - self._filling, len(values))
            # Without timestamps the order of arrival is the time.
            first = self._came if ts is None else int(ts[start])
            self._fill(values[start:stop], first)
            if self._filling == room:
                yield self._turn(first)
            start = stop

    def _by_time(self, values: Int64s, ts: Int64s, span: int) -> Iterator[int]:
        if not len(ts):
            return
        self._check_time(int(ts[0]))
        if bool((np.diff(ts) < 0).any()):
            raise WindowError(
                where="append", expected="tuples in the order of their timestamps",
                found="a timestamp that decreases", remedy="sort them, or allow for slack before",
            )  # fmt: skip
        spans = ts // span
        cuts = [0, *(np.flatnonzero(np.diff(spans)) + 1).tolist(), len(ts)]
        for start, stop in pairwise(cuts):
            yield from self._reach(int(spans[start]), span)
            self._fill(values[start:stop], int(ts[start]))
        self._now = int(ts[-1])

    def _check_time(self, now: int) -> None:
        if self._now is not None and now < self._now:
            raise WindowError(
                where="time", expected=f"an instant from {self._now} on", found=str(now),
                remedy="time only goes forward",
            )  # fmt: skip
        self._now = now

    def _reach(self, number: int, span: int) -> Iterator[int]:
        """Turn until the span with this number is the one that is filling."""
        if self._span is not None and number > self._span:
            yield self._turn(self._span * span)
            # Past n empty spans the window is empty, and stays so.
            missing = min(number - self._span - 1, self.spec.basic_windows)
            for empty in range(number - missing, number):
                yield self._turn(empty * span)
        self._span = number

    def _fill(self, values: Int64s, first: int) -> None:
        if self._stamp is None:
            self._stamp = first
        self._insert(values)
        self._filling += len(values)
        self._came += len(values)

    def _turn(self, start: int) -> int:
        stamp = start if self._stamp is None else self._stamp
        newest = self._close()
        oldest = self.basic.push(BasicWindow(stamp, newest))
        self._filling, self._stamp = 0, None
        self.turns += 1
        self._replace(newest, None if oldest is None else oldest.contents)
        return self.turns

    @abstractmethod
    def _insert(self, values: Int64s) -> None:
        """Take tuples into the basic window that is filling."""

    @abstractmethod
    def _close(self) -> Full:
        """Hand over the basic window that is full, and begin a new one."""

    @abstractmethod
    def _replace(self, newest: Full, oldest: Full | None) -> None:
        """Let one basic window into the window, and the other out of it."""
