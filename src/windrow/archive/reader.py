"""Reading a version of a wave index: timed and untimed probes and scans.

A reader pins a version and a moment when it opens and answers from them until it is closed,
whatever is published or reclaimed meanwhile. It waits for nobody. Answers are Arrow tables with
the columns in the types in which they are stored: what repeats comes dictionary-encoded
(``decoded`` turns it into plain types). The order of entries is not defined.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import pyarrow as pa

from windrow.archive.errors import ArchiveError, DayError
from windrow.archive.runs.open import ALL, Only, Run
from windrow.archive.runs.ref import RunRef
from windrow.archive.schemes.operations import Days
from windrow.archive.versions import Lease
from windrow.archive.wave import Part, Wave


@dataclass(frozen=True)
class Range:
    """All keys between two, both included; None leaves a side open."""

    least: Any = None
    greatest: Any = None


class Reader:
    """One version of an archive as seen at one moment. Close it, or use it with ``with``."""

    def __init__(
        self,
        lease: Lease,
        wave: Wave,
        opened: Callable[[RunRef], Run],
        now: int | None,
        *,
        soft: bool,
    ) -> None:
        if now is not None and wave.now is not None and now < wave.now:
            raise DayError(
                where=f"day {now}",
                expected=f"day {wave.now}, to which the window has moved, or a later one",
                found=str(now),
                remedy="days in the window are read with t1 and t2; older ones are gone",
            )
        self.version = lease.manifest.version
        self.now = wave.now if now is None else now
        self._release = weakref.finalize(self, lease.release)  # also if nobody closes it
        self._lease, self._wave, self._opened, self._soft = lease, wave, opened, soft
        self._schema = lease.manifest.layout.given(lease.manifest.encodings)
        self._default = tuple(lease.manifest.layout.schema.names)
        self._chosen: dict[tuple[str, ...], pa.Schema] = {}
        self._sources: dict[tuple[int | None, int | None], list[tuple[Run, Only]]] = {}

    def probe(
        self,
        key: Any,
        t1: int | None = None,
        t2: int | None = None,
        *,
        columns: Sequence[str] | None = None,
    ) -> pa.Table:
        """TimedIndexProbe: entries with a key (or one of several, or in a ``Range``) of days t1-t2.

        Without t1 and t2 it is an IndexProbe of the whole window. A composite key is a tuple; one
        that is shorter than the key finds all that begins so. Several keys are a list, a set or an
        Arrow array.
        """
        schema = self._columns(columns)
        found: list[pa.RecordBatch] = []
        if isinstance(key, Range):
            for run, only in self._live(t1, t2):
                rows = run.directory.find_range(key.least, key.greatest)
                found += run.entries.rows(*rows, schema, only)
        elif isinstance(key, list | set | frozenset | pa.Array | pa.ChunkedArray):
            keys = list(dict.fromkeys(key.to_pylist() if hasattr(key, "to_pylist") else key))
            for run, only in self._live(t1, t2):
                ranges = apart({run.directory.find(one) for one in keys})
                found += run.entries.gather(ranges, schema, only)
        elif type(key) is tuple:
            for run, only in self._live(t1, t2):
                found += _prefix(run, key, schema, only)
        else:
            found = _buckets(self._live(t1, t2), key, schema)
        return pa.Table.from_batches(found, schema)

    def scan(
        self,
        t1: int | None = None,
        t2: int | None = None,
        *,
        columns: Sequence[str] | None = None,
    ) -> pa.Table:
        """TimedSegmentScan: all entries of days t1 to t2; without them a SegmentScan."""
        return pa.Table.from_batches(self.batches(t1, t2, columns=columns), self._columns(columns))

    def batches(
        self,
        t1: int | None = None,
        t2: int | None = None,
        *,
        columns: Sequence[str] | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """A scan, run by run, for what does not fit into memory."""
        schema = self._columns(columns)
        for run, only in self._live(t1, t2):
            yield from run.entries.rows(0, run.ref.rows, schema, only)

    def sources(self, t1: int | None = None, t2: int | None = None) -> list[tuple[RunRef, Days]]:
        """The runs that a probe or scan reads, each with the days of it that count."""
        return [(run, days) for run, days in self._parts(t1, t2)]

    @property
    def schema(self) -> pa.Schema:
        """The types of an answer with all columns."""
        return self._columns(None)

    @property
    def days(self) -> Days:
        """The days with entries that the reader sees."""
        return tuple(sorted({day for _, days in self._parts(None, None) for day in days}))

    def close(self) -> None:
        """Let go of the version; answers that were given stay good."""
        self._sources.clear()
        self._release()

    def __enter__(self) -> Reader:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _live(self, t1: int | None, t2: int | None) -> list[tuple[Run, Only]]:
        found = self._sources.get((t1, t2))
        if found is None:
            if self._lease.handle is None:
                raise ArchiveError(
                    where="reader", expected="an open reader", found="one that was closed"
                )
            found = [
                (self._opened(run), ALL if len(days) == len(run.days) else Only(days))
                for run, days in self._parts(t1, t2)
            ]
            if len(self._sources) >= _REMEMBERED:
                self._sources.clear()
            self._sources[t1, t2] = found
        return found

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

    def _columns(self, names: Sequence[str] | None) -> pa.Schema:
        chosen = self._default if names is None else tuple(names)
        schema = self._chosen.get(chosen)
        if schema is None:
            unknown = [name for name in chosen if name not in self._schema.names]
            if unknown or not chosen:
                raise ArchiveError(
                    where="columns",
                    expected=f"some of {', '.join(self._schema.names)}",
                    found=", ".join(unknown) or "none",
                )
            schema = pa.schema([self._schema.field(name) for name in chosen])
            self._chosen[chosen] = schema
        return schema


_REMEMBERED = 64


def _buckets(sources: list[tuple[Run, Only]], key: Any, schema: pa.Schema) -> list[pa.RecordBatch]:
    """The entries of a key of one column: a microsecond counts here, once for every run."""
    if not sources:
        return []
    if len(sources[0][0].layout.key) > 1:
        return [b for run, only in sources for b in _prefix(run, (key,), schema, only)]
    sought = sources[0][0].directory.sought(key)
    found: list[pa.RecordBatch] = []
    for run, only in sources:
        start, stop = run.directory.bucket(sought)
        if start < stop:
            found += run.entries.bucket(start, stop, schema, only)
    return found


def _prefix(run: Run, key: tuple[Any, ...], schema: pa.Schema, only: Only) -> list[pa.RecordBatch]:
    start, stop = run.directory.find(key)
    if start == stop:
        return []
    if len(key) < len(run.layout.key):  # several buckets
        return run.entries.rows(start, stop, schema, only)
    return run.entries.bucket(start, stop, schema, only)


def apart(ranges: set[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ranges in ascending order without those that lie in another, as a key's in its prefix's."""
    found: list[tuple[int, int]] = []
    for start, stop in sorted(ranges, key=lambda r: (r[0], -r[1])):
        if stop > start and (not found or start >= found[-1][1]):
            found.append((start, stop))
    return found


def _seen(wave: Wave) -> Iterable[Part]:
    """Everything that a query may look at: constituents, old ones too, and days ahead."""
    for index in (*wave.constituents().values(), *wave.draining.values()):
        yield from index.parts
    for runs in wave.ahead.values():
        yield from (Part(run) for run in runs)
