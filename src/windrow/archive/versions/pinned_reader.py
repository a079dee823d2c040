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
from windrow.archive.format.kernel_use import kernels_pay
from windrow.archive.format.run_ref import RunRef
from windrow.archive.runs.encoding import decode
from windrow.archive.runs.entries import positions, remember
from windrow.archive.runs.probe_plan import ProbePlan
from windrow.archive.runs.run import Only, Run
from windrow.archive.runs.run_directory import Finder
from windrow.archive.runs.stored_rows import StoredRows, StoredTable
from windrow.archive.runs.totals import (
    RunColumns,
    add_runs,
    add_table,
    columns_to_add,
    merge_totals,
)
from windrow.archive.versions.versions import Lease
from windrow.core.thresholds import Threshold

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


_NOT_ONE = (list, set, frozenset, pa.Array, pa.ChunkedArray, Range, tuple)


class Sources(list[tuple[Run, Only]]):
    """The runs that a probe looks into, and which of their entries count.

    The first few keys are looked up run by run: a plan opens the entries of all runs, which takes
    longer than a look-up. ``looks`` counts them.
    """

    looks = 0

    @cached_property
    def finder(self) -> Finder:
        return Finder([run.directory for run, _ in self])

    @cached_property
    def plans(self) -> dict[int, ProbePlan]:
        """By the identity of a schema."""
        return {}

    @cached_property
    def _suits(self) -> bool:
        return ProbePlan.suits(self)

    def plan_pays(self) -> bool:
        """Whether to make a plan for the keys to come, if kernels find them."""
        self.looks += 1
        return self.looks > _FEW_LOOKS.value and bool(self) and self._suits and kernels_pay(1)


_FEW_LOOKS = Threshold(4, least=0)
"""Keys that are looked up without a plan."""


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
        self._usual: ProbePlan | None = None  # for all columns and all time, which are asked most
        self._sources: dict[tuple[int | None, int | None], Sources] = {}

    @abstractmethod
    def choose_runs(self, t1: int | None, t2: int | None) -> Iterator[tuple[RunRef, Only]]:
        """The runs that may have an answer from t1 to t2, and which of their entries count."""

    def find(
        self,
        key: Any,
        t1: int | None = None,
        t2: int | None = None,
        *,
        columns: Sequence[str] | None = None,
    ) -> StoredRows | StoredTable:
        """The entries of a key as they are stored: found, and nothing copied.

        ``table()``, ``plain()`` and ``rows()`` of what is returned give them as ``probe`` does, as
        its ``plain`` answer, and as Python tuples.
        """
        plan = self._usual
        if plan is not None and t1 is None and t2 is None and columns is None:
            if type(key) is str or not isinstance(key, _NOT_ONE):
                return plan.find(key)
        elif not self._one_by_one(key):
            plan = self._plan(t1, t2, self._columns(columns))
            if plan is not None:
                return plan.find(key)
        return StoredTable(self.probe(key, t1, t2, columns=columns))

    def rows(
        self,
        key: Any,
        t1: int | None = None,
        t2: int | None = None,
        *,
        columns: Sequence[str] | None = None,
    ) -> list[tuple[Any, ...]]:
        """The entries of a key as tuples of Python values."""
        return self.find(key, t1, t2, columns=columns).rows()

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
        if not self._one_by_one(key):
            plan = self._plan(t1, t2, schema)
            if plan is not None:
                stored = plan.find(key)
                return stored.plain() if plain else stored.table()
        if plain:
            return decode(self.probe(key, t1, t2, columns=columns))
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
            for (run, only), (start, stop) in zip(
                sources, sources.finder.buckets(key), strict=True
            ):
                if start < stop:
                    found += run.entries.bucket(start, stop, schema, only)
        return pa.Table.from_batches(found, schema)

    def scan(
        self, t1: int | None = None, t2: int | None = None, *, columns: Sequence[str] | None = None
    ) -> pa.Table:
        """TimedSegmentScan: all entries from t1 to t2; without them a SegmentScan."""
        return pa.Table.from_batches(self.batches(t1, t2, columns=columns), self._columns(columns))

    def totals(
        self,
        by: str,
        sums: Sequence[str] = (),
        t1: int | None = None,
        t2: int | None = None,
    ) -> dict[Any, tuple[Any, ...]]:
        """A scan that is added up: for each value of a column how many entries have it, and the
        sums of other columns. NULLs count for nothing in a sum.
        """
        columns = list(dict.fromkeys([by, *sums]))
        schema, parts = self._columns(columns), []
        runs: list[RunColumns] = []
        for run, only in self._live(t1, t2):
            mapped = run.entries.map_scan(schema, only)
            found = [columns_to_add(one, by, sums) for one in mapped or ()]
            addable = [one for one in found if one is not None]
            if mapped is None or len(addable) < len(mapped):
                table = pa.Table.from_batches(self._rows(run, schema, only), schema)
                parts.append(add_table(table, by, sums))
            else:
                runs += addable
        return merge_totals([*parts, *add_runs(runs)])

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
        self._usual = None
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

    def _one_by_one(self, key: Any) -> bool:
        """Whether a key is not a single value, for which a plan can be made."""
        return isinstance(key, _NOT_ONE) or self._lists is not None or len(self._key) > 1

    def _plan(self, t1: int | None, t2: int | None, schema: pa.Schema) -> ProbePlan | None:
        """How keys of one column are found in the runs from t1 to t2; None where it does not pay,
        or cannot be.
        """
        sources = self._live(t1, t2)
        plan = sources.plans.get(id(schema))
        if plan is None and sources.plan_pays():
            types = self._lease.manifest.layout.reader_schema({})
            plain = pa.schema([types.field(name) for name in schema.names])
            plan = ProbePlan(sources, schema, plain, types.field(self._key[0]))
            remember(sources.plans, id(schema), plan)
            if t1 is None and t2 is None and schema is self._columns(None):
                self._usual = plan
        return plan

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
