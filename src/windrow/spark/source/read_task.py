"""A stream in tasks: its files are read once, and what they hold is packed for every job.

Rows that are late, or cannot be used, go to the quarantine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from windrow.columns.delta import Delta, concat
from windrow.columns.types import arrow_schema
from windrow.core.errors import InputError
from windrow.core.thresholds import Threshold
from windrow.object_store.object_path import path_of, readable_path
from windrow.plan.nodes import FileSource
from windrow.spark.source.file_log import Entry, Stretch
from windrow.spark.source.file_source import SourceSpec
from windrow.spark.source.judged_file import JudgedFile
from windrow.spark.source.relation_updates import read_updates
from windrow.spark.source.text_spool import read_spooled
from windrow.spark.stage.level_task import failing_alone
from windrow.spark.stage.packing import Counts, Parcel, Scattered, add_counts, scatter, tell
from windrow.spark.stage.routes import Routes
from windrow.streams.growing_files import mark_of
from windrow.streams.quarantine import NO_PAGE, Page, Quarantine
from windrow.streams.stream_time import StreamTime
from windrow.tables.parsed_rows import Rejected

ROWS_PER_BLOB = Threshold(1_000_000, least=1)
"""Tuples that a task gathers before it packs them."""

Parcels = dict[tuple[int, int], Parcel]
"""By stage and bucket."""


class Intake:
    """The input monitor of a stretch of a stream's log; ``counts`` is right when all is read.

    Text was judged when it was admitted, and is in the spool (``windrow.spark.source.text_spool``).
    Other files are judged here, by what the log says, in any order and as often as they are read.
    """

    def __init__(
        self, spec: SourceSpec, quarantine: Quarantine | None, rows_per_delta: int
    ) -> None:
        self._declaration, self._relation = spec.declaration, spec.relation
        self._since, self._log = spec.since, Path(spec.log)
        self._quarantine = quarantine
        self._rows = rows_per_delta
        self._schema = arrow_schema((spec.relation or spec.declaration).schema)
        self.counts: Counts = {"rows_in": 0, "late": 0, "rejected": 0, "cut": 0}

    def files(self, entries: Iterable[tuple[Entry, StreamTime]]) -> Iterator[Delta]:
        """The tuples of the files among the entries, given the stream's time before each."""
        gathered: list[Delta] = []
        for entry, before in entries:
            if entry.path is None:
                continue
            if entry.refused:
                self._refused(entry)
                continue
            parts = self._file(entry, before) if self._relation is None else self._updates(entry)
            for delta in parts:
                gathered.append(delta)
                if sum(map(len, gathered)) >= self._rows:
                    yield concat(gathered, self._schema)
                    gathered = []
        if gathered:
            yield concat(gathered, self._schema)

    def _updates(self, entry: Entry) -> Iterator[Delta]:
        """A relation's updates, which have been judged; those before ``since`` come together."""
        delta = read_updates(entry.path or "", self._schema)
        found = {"late": entry.late, "rejected": entry.rejected, "cut": entry.cut}
        self._add({"rows_in": len(delta), **found})
        yield replace(delta, ts=np.maximum(delta.ts, self._since))

    def _file(self, entry: Entry, before: StreamTime) -> Iterator[Delta]:
        spooled = read_spooled(self._log, entry.spool) if entry.spool else None
        if spooled is not None:
            yield from spooled.deltas(self._declaration)
            self._add({**spooled.counts, "rejected": spooled.counts["rejected"] + entry.rejected})
        else:
            yield from self._source_file(entry, before)

    def _source_file(self, entry: Entry, before: StreamTime) -> Iterator[Delta]:
        declaration, path = self._declaration, Path(entry.path or "")
        if entry.inbox is not None:
            path = readable_path(path_of(entry.path or ""))
            declaration = replace(declaration, source=FileSource(str(path), "parquet"))
        judged = JudgedFile(declaration, before, entry.horizon)
        with self._page(entry) as page:
            try:
                _check_unchanged(entry)
                yield from judged.deltas(path, entry.part, page)
            except InputError as error:
                page.add([Rejected(0, str(error), "")])
                self.counts["rejected"] += 1
        self._add({**judged.counts, "rejected": judged.counts["rejected"] + entry.rejected})

    def _add(self, counts: Counts) -> None:
        for name, count in counts.items():
            self.counts[name] += count

    def _refused(self, entry: Entry) -> None:
        """What the driver found that it could not be read."""
        self.counts["rejected"] += 1
        with self._page(entry) as page:
            page.add([Rejected(entry.row, entry.refused, entry.text)])

    @contextmanager
    def _page(self, entry: Entry) -> Iterator[Page]:
        """Where what cannot be used of an entry goes."""
        path, name = Path(entry.path or ""), self._declaration.name
        if self._quarantine is None or entry.inbox is not None:
            yield NO_PAGE
            return
        with self._quarantine.page(name, path, entry.part.start) as page:
            yield page


def _check_unchanged(entry: Entry) -> None:
    """A repeated micro-batch reads the bytes that were admitted, or none."""
    if entry.mark and mark_of(Path(entry.path or ""), entry.end_of_part) != entry.mark:
        raise InputError(
            where=entry.path or "",
            expected="the file unchanged since it was added to the log",
            found="a changed file, or none",
            remedy="none of these rows are read: write them to a new file, and do not change files "
            "before they are read",
        )


@dataclass(frozen=True)
class StreamTask:
    """What tasks need to know of a stream: how to read it, and where its tuples go, by job."""

    spec: SourceSpec
    routes: tuple[tuple[int, Routes], ...]

    def parcels(
        self, stretch: Stretch, jobs: frozenset[int], wanted: frozenset[int] | None = None
    ) -> Iterator[tuple[int, Parcels]]:
        """The tuples of a stretch for each of some jobs, then what is known of time.

        Of other buckets than the ``wanted`` ones nothing is sent. Who has a job's first bucket
        tells it the counts, and who has the first of all keeps the quarantine.
        """
        spec = self.spec
        asked = {job: r for job, r in self.routes if job in jobs}
        first = not asked or wanted is None or self._first_bucket in wanted
        routes = {
            job: replace(route, wanted=wanted)
            for job, route in asked.items()
            if wanted is None or not wanted.isdisjoint(route.buckets)
        }
        quarantine = spec.quarantine if first else None
        intake = Intake(spec, quarantine, ROWS_PER_BLOB.value)
        counts: dict[int, Counts] = {job: {} for job in routes}
        before = zip(stretch.entries, stretch.times, strict=False)
        for chunk, delta in enumerate(intake.files(before)):
            known: Scattered = {}
            for job, route in routes.items():
                with failing_alone(job):
                    order = (stretch.first, chunk)
                    yield job, scatter(delta, route, counts[job], order, known)
        for job, route in routes.items():
            buckets = [b for b in route.buckets if wanted is None or b in wanted]
            if buckets:
                told: Parcels = {}
                counting = route.buckets[0] in buckets
                counted = add_counts([intake.counts, counts[job]]) if counting else {}
                tell(told, 0, buckets, {spec.name: stretch.times[-1]}, counted)
                yield job, told

    @property
    def _first_bucket(self) -> int:
        """The same in every micro-batch, whichever jobs take part in it."""
        return min(bucket for _, routes in self.routes for bucket in routes.buckets)
