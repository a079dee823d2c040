"""Filling an archive from Spark: tasks write runs, the driver publishes them.

A task gives its rows their day (``Stamps``) and hands them to the archive's own run writer, which
sorts them in linear time and in bounded memory. The driver holds the writer's lease from before the
first task starts until all is published, so a vacuum in between takes no file; one that died leaves
files that a vacuum removes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame

from windrow.archive.archive import Archive, open_archive
from windrow.archive.errors import ArchiveError, DayError
from windrow.archive.format.day_calendar import NUMBERS, Calendar
from windrow.archive.format.layout import Layout
from windrow.archive.format.run_ref import Format, RunRef
from windrow.archive.lifetimes.lifetime_index import LifetimeIndex
from windrow.archive.runs.run import Run
from windrow.archive.versions.versioned_index import disk_at
from windrow.archive.wave.transition import WriteSession
from windrow.archive.wave.writer import AT_ONCE, Writer
from windrow.core.errors import InputError
from windrow.spark.frozen_imports import freeze_imports

REPORT = "day int, run string, encodings string, latest bigint"
"""What a task tells the driver: a row for each run that it has written."""
MOST = 2**31


def append(
    frame: DataFrame,
    archive: Archive | str | Path,
    day: int,
    *,
    now: int | None = None,
    batch: tuple[str, int] | None = None,
) -> int:
    """Keep a DataFrame as the records of a day, as ``Archive.append`` does. Returns the version.

    Rows are dealt out to the tasks by ranges of the key, so a key's bucket is in one run; that
    computes the DataFrame twice, once to learn the ranges. As many runs come of it as the session
    has cores; the archive merges them when the day goes into an index that is packed.
    """
    archive = archive_of_days(archive)
    spark = frame.sparkSession
    with archive.session() as session:
        if session.has(batch):
            return session.version
        session.check([day], now)
        tasks = spark.sparkContext.defaultParallelism
        chosen = declared_columns(frame, archive.layout)
        ranged = chosen.repartitionByRange(tasks, *(f"`{name}`" for name in archive.layout.key))
        written = write_runs(ranged, archive, session, Stamps(day))
        return session.commit(written.runs, now=now, batch=batch, encodings=written.encodings)


def archive_of_days(given: Archive | LifetimeIndex | str | Path) -> Archive:
    """What tasks can fill; an error that says how to fill an index of lifetimes, if it is one."""
    found = open_archive(given) if isinstance(given, str | Path) else given
    if isinstance(found, LifetimeIndex):
        raise ArchiveError(
            where=found.disk.where(),
            expected="an archive of days",
            found="an index of records with lifetimes, which tasks do not write",
            remedy="LifetimeIndex.insert(now, frame, expiries) takes a DataFrame in by way of the "
            "driver; CREATE ARCHIVE ... USING GRID in a script takes a stream in",
        )
    return found


@dataclass(frozen=True)
class WrittenRuns:
    """What tasks have written, by day, and the latest instant that they have seen."""

    runs: dict[int, Sequence[RunRef]]
    encodings: list[dict[str, str]]
    latest: int | None


def declared_columns(frame: DataFrame, layout: Layout) -> DataFrame:
    """The columns of an archive, or an error that names the missing ones."""
    missing = [name for name in layout.schema.names if name not in frame.columns]
    if missing:
        raise ArchiveError(
            where="DataFrame",
            expected=f"the columns {', '.join(layout.schema.names)}",
            found=f"no {', '.join(missing)}",
        )
    return frame.select(*(f"`{name}`" for name in layout.schema.names))


def write_runs(
    frame: DataFrame, archive: Archive, session: WriteSession, stamps: Stamps
) -> WrittenRuns:
    """Write a DataFrame's rows in its partitions, a run for each day that a partition has."""
    base = session.base
    task = RunTask(
        archive.disk.address(), base.layout, base.format, dict(base.encodings),
        session.name("task"), stamps,
    )  # fmt: skip
    runs: dict[int, Sequence[RunRef]] = {}
    encodings, latest = [], []
    for row in _numbered(frame).mapInArrow(task, REPORT).collect():
        if row.latest is not None:
            latest.append(row.latest)
        if row.run is not None:
            runs[row.day] = (*runs.get(row.day, ()), RunRef.from_json(json.loads(row.run)))
            encodings.append(json.loads(row.encodings))
    return WrittenRuns(runs, encodings, max(latest, default=None))


def latest_of(frame: DataFrame, stamps: Stamps) -> int | None:
    """The latest instant in a DataFrame of just the column of time."""
    rows = _numbered(frame).mapInArrow(_Latest(stamps), "latest bigint").collect()
    return max((row.latest for row in rows), default=None)


def _numbered(frame: DataFrame) -> DataFrame:
    """Columns under plain names: ``mapInArrow`` looks for a part of a column behind every dot."""
    return frame.toDF(*(f"c{place}" for place in range(len(frame.columns))))


@dataclass(frozen=True)
class _Latest:
    stamps: Stamps

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            _, latest = self.stamps.of(batch.rename_columns([self.stamps.column]))
            if latest is not None:
                yield pa.record_batch({"latest": pa.array([latest], pa.int64())})


