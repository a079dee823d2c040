"""What every reader of a version does, whatever kind of index the version is of.

A reader pins a version and a moment when it opens and answers from them until it is closed,
whatever is published or reclaimed meanwhile. It waits for nobody. Answers are Arrow tables with
the columns in the types in which they are stored: what repeats comes dictionary-encoded
(``decode`` turns it into plain types). The order of entries is not defined.

A kind of index says which runs may have an answer, and which of their entries count.
"""

from __future__ import annotations

import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
import pyarrow.compute as pc

from windrow.archive.errors import ArchiveError
from windrow.archive.format.run_ref import RunRef
from windrow.archive.runs.arrow_entries import Copier
from windrow.archive.runs.encoding import decode
from windrow.archive.runs.entries import positions, remember
from windrow.archive.runs.run import Only, Run
from windrow.archive.runs.run_directory import Finder, Known
from windrow.archive.versions.versions import Lease

Schemas = dict[tuple[tuple[str, ...], tuple[tuple[str, str], ...]], pa.Schema]
"""By columns and encodings. Open runs know a schema by its identity, so readers share them."""
_SEVERAL = list | set | frozenset | pa.Array | pa.ChunkedArray


@dataclass(frozen=True)
class Range:
    """All keys between two, both included; None leaves a side open.

    >>> Range("10.0.0", "10.1"), Range(least=7).greatest is None
    (Range(least='10.0.0', greatest='10.1'), True)
    """

    least: Any = None
    greatest: Any = None


class Sources(list[tuple[Run, Only]]):
    """The runs that a probe looks into, and which of their entries count."""

    @cached_property
    def finder(self) -> Finder:
        return Finder([run.directory for run, _ in self])

    @cached_property
    def _known(self) -> dict[int, tuple[pa.Schema, Known]]:
        return {}

    def known_for(self, schema: pa.Schema) -> Known:
        """What is known of having buckets with the columns of a schema; by its identity."""
        found = self._known.get(id(schema))
        if found is None:
            found = remember(self._known, id(schema), (schema, Known(len(self))))
        return found[1]

    def bucket(self, place: int, start: int, stop: int, schema: pa.Schema) -> list[pa.RecordBatch]:
        """A bucket of one of the runs, which is had directly from the next time on if it can be."""
        run, only = self[place]
        found = run.entries.bucket(start, stop, schema, only)
        direct = run.entries.direct(schema, only)
        if direct is not None:
            self.known_for(schema).add(place, direct)
        return found


