"""The files that a stream or relation is declared ``FROM``, taken in batch by batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import numpy as np

from windrow.columns.delta import Delta
from windrow.core.errors import InputError, StateError
from windrow.core.time import Wall, no_wall_clock
from windrow.plan.physical.excerpts import EVERYTHING, Excerpt
from windrow.streams.growing_files import Arrival, Arrivals, mark_of
from windrow.streams.horizon import Horizon, horizon_of
from windrow.streams.monitor import Accepted, InputMonitor
from windrow.streams.quarantine import Quarantine
from windrow.streams.relations import RelationMonitor, contents_in
from windrow.tables.file_part import Part
from windrow.tables.parsed_rows import Parsed, Rejected
from windrow.tables.read_ahead import LARGE_FILE, ReadAhead, Readers
from windrow.tables.readers import check_whole, read_file

Aside: TypeAlias = Callable[[str, Sequence[Rejected]], None]
"""Told of rows of a file that are put aside."""


Batches: TypeAlias = Generator[Parsed, None, None] | ReadAhead[Parsed]


def _is_large(arrival: Arrival) -> bool:
    return arrival.size - arrival.part.start >= LARGE_FILE.value


def _ignore(_file: str, _rows: Sequence[Rejected]) -> None:
    """For those who need not be told."""


@dataclass(frozen=True)
class Standing:
    """Where a monitor stood before it took a batch, and the horizon of the batch."""

    top: int | None
    advanced: int
    horizon: Horizon


@dataclass
class _Taken:
    """A part that was read, and where the monitor stood before each of its batches."""

    path: Path
    part: Part
    stood: list[Standing] = field(default_factory=list)
    end: int = 0
    mark: str = ""


class Feed:
    """The files of one stream or relation, read in order; ``step`` takes in one batch.

    ``patient``: files that seem unfinished are given time. ``refusals`` says of which files
    something could not be read; only if nothing can be read of any is that an error. Of a stream,
    nobody looks at more than an ``excerpt``.
    """

    def __init__(
        self,
        monitor: InputMonitor,
        quarantine: Quarantine | None,
        *,
        wall: Wall = no_wall_clock,
        patient: bool = False,
        on_aside: Aside = _ignore,
        excerpt: Excerpt = EVERYTHING,
        readers: Readers | None = None,
    ) -> None:
        declaration = monitor.declaration
        if declaration.source is None:
            raise InputError(
                where=declaration.name,
                expected="FROM 'path' FORMAT csv, json or parquet",
                found="a stream or relation without a source",
                remedy="name its files where it is created, or push rows from Python",
            )
        self.monitor, self.declaration = monitor, declaration
        self.refusals: list[str] = []
        self._quarantine, self._on_aside = quarantine, on_aside
        self._columns = excerpt.columns
        # Of a stream that may be idle, also rows are counted that come too late for a query.
        self._condition = excerpt.condition if declaration.idle is None else None
        self._arrivals = Arrivals(declaration.source, declaration, wall, patient=patient)
        self._queue: list[Arrival] = []
        self._taken: list[_Taken] = []
        self._said: Counter[tuple[Path, int]] = Counter()
        self._failure: InputError | None = None
        self._first_pass = True
        self._readers = readers or Readers()
        self._batches: Iterator[tuple[Parsed | None, Aside]] = iter(())
        self._wall, self._reading = wall, False
        self._broken_off: Path | str | None = None
        self._next: tuple[Arrival, Batches] | None = None
        self.look()
        relation = monitor.relation if isinstance(monitor, RelationMonitor) else None
        files = [arrival.path for arrival in self._queue]
        self._contents = (
            contents_in(files, relation, declaration.clock) if relation is not None else None
        )
        if self._contents is not None:
            self._arrivals.patient = False  # they are read once and for all

    def look(self) -> None:
        """Take note of files that have come or grown, once all that was found has been read."""
        if not (self.monitor.over or self.unread):
            self._queue = self._arrivals.look()

    def begin(self) -> None:
        """Let the first of the files that were found be read, if it is worth a thread."""
        first = self._queue[0] if self._queue and not self._reading else None
        if self._next is None and first is not None and not first.refused and _is_large(first):
            self._next = first, self._open(first)

    def step(self) -> Accepted | None:
        """Accept one batch; None if there is nothing to read.

        After a Ctrl-C in the middle it is not known which rows were accepted: it reads no more.
        """
        if self._broken_off is not None:
            raise StateError(
                where=str(self._broken_off), expected="its next rows",
                found="that reading it was interrupted",
                remedy="make a new connection, or DROP what reads it and create it again",
            )  # fmt: skip
        try:
            return self._step()
        except Exception:
            raise
        except BaseException:
            self._broken_off = self._taken[-1].path if self._taken else self.declaration.name
            raise

    def _step(self) -> Accepted | None:
        while True:
            for parsed, put_aside in self._batches:
                return self._accepted(parsed, put_aside)
            self._reading = False
            if not self._queue:
                self._end_pass()
                return None
            arrival = self._queue.pop(0)
            if arrival.refused:
                self._arrivals.gave_up(arrival)
                self._refuse(arrival)
            else:
                self._taken.append(_Taken(arrival.path, arrival.part))
                self._batches = self._read(arrival)
                self._reading = True

    @property
    def unread(self) -> bool:
        """Whether there is something to read, as far as is known."""
        return self._reading or bool(self._queue)

    def _accepted(self, parsed: Parsed | None, put_aside: Aside) -> Accepted:
        if parsed is None:
            nothing = np.empty(0, np.int64)
            return Accepted(Delta.empty(self.monitor.schema), nothing, nothing, nothing, nothing)
        taken, horizon = self._taken[-1], horizon_of(self.declaration, self._wall())
        taken.stood.append(Standing(self.monitor.top, self.monitor.advanced_to, horizon))
        accepted = self.monitor.accept(parsed, horizon)
        late = accepted.rejections(parsed, self.declaration)
        put_aside(str(taken.path), [*parsed.rejected, *late, *self._broken_rules()])
        return accepted

    def _broken_rules(self) -> list[Rejected]:
        """Updates that broke the rules of a relation."""
        if not isinstance(self.monitor, RelationMonitor):
            return []
        refused, self.monitor.refused = self.monitor.refused, []
        return refused

    def _end_pass(self) -> None:
        """All that was found has been read."""
        self._readers.close()
        for arrival in self._arrivals.unfinished_rows():
            self._refuse(arrival)
        first, self._first_pass = self._first_pass, False
        if first and self._failure is not None and not any(taken.mark for taken in self._taken):
            raise self._failure
        if self._contents is not None:
            self.monitor.finish()  # a relation without updates holds nothing back

    def again(self, judge: InputMonitor) -> Iterator[Accepted]:
        """Give the batches of a stream that were taken in so far to another monitor.

        It stands before each where our own stood, so that the same rows are late or ahead.
        """
        for taken in self._taken:
            if taken.mark and mark_of(taken.path, taken.end) != taken.mark:
                raise InputError(
                    where=str(taken.path),
                    expected="the file unchanged, for a query that was added after it was read",
                    found="a changed file, or none",
                    remedy="add queries before their files change, or use a new connection",
                )
            batches = read_file(taken.path, self.declaration, part=taken.part)
            for stood, parsed in zip(taken.stood, batches, strict=False):
                judge.top = stood.top
                judge.advance(stood.advanced)
                yield judge.accept(parsed, stood.horizon)

    def _read(self, arrival: Arrival) -> Iterator[tuple[Parsed | None, Aside]]:
        """The batches of a part; what cannot be read of it is put aside when that is found."""
        after, some = None, False
        taken = self._taken[-1]
        # What was refused here is read now, and its page in the quarantine is written anew.
        self.monitor.rejected -= self._said.pop((arrival.path, arrival.part.start), 0)
        with self._putting_aside(arrival) as put_aside:
            try:
                for _ in check_whole(arrival.path, self.declaration):
                    yield None, put_aside
                with closing(self._opened(arrival)) as batches:
                    for parsed in batches:
                        after, some = parsed.after, True
                        yield self._contents_of(parsed), put_aside
            except InputError as error:
                refusal = self._arrivals.note_failure(arrival, str(error), some=some)
                if refusal is not None:
                    self._failure = self._failure or error
                    self._say(refusal, put_aside)
                return
        taken.mark = self._arrivals.took(arrival, after)
        taken.end = arrival.size if after is None else after.start

    def _contents_of(self, parsed: Parsed) -> Parsed:
        if self._contents is None or not isinstance(self.monitor, RelationMonitor):
            return parsed
        return self.monitor.initial(parsed)

    def _opened(self, arrival: Arrival) -> Batches:
        """The batches of a part; if they are many, those of the next are read meanwhile."""
        ahead, self._next = self._next, None
        batches = self._open(arrival) if ahead is None or ahead[0] != arrival else ahead[1]
        following = self._queue[0] if self._queue and not self._queue[0].refused else None
        if following is not None and _is_large(following):
            self._next = following, self._open(following)
        return batches

    def _open(self, arrival: Arrival) -> Batches:
        if self._contents is None:
            source = read_file(
                arrival.path, self.declaration, part=arrival.part,
                columns=self._columns, condition=self._condition,
            )  # fmt: skip
        else:
            source = read_file(arrival.path, self._contents, part=arrival.part)
        return ReadAhead(source, self._readers) if _is_large(arrival) else source

    def _refuse(self, arrival: Arrival) -> None:
        with self._putting_aside(arrival) as put_aside:
            self._say(arrival, put_aside)

    def _say(self, refusal: Arrival, put_aside: Aside) -> None:
        self.refusals.append(refusal.words)
        self.monitor.rejected += 1
        self._said[refusal.path, refusal.part.start] += 1
        put_aside(str(refusal.path), [Rejected(refusal.row, refusal.refused, refusal.text)])

    @contextmanager
    def _putting_aside(self, arrival: Arrival) -> Iterator[Aside]:
        """Where what cannot be used of a part goes."""
        if self._quarantine is None:
            yield self._on_aside
            return
        name, path, start = self.declaration.name, arrival.path, arrival.part.start
        with self._quarantine.page(name, path, start) as page:

            def put_aside(file: str, rows: Sequence[Rejected]) -> None:
                page.add(rows)
                self._on_aside(file, rows)

            yield put_aside