@dataclass(frozen=True)
class RunTask:
    """The part of writing that is done in tasks; an attempt's files have its number in them."""

    root: str
    layout: Layout
    format: Format
    encodings: dict[str, str]
    token: str
    stamps: Stamps

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        freeze_imports()
        context = TaskContext.get()
        assert context is not None, "called by Spark, in a task"
        disk, layout = disk_at(self.root), self.layout
        writer = Writer(
            disk, layout, self.format, self.encodings, f"{self.token}-{context.taskAttemptId()}",
            lambda ref: Run(disk, layout, ref),
        )  # fmt: skip
        cut = Cut(self.stamps, writer)
        for batch in batches:
            cut.add(batch.rename_columns(layout.schema.names))
        rows = [
            {
                "day": day,
                "run": json.dumps(run.to_json()),
                "encodings": json.dumps(writer.encodings),
                "latest": cut.latest,
            }
            for day, run in cut.runs()
        ]
        yield pa.RecordBatch.from_pylist(rows, _REPORT)


_REPORT = pa.schema(
    [
        ("day", pa.int32()),
        ("run", pa.string()),
        ("encodings", pa.string()),
        ("latest", pa.int64()),
    ]
)


class Cut:
    """Rows of a task, cut into days; what would not fit into memory is written in between."""

    def __init__(self, stamps: Stamps, writer: Writer) -> None:
        self._stamps, self._writer = stamps, writer
        self._waiting: dict[int, list[pa.RecordBatch]] = {}
        self._bytes = 0
        self._written: list[tuple[int, RunRef]] = []
        self.latest: int | None = None

    def add(self, batch: pa.RecordBatch) -> None:
        if not batch.num_rows:
            return
        days, latest = self._stamps.of(batch)
        if latest is not None:
            self.latest = latest if self.latest is None else max(latest, self.latest)
        found = np.unique(days).tolist()
        for day in found:
            own = batch if len(found) == 1 else batch.filter(pa.array(days == day))
            self._waiting.setdefault(day, []).append(own)
        self._bytes += batch.nbytes
        if self._bytes >= AT_ONCE.value:
            self._write()

    def runs(self) -> list[tuple[int, RunRef]]:
        """All runs, by day."""
        self._write()
        return self._written

    def _write(self) -> None:
        for day, batches in self._waiting.items():
            run = self._writer.day(day, batches)
            if run is not None:
                self._written.append((day, run))
        self._waiting, self._bytes = {}, 0


@dataclass(frozen=True)
class Stamps:
    """Which day rows belong to: ``day``, or that of a ``column`` of time, if it is not given.

    ``kind`` is the column's type in the archive. Rows of days before ``first`` are late; they are
    given ``first``.
    """

    day: int | None = None
    column: str = ""
    kind: pa.DataType | None = None
    calendar: Calendar = NUMBERS
    first: int | None = None

    @classmethod
    def by(cls, column: str, layout: Layout, calendar: Calendar) -> Stamps:
        """By a column of an archive, if it tells days on the archive's calendar."""
        kinds = {field.name: field.type for field in layout.schema}
        fit = pa.types.is_timestamp if calendar.timestamps else pa.types.is_integer
        names = [name for name, kind in kinds.items() if fit(kind)]
        if column not in names:
            raise ArchiveError(
                where="timestamp",
                expected=f"one of the columns {', '.join(names) or '(there is none)'}",
                found=f"{column}, of type {kinds[column]}" if column in kinds else column,
                remedy="name a column of "
                + ("timestamps" if calendar.timestamps else "whole numbers, as days are here"),
            )
        return cls(None, column, kinds[column], calendar)

    def of(self, batch: pa.RecordBatch) -> tuple[np.ndarray, int | None]:
        """The day of each row, and the latest instant among them."""
        if self.day is not None:
            return np.full(batch.num_rows, self.day, np.int64), None
        times = batch.column(self.column)
        if times.null_count:
            raise InputError(
                where=f"column {self.column}",
                expected="a time in each row, which decides its day",
                found=f"{times.null_count} rows without one",
                remedy="leave them out with .where, or give them a time",
            )
        ticks = self._ticks(times)
        days = self.calendar.days_of(ticks)
        if len(days) and max(-int(days.min()), int(days.max())) >= MOST:
            raise DayError(
                where=f"column {self.column}",
                expected="times whose days have at most 31 bits",
                found=f"day {int(days[np.abs(days).argmax()])}",
                remedy="create the archive with a calendar of longer days",
            )
        if self.first is not None:
            days = np.maximum(days, self.first)
        return days, int(ticks.max()) if len(ticks) else None

    def _ticks(self, times: pa.Array) -> np.ndarray:
        """Instants as the archive will have them: the day is that of the value that is kept."""
        try:
            kept = times.cast(self.kind)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise InputError(
                where=f"column {self.column}",
                expected=f"values of type {self.kind}",
                found=str(error),
                remedy="cast the column before it is written",
            ) from error
        if pa.types.is_timestamp(kept.type):
            kept = kept.cast(pa.timestamp("us", kept.type.tz), safe=False)
        ticks: np.ndarray = kept.cast(pa.int64()).to_numpy()
        return ticks
