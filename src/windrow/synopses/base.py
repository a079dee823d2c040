"""What synopses have in common: numbered sub-windows, values over intervals of them, saving.

A synopsis has three parameters (Golab 2006, 2.3.4): ``s``, the length of a sub-window in ticks or
rows; ``b``, so that the longest window is b * s; and f, the *content*: what is kept of an interval.
Sub-windows are numbered: number k is ((k - 1) * s, k * s]. A buffer pre-aggregates the sub-window
that is filling, and hands it over when it is full; that is an *update*.

Invariant: a window of n sub-windows, n <= b, is answered from the values alone, exactly as if its
rows were there; or refused if the synopsis has not seen all of it.

Values lie under a *place*, the level of an interval (its length is 2**level sub-windows) and the
number of its last sub-window. A value is written once and never changed, so it is also what is
saved: a segment per value.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Generic

import pyarrow as pa

from windrow.columns.saved_state import Saved
from windrow.synopses.errors import IncompleteWindowError, SynopsisError
from windrow.synopses.interval_content import ClosedInterval, Content, V

Place = tuple[int, int]


@dataclass
class Work:
    """Steps since the start, counted and not timed: what Figure 2.5 of Golab 2006 draws.

    A value is what is kept of one interval: for all groups together.

    >>> import numpy as np
    >>> from windrow.synopses import RowBuffer, RunningSynopsis, content_for
    >>> synopsis = RunningSynopsis(content_for("SUM"), s=2, b=4)
    >>> synopsis.follow(RowBuffer(content_for("SUM"), s=2).feed(np.arange(8)))
    >>> _ = synopsis.probe(3)
    >>> synopsis.work
    Work(combined=2, touched=4, rebased=0)
    """

    combined: int = 0
    """Values that probes read."""
    touched: int = 0
    """Values that updates wrote."""
    rebased: int = 0
    """Values of a running synopsis that were written again to begin at a later instant."""


class Synopsis(ABC, Generic[V]):
    """Values over intervals of sub-windows; see the module.

    ``from_start`` says that the synopsis sees the stream from its beginning, so that there is
    nothing before the first update. Otherwise a window is refused until it has been seen whole.

    >>> import numpy as np
    >>> from windrow.synopses import BasicIntervalSynopsis, RowBuffer, content_for
    >>> synopsis = BasicIntervalSynopsis(content_for("MAX"), s=2, b=3)
    >>> synopsis.follow(RowBuffer(content_for("MAX"), s=2).feed(np.array([9, 1, 2, 3, 5, 4])))
    >>> [synopsis.answer("MAX", n)["value"].to_pylist() for n in (1, 2, 3)]
    [[5], [5], [9]]
    """

    kind: ClassVar[str]

    def __init__(self, f: Content[V], s: int, b: int, *, from_start: bool = True) -> None:
        if s < 1 or b < 1:
            raise SynopsisError(
                where=self.kind, expected="s and b of at least 1", found=f"s = {s}, b = {b}",
                remedy="s is the length of a sub-window, b how many the longest window has",
            )  # fmt: skip
        self.f, self.s, self.b = f, s, b
        self.number: int | None = None
        """Of the newest sub-window."""
        self.work = Work()
        self._first: int | None = None  # number of the first sub-window ever
        self._known_from: int | None = None  # first that is known; None if all the past is
        self._from_start = from_start
        self._held: dict[Place, V] = {}
        self._unsaved: set[Place] = set()
        self._saved: set[Place] = set()

    # --- updates

    def follow(self, intervals: Iterable[ClosedInterval[V]]) -> None:
        """Take every interval in that a buffer hands over."""
        for interval in intervals:
            self.update(interval)

    def update(self, interval: ClosedInterval[V]) -> None:
        """Let the windows slide up to this sub-window. Those that were left out were empty."""
        number, summary = interval
        if self.number is not None and number <= self.number:
            raise SynopsisError(
                where=f"update {number}", expected=f"a sub-window after {self.number}",
                found=str(number), remedy="updates come in order, each once",
            )  # fmt: skip
        if self.number is None:
            self._first = number
            self._known_from = None if self._from_start else number
        else:
            if number - self.number > self.b + 1:
                self._forget_all()
                self.number = number - self.b - 2  # what is older is out of every window
            while number - self.number > 1:
                self._step(self.number + 1, self.f.empty())
        self._step(number, summary)

    def _step(self, number: int, summary: V) -> None:
        self.number = number
        self._insert(number, summary)
        oldest = number - self.b + 1
        self._expire(oldest)
        if self._known_from is not None or (self._first is not None and oldest > self._first):
            self._known_from = max(oldest, self._known_from or oldest)

    def _put(self, place: Place, value: V) -> None:
        self._held[place] = value
        self._unsaved.add(place)
        self.work.touched += 1

    def _drop(self, place: Place) -> None:
        self._held.pop(place, None)
        self._unsaved.discard(place)

    def replace_values(self, change: Callable[[V], V]) -> None:
        """Keep something else of every interval: the same under other names of groups, say."""
        for place, value in self._held.items():
            self._held[place] = change(value)
        self._unsaved |= self._held.keys()

    def _forget_all(self) -> None:
        for place in list(self._held):
            self._drop(place)

    def amend(self, parts: Mapping[int, V]) -> None:
        """Add to sub-windows that are in already, by number; those that have left are ignored.

        A synopsis of a join needs it: a new result belongs to the sub-window of its oldest tuple.
        """
        if self.number is None:
            return
        oldest = self.number - self.b + 1
        live = {k: part for k, part in sorted(parts.items()) if oldest <= k <= self.number}
        if live:
            self._amend(live)

    @abstractmethod
    def _amend(self, parts: Mapping[int, V]) -> None:
        """``parts`` are by number, in order, and none of them has left."""

    def _merge_into(self, place: Place, part: V) -> None:
        value = self._held.get(place)
        self._put(place, part if value is None else self.f.merge([value, part]))

    @abstractmethod
    def _insert(self, number: int, summary: V) -> None:
        """Take in the newest sub-window."""

    @abstractmethod
    def _expire(self, oldest: int) -> None:
        """Drop what no window needs that begins with sub-window ``oldest``."""

    # --- probes

    def probe(self, n: int) -> V:
        """What would be kept of the last ``n`` sub-windows as one interval."""
        number = self.check_window(n)
        return self.f.empty() if number is None else self._combine(number, n)

    def answer(self, function: str, n: int, parameter: float | None = None) -> pa.RecordBatch:
        """An aggregate over the last ``n`` sub-windows, by group."""
        return self.f.answer(function, self.probe(n), parameter)

    @abstractmethod
    def _combine(self, number: int, n: int) -> V: ...

    def complete_from(self, n: int) -> int:
        """The number of the first update from which a window of ``n`` is covered."""
        self._check_length(n)
        if self._known_from is None or self.number is None:
            return self.number or 0
        return max(self.number, self._known_from + n - 1)

    def check_window(self, n: int) -> int | None:
        """Refuse a window that is too long or not covered yet; the number of the newest update."""
        complete = self.complete_from(n)
        if self.number is None and not self._from_start:
            raise SynopsisError(
                where=self.kind, expected="an update before a probe", found="none",
                remedy="what came before the first one is not known",
            )  # fmt: skip
        if self.number is not None and complete > self.number:
            raise IncompleteWindowError(n, self.number, complete)
        return self.number

    def _check_length(self, n: int) -> None:
        if not 1 <= n <= self.b:
            raise SynopsisError(
                where=self.kind, expected=f"a window of 1 to {self.b} sub-windows", found=str(n),
                remedy="extend the synopsis, or make a longer one",
            )  # fmt: skip

    def extend(self, b: int) -> int:
        """Serve longer windows, by not dropping the oldest values for some updates (8.2).

        The number of the update from which windows of the new length are covered.
        """
        if b > self.b:
            self._check_extension(b)
            self.b = b
        return self.complete_from(self.b)

    def _check_extension(self, b: int) -> None:
        """Refuse a length that this kind of synopsis cannot have."""

    # --- state

    def size(self) -> int:
        """How many values it holds."""
        return len(self._held)

    def save(self) -> Saved:
        """The values written and dropped since the last save."""
        gone = sorted(self._saved - self._held.keys())
        put = {_segment(place): self.f.to_batch(self._held[place]) for place in self._unsaved}
        self._saved, self._unsaved = set(self._held), set()
        meta = {"b": self.b, "number": self.number, "first": self._first}
        meta["known_from"] = self._known_from
        return Saved(put, [_segment(place) for place in gone], meta | self._extra_meta())

    def load(self, segments: Mapping[str, pa.RecordBatch], meta: Mapping[str, Any]) -> None:
        """Become what the saved one was, with the same f and s."""
        self._held = {_place(name): self.f.from_batch(b) for name, b in segments.items()}
        self._saved, self._unsaved = set(self._held), set()
        self.b, self.number, self._first = int(meta["b"]), meta["number"], meta["first"]
        self._known_from = meta["known_from"]
        self._load_extra(meta)

    def _extra_meta(self) -> dict[str, Any]:
        return {}

    def _load_extra(self, meta: Mapping[str, Any]) -> None:
        pass


def _segment(place: Place) -> str:
    return f"{place[0]}.{place[1]}"


def _place(name: str) -> Place:
    level, _, number = name.partition(".")
    return int(level), int(number)
