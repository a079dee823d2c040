"""Reading a version of a wave index: t1 and t2 are days."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from windrow.archive.errors import DayError
from windrow.archive.format.run_ref import RunRef
from windrow.archive.runs.run import ALL, Only, Run
from windrow.archive.versions.pinned_reader import PinnedReader, Schemas
from windrow.archive.versions.versions import Lease
from windrow.archive.wave.operations import Days
from windrow.archive.wave.wave import Part, Wave


class Reader(PinnedReader):
    """One version of an archive of days as seen on one day; ``Archive.reader`` gives one.

    >>> import tempfile
    >>> import pyarrow as pa
    >>> from windrow.archive import Archive
    >>> directory, schema = tempfile.TemporaryDirectory(), pa.schema({"k": pa.int64()})
    >>> archive = Archive.create(directory.name, schema, "k", window=2, scheme="DEL", n=1)
    >>> version = archive.append_days({1: pa.table({"k": [5]}), 2: pa.table({"k": [5, 6]})}, now=2)
    >>> with archive.reader() as reader:
    ...     reader.days, reader.probe(5).num_rows, reader.probe(5, 2).num_rows
    ((1, 2), 2, 1)
    """

    def __init__(
        self,
        lease: Lease,
        wave: Wave,
        opened: Callable[[RunRef], Run],
        schemas: Schemas,
        now: int | None,
        *,
        soft: bool,
    ) -> None:
        if now is not None and wave.now is not None and now < wave.now:
            label = wave.settings.calendar.label
            raise DayError(
                where=f"day {label(now)}",
                expected=f"day {label(wave.now)}, to which the window has moved, or a later one",
                found=label(now),
                remedy="read days that are in the window; older ones have expired",
            )
        super().__init__(lease, opened, schemas, wave.now if now is None else now)
        self._wave, self._soft = wave, soft

    def sources(self, t1: int | None = None, t2: int | None = None) -> list[tuple[RunRef, Days]]:
        """The runs that a probe or scan reads, each with the days of it that count."""
        return list(self._parts(t1, t2))

    @property
    def days(self) -> Days:
        """The days with entries that the reader sees."""
        return tuple(sorted({day for _, days in self._parts(None, None) for day in days}))

    def choose_runs(self, t1: int | None, t2: int | None) -> Iterator[tuple[RunRef, Only]]:
        for run, days in self._parts(t1, t2):
            yield run, ALL if len(days) == len(run.days) else Only(days)

    def _parts(self, t1: int | None, t2: int | None) -> Iterator[tuple[RunRef, Days]]:
        if self.now is None:
            return
        first, last = self.now - self._wave.settings.window + 1, self.now
        if self._soft:
            first = min([first, *(day for part in _seen(self._wave) for day in part.days)])
        first = first if t1 is None else max(first, t1)
        last = last if t2 is None else min(last, t2)
        for part in _seen(self._wave):
            days = tuple(day for day in part.days if first <= day <= last)
            if days:
                yield part.run, days


def _seen(wave: Wave) -> Iterable[Part]:
    """Everything that a query may look at: constituents, old ones too, and days ahead."""
    for index in (*wave.constituents().values(), *wave.draining.values()):
        yield from index.parts
    for runs in wave.ahead.values():
        yield from (Part(run) for run in runs)