class PinnedReader(ABC):
    """One version as seen at one moment. Close it, or use it with ``with``."""

    def __init__(
        self, lease: Lease, opened: Callable[[RunRef], Run], schemas: Schemas, now: int | None
    ) -> None:
        self.version, self.now = lease.manifest.version, now
        self._release = weakref.finalize(self, lease.release)  # also if nobody closes it
        self._lease, self._opened, self._schemas = lease, opened, schemas
        self._schema = lease.manifest.layout.reader_schema(lease.manifest.encodings)
        self._types = tuple(sorted(lease.manifest.encodings.items()))
        self._key, self._lists = lease.manifest.layout.key, lease.manifest.layout.list_key
        self._default = tuple(lease.manifest.layout.schema.names)
        self._copiers: dict[int, Copier] = {}  # by the identity of a schema in ``schemas``
        self._sources: dict[tuple[int | None, int | None], Sources] = {}

    @abstractmethod
    def choose_runs(self, t1: int | None, t2: int | None) -> Iterator[tuple[RunRef, Only]]:
        """The runs that may have an answer from t1 to t2, and which of their entries count."""

    def probe(
        self,
        key: Any,
        t1: int | None = None,
        t2: int | None = None,
        *,
        columns: Sequence[str] | None = None,
        plain: bool = False,
    ) -> pa.Table:
        """TimedIndexProbe: entries with a key (or one of several, or in a ``Range``), t1 to t2.

        Without t1 and t2 it is an IndexProbe of everything. A composite key is a tuple; one that
        is shorter than the key finds all that begins so. Several keys are a list, a set or an
        Arrow array. A record whose key is a list is found under each of its values, whole, and once
        under several. A ``plain`` answer is decoded, and copied out of the files; for a single
        key that takes about as long again as finding it.
        """
        schema = self._columns(columns)
        if plain:
            copied = (
                None
                if self._lists or isinstance(key, _SEVERAL | Range | tuple)
                else self._copy(key, t1, t2, schema)
            )
            return decode(self.probe(key, t1, t2, columns=columns)) if copied is None else copied
        found: list[pa.RecordBatch] = []
        if self._lists is not None:
            found = self._records(key, t1, t2, schema)
        elif isinstance(key, Range):
            for run, only in self._live(t1, t2):
                rows = run.directory.find_range(key.least, key.greatest)
                found += run.entries.rows(*rows, schema, only)
        elif isinstance(key, _SEVERAL):
            keys = _keys(key)
            for run, only in self._live(t1, t2):
                ranges = _apart({run.directory.find(one) for one in keys})
                found += run.entries.take(positions(ranges), schema, only)
        elif type(key) is tuple:
            for run, only in self._live(t1, t2):
                found += _prefix(run, key, schema, only)
        elif len(self._key) > 1:
            for run, only in self._live(t1, t2):
                found += _prefix(run, (key,), schema, only)
        else:
            sources = self._live(t1, t2)
            known = sources.known_for(schema)
            buckets = sources.finder.buckets(key, known)
            for place, (start, stop) in enumerate(buckets):
                if start < stop:
                    direct = known.slices[place]
                    if direct is None:
                        found += sources.bucket(place, start, stop, schema)
                    else:
                        found.append(direct(start, stop))  # may be empty
        return pa.Table.from_batches(found, schema)

    def scan(
        self, t1: int | None = None, t2: int | None = None, *, columns: Sequence[str] | None = None
    ) -> pa.Table:
        """TimedSegmentScan: all entries from t1 to t2; without them a SegmentScan."""
        return pa.Table.from_batches(self.batches(t1, t2, columns=columns), self._columns(columns))

    def batches(
        self, t1: int | None = None, t2: int | None = None, *, columns: Sequence[str] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """A scan, run by run, for what does not fit into memory."""
        schema = self._columns(columns)
        for run, only in self._live(t1, t2):
            yield from self._rows(run, schema, only)

    def batches_matching(
        self,
        condition: pc.Expression,
        t1: int | None = None,
        t2: int | None = None,
        *,
        columns: Sequence[str] | None = None,
        schema: pa.Schema | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """A scan of the keys that may satisfy a condition; it has to be applied to them still.

        ``schema`` has the plain types for which the condition was made, the entries' if not given.
        """
        # Imported late: Arrow's datasets load pandas at once.
        from windrow.archive.versions.condition_pruning import rows_for  # noqa: PLC0415

        given = self._columns(columns)
        types = self._lease.manifest.layout.reader_schema({}) if schema is None else schema
        for run, only in self._live(t1, t2):
            for start, stop in rows_for(condition, types, run):
                if stop - start == run.ref.rows:
                    yield from self._rows(run, given, only)
                else:
                    yield from run.entries.rows(start, stop, given, only)

    def _records(
        self, key: Any, t1: int | None, t2: int | None, schema: pa.Schema
    ) -> list[pa.RecordBatch]:
        """Records that have a list for a key, under one of its values or several: once each."""
        found: list[pa.RecordBatch] = []
        for run, only in self._live(t1, t2):
            if isinstance(key, Range):
                places = [run.directory.find_range(key.least, key.greatest)]
            elif isinstance(key, _SEVERAL):
                places = [run.directory.find(one) for one in _keys(key)]
            else:
                places = [run.directory.find(key)]
            rows = run.directory.record_rows(places)
            if len(rows):
                found += run.entries.take(rows, schema, only)
        return found

    def _rows(self, run: Run, schema: pa.Schema, only: Only) -> Iterator[pa.RecordBatch]:
        """All entries of a run that count."""
        yield from run.entries.rows(0, run.ref.rows, schema, only)

    @property
    def schema(self) -> pa.Schema:
        """The types of an answer with all columns."""
        return self._columns(None)

    def close(self) -> None:
        """Let go of the version; answers that were given stay good."""
        self._sources.clear()
        self._release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _live(self, t1: int | None, t2: int | None) -> Sources:
        found = self._sources.get((t1, t2))
        if found is None:
            if self._lease.handle is None:
                raise ArchiveError(
                    where="reader", expected="an open reader", found="one that was closed"
                )
            found = Sources((self._opened(run), only) for run, only in self.choose_runs(t1, t2))
            remember(self._sources, (t1, t2), found)
        return found

    def _copy(self, key: Any, t1: int | None, t2: int | None, schema: pa.Schema) -> pa.Table | None:
        """The entries of a key of one column in plain types; None if they cannot be copied so."""
        if len(self._key) > 1:
            return None
        sources = self._live(t1, t2)
        copier = self._copiers.get(id(schema))
        if copier is None:
            types = self._lease.manifest.layout.reader_schema({})
            copier = Copier(pa.schema([types.field(name) for name in schema.names]))
            self._copiers[id(schema)] = copier
        pieces = []
        for (run, only), (start, stop) in zip(sources, sources.finder.buckets(key), strict=True):
            if start < stop:
                piece = run.entries.piece(start, stop, copier.schema, only)
                if piece is None:
                    return None
                pieces.append(piece)
        if not pieces:
            return copier.schema.empty_table()
        batch = copier.batch(pieces)
        return None if batch is None else pa.Table.from_batches([batch], copier.schema)

    def _columns(self, names: Sequence[str] | None) -> pa.Schema:
        chosen = self._default if names is None else tuple(names)
        schema = self._schemas.get((chosen, self._types))
        if schema is None:
            unknown = [name for name in chosen if name not in self._schema.names]
            if unknown or not chosen:
                raise ArchiveError(
                    where="columns",
                    expected=f"some of {', '.join(self._schema.names)}",
                    found=", ".join(unknown) or "none",
                )
            schema = pa.schema([self._schema.field(name) for name in chosen])
            self._schemas[chosen, self._types] = schema
        return schema


def _keys(several: Any) -> list[Any]:
    """Several keys, each once."""
    listed = several.to_pylist() if hasattr(several, "to_pylist") else several
    return list(dict.fromkeys(listed))


def _prefix(run: Run, key: tuple[Any, ...], schema: pa.Schema, only: Only) -> list[pa.RecordBatch]:
    start, stop = run.directory.find(key)
    if start == stop:
        return []
    if len(key) < len(run.layout.key):  # several buckets
        return run.entries.rows(start, stop, schema, only)
    return run.entries.bucket(start, stop, schema, only)


def _apart(ranges: set[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ranges in ascending order without those that lie in another, as a key's in its prefix's."""
    found: list[tuple[int, int]] = []
    for start, stop in sorted(ranges, key=lambda r: (r[0], -r[1])):
        if stop > start and (not found or start >= found[-1][1]):
            found.append((start, stop))
    return found
