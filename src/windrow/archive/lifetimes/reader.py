"""Reading an index of variable lifetimes: probes and scans of what is alive.

A reader pins a version and an instant when it opens. Runs that have died wholly are not opened;
of the others each bucket is ordered by expiry, so a probe finds its living by binary search and
copies nothing. Answers are Arrow tables with columns as they are stored (what repeats is
dictionary-encoded); the order of entries is not defined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any

import pyarrow as pa

from windrow.archive.errors import ArchiveError
from windrow.archive.lifetimes.contents import Contents
from windrow.archive.lifetimes.living import living
from windrow.archive.lifetimes.periods import LifetimeError
from windrow.archive.reader import Range, apart
from windrow.archive.runs.open import ALL, Only, Run
from windrow.archive.runs.ref import RunRef
from windrow.archive.versions import Lease

Schemas = dict[tuple[tuple[str, ...], tuple[tuple[str, str], ...]], pa.Schema]
"""By columns and encodings. Open runs know a schema by its identity, so readers share them."""


class LifetimeReader:
    """One version as seen at one instant. Close it, or use it with ``with``.

    ``t1`` and ``t2`` restrict an answer to what was inserted in these periods and between.
    Cost of a probe: a binary search in the directory of each run, and one in its bucket.
    """

    def __init__(
        self,
        lease: Lease,
        contents: Contents,
        opened: Callable[[RunRef], Run],
        schemas: Schemas,
        now: int | None,
    ) -> None:
        if now is not None and contents.now is not None and now < contents.now:
            raise LifetimeError(
                where=f"reading at {now}",
                expected=f"the instant of the last update, {contents.now}, or a later one",
                found=str(now),
                remedy="what has expired by then may be gone",
            )
        self.version = lease.manifest.version
        self.now = contents.now if now is None else now
        self._lease, self._opened, self._schemas = lease, opened, schemas
        self._schema = lease.manifest.layout.given(lease.manifest.encodings)
        self._default = tuple(lease.manifest.layout.schema.names)
        self._sources: dict[tuple[int | None, int | None], list[tuple[Run, Only]]] = {}

    def probe(
        self,
        key: Any,
        t1: int | None = None,
        t2: int | None = None,
        *,
        columns: Sequence[str] | None = None,
    ) -> pa.Table:
        """Living entries with a key, or one of several (a list, a set), or in a ``Range``.

        A composite key is a tuple; one that is shorter than the key finds all that begins so.
        """
        schema = self._columns(columns)
        found: list[pa.RecordBatch] = []
        for run, only in self._live(t1, t2):
            found += _found(run, key, schema, only)
        return pa.Table.from_batches(found, schema)

    def scan(
        self,
        t1: int | None = None,
        t2: int | None = None,
        *,
        columns: Sequence[str] | None = None,
    ) -> pa.Table:
        """All living entries."""
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
            if only.after is not None and only.days is None:
                yield from living(run, schema, only.after)
            else:
                yield from run.entries.rows(0, run.ref.rows, schema, only)

    def sources(self, t1: int | None = None, t2: int | None = None) -> list[tuple[RunRef, Only]]:
        """The runs that a probe or scan reads, and which of their entries count."""
        chosen = ((run, self._only(run, t1, t2)) for run in self._lease.manifest.runs)
        return [(run, only) for run, only in chosen if only is not None]

    def close(self) -> None:
        """Let go of the version; answers that were given stay good."""
        self._sources.clear()
        self._lease.release()

    def __enter__(self) -> LifetimeReader:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _live(self, t1: int | None, t2: int | None) -> list[tuple[Run, Only]]:
        """The runs that may have an answer, and which of their entries count."""
        if self._lease.handle is None:
            raise ArchiveError(
                where="reader", expected="an open reader", found="one that was closed"
            )
        found = self._sources.get((t1, t2))
        if found is None:
            found = [(self._opened(run), only) for run, only in self.sources(t1, t2)]
            if len(self._sources) >= _REMEMBERED:
                self._sources.clear()
            self._sources[t1, t2] = found
        return found

    def _only(self, run: RunRef, t1: int | None, t2: int | None) -> Only | None:
        assert run.expiries is not None, "an index of lifetimes keeps expiries"
        assert self.now is not None, "there are no runs before the first update"
        if run.expiries[1] <= self.now:
            return None
        inserted = [day for day, _ in run.days]
        wanted = tuple(
            day for day in inserted if (t1 is None or t1 <= day) and (t2 is None or day <= t2)
        )
        days = None if len(wanted) == len(inserted) else wanted
        after = None if run.expiries[0] > self.now else self.now + 1
        if days == ():
            return None
        return ALL if days is None and after is None else Only(days, after)

    def _columns(self, names: Sequence[str] | None) -> pa.Schema:
        chosen = self._default if names is None else tuple(names)
        types = tuple(sorted(self._lease.manifest.encodings.items()))
        schema = self._schemas.get((chosen, types))
        if schema is None:
            unknown = [name for name in chosen if name not in self._schema.names]
            if unknown or not chosen:
                raise ArchiveError(
                    where="columns",
                    expected=f"some of {', '.join(self._schema.names)}",
                    found=", ".join(unknown) or "none",
                )
            schema = pa.schema([self._schema.field(name) for name in chosen])
            self._schemas[chosen, types] = schema
        return schema


_REMEMBERED = 64


def _found(run: Run, key: Any, schema: pa.Schema, only: Only) -> list[pa.RecordBatch]:
    entries, directory = run.entries, run.directory
    if isinstance(key, Range):
        return entries.rows(*directory.find_range(key.least, key.greatest), schema, only)
    if isinstance(key, list | set | frozenset):
        ranges = apart({directory.find(one) for one in key})
        return entries.gather(ranges, schema, only) if ranges else []
    start, stop = directory.find(key)
    if start == stop:
        return []
    given = len(key) if type(key) is tuple else 1
    if given < len(run.layout.key):  # several buckets
        return entries.rows(start, stop, schema, only)
    return entries.bucket(start, stop, schema, only)
