# ruff: noqa: N802 - the names and arguments of methods are Spark's
"""The source: a stream's files, listed at the driver, read and packed in tasks.

The driver admits files into the file log (``windrow.spark.source.file_log``), in the order in which
they are found, each with its greatest credible timestamp; an offset is a number of entries. A task
gets a stretch of the log and the stream's time before it, so it judges rows as one reader of the
whole stream would. It sends each bucket what it has for it, and what it knows of time. What depends
on the clock on the wall, which rows are ahead and whether the stream is idle, the driver decides
once, and it is in the log before it takes effect.

Besides its files a stream can have an *inbox*: a directory of numbered Parquet files and advance
markers that a connection writes, read in the order of their numbers.

A relation is the stream of its updates. They have been judged when a task reads them: by the
connection that delivered them, or by the driver (``windrow.spark.source.relation_updates``).
"""

from __future__ import annotations

import base64
import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from windrow.core.errors import StateError
from windrow.core.thresholds import Threshold
from windrow.core.time import BEGINNING, FOREVER, Wall, wall_clock
from windrow.plan.catalog import RelationDeclaration, StreamDeclaration
from windrow.spark.frozen_imports import freeze_imports
from windrow.spark.source.admission import Admission, check_some_readable
from windrow.spark.source.file_log import Entry, FileLog
from windrow.spark.source.stretch import Stretch
from windrow.spark.stage.routes import PACKED, Routes
from windrow.streams.growing_files import Arrival
from windrow.streams.quarantine import Quarantine
from windrow.streams.stream_time import UNKNOWN, StreamTime

FORMAT = "windrow-packed"
ROWS_PER_BLOB = Threshold(1_000_000, least=1)
"""Tuples that a task gathers before it packs them."""
BYTES_PER_TRIGGER = Threshold(16 * 2**20)
"""Small files are taken together up to this size, since a trigger costs half a second by itself."""


@dataclass(frozen=True)
class SourceSpec:
    """All that the driver and the tasks need to know of one stream of one query.

    ``once``: the files that are there at the start are all that will come. ``files`` is how many
    of them a trigger takes; None leaves it to their size and to ``tasks``. A query that comes to a
    running connection reads the inbox from the number ``inbox_from``, at the time ``start``; of a
    ``relation`` it reads all of it, and earlier updates as if they had come at ``since``.
    ``offsets`` is the directory where Spark has one file for each micro-batch that was begun.
    Without rows for ``idle`` microseconds by the ``wall`` the stream holds nobody back.
    """

    declaration: StreamDeclaration
    routes: Routes
    log: str
    offsets: str
    tasks: int
    once: bool = False
    files: int | None = None
    inbox: str | None = None
    inbox_from: int = 0
    start: StreamTime = UNKNOWN
    quarantine: Quarantine | None = None
    relation: RelationDeclaration | None = None
    since: int = BEGINNING
    idle: int = FOREVER
    wall: Wall = wall_clock


class PackingReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """See the module. All methods but ``read`` run at the driver."""

    def __init__(self, spec: SourceSpec) -> None:
        self.spec = spec
        self._log: FileLog | None = None
        self._listing: list[Arrival | Entry] | None = None
        self._files: Admission | None = None
        self._heard: int | None = None

    def initialOffset(self) -> dict[str, int]:
        return {"entries": 0}

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:
        log = self._open()
        if len(log.entries) < start["entries"]:
            raise StateError(
                "the file log does not match Spark's offsets",
                where=self.spec.log,
                expected=f"at least {start['entries']} entries",
                found=f"{len(log.entries)}",
                remedy="restore all of the checkpoint, or start over with a new one",
            )
        batch = next_batch(Path(self.spec.offsets))
        if len(log.entries) == start["entries"]:
            entries = self._admitted(log) or self._silence(log)
            log.append([replace(entry, batch=batch) for entry in entries])
        return {"entries": max(log.until(batch), start["entries"])}

    def getDefaultReadLimit(self) -> ReadLimit:
        """How much is taken is decided in ``latestOffset``, by the size of the files."""
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        """Whatever comes from now on is for the next run."""
        self._listing = self._admission(self._open()).found()

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[Stretch]:
        log, first, last = self._open(), start["entries"], end["entries"]
        total = sum(e.size for e in log.entries[first:last])
        share = max(1, -(-total // self.spec.tasks))
        stretches: list[Stretch] = []
        filled = share
        for at in range(first, last):
            entry = log.entries[at]
            if filled >= share and (entry.path is not None or not stretches):
                stretches.append(Stretch(at, [], [log.times[at]]))
                filled = 0
            stretches[-1].entries.append(entry)
            stretches[-1].times.append(log.times[at + 1])
            filled += entry.size
        return stretches

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Runs in a task."""
        # Imported late: of the many processes that Spark starts for a source, few need kernels.
        from windrow.spark.source.read_task import Intake  # noqa: PLC0415
        from windrow.spark.stage.packing import blobs, packed_batch, scatter, tell  # noqa: PLC0415

        freeze_imports()
        assert isinstance(partition, Stretch)
        spec, stream, routes = self.spec, self.spec.declaration.name, self.spec.routes
        intake = Intake(
            spec.declaration, spec.quarantine, ROWS_PER_BLOB.value, spec.relation, spec.since
        )
        before = zip(partition.entries, partition.times, strict=False)
        for chunk, delta in enumerate(intake.files(before)):
            parcels = scatter(delta, routes, intake.counts, (partition.first, chunk))
            yield packed_batch(blobs(parcels, routes.exchange))
        known: dict[tuple[int, int], Any] = {}
        tell(known, 0, routes.buckets, {stream: partition.times[-1]}, intake.counts)
        yield packed_batch(blobs(known))

    def commit(self, end: dict[str, int]) -> None:
        """The log keeps everything: a file is known by its name for as long as the query lives."""

    def _open(self) -> FileLog:
        if self._log is None:
            self._log = FileLog(Path(self.spec.log), self.spec.start)
        return self._log

    def _admission(self, log: FileLog) -> Admission:
        if self._files is None:
            self._files = Admission(self.spec, log)
        return self._files

    def _admitted(self, log: FileLog) -> list[Entry]:
        """The next entries of the log: as many as one trigger should read."""
        admission = self._admission(log)
        if self.spec.once and self._listing is None:
            self._listing = admission.found()
        waiting = admission.found() if self._listing is None else self._listing
        ended = bool(log.entries) and log.entries[-1].end
        contents = admission.judges(waiting)
        if contents and ended:
            return []  # a relation without updates has been read for good
        taken: list[Entry] = []
        size, seen, time = 0, 0, log.times[-1]
        for item in waiting:
            if self._enough(len(taken), size + item.size):
                break
            seen += 1
            entry = admission.admitted(item, len(log.entries) + len(taken), time)
            if entry is not None:
                taken.append(entry)
                size, time = size + entry.size, entry.after(time)
        if self._listing is not None:
            self._listing = self._listing[seen:]
        if seen == len(waiting):
            taken += admission.unfinished()
            if self.spec.once or not log.entries:
                check_some_readable([*log.entries, *taken])
        last = seen == len(waiting) and (self.spec.once or contents)
        if last and (taken or not ended):
            taken.append(Entry(end=True))
        if taken:
            self._heard = self.spec.wall()
        return taken

    def _enough(self, files: int, size: int) -> bool:
        if self.spec.files is not None:
            return files >= self.spec.files
        return files >= self.spec.tasks and size > BYTES_PER_TRIGGER.value

    def _silence(self, log: FileLog) -> list[Entry]:
        """Word that the stream is idle, once it has been silent for too long while we looked."""
        now, last = self.spec.wall(), log.times[-1]
        # A wall that was put back starts anew.
        self._heard = now if self._heard is None else min(self._heard, now)
        if self.spec.once or last.over or last.idle or now - self._heard < self.spec.idle:
            return []
        return [Entry(idle=True, wall=now)]


def next_batch(offsets: Path) -> int:
    """The number of the micro-batch that Spark is about to begin."""
    begun = [int(p.name) for p in offsets.glob("[0-9]*") if p.name.isdigit()]
    return max(begun, default=-1) + 1


class WindrowSource(DataSource):
    """The format ``windrow-packed``: the packing file source."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        return PACKED

    def streamReader(self, schema: StructType) -> PackingReader:
        return PackingReader(decoded(self.options["spec"]))


def encoded(spec: SourceSpec) -> str:
    """A specification as an option: options of a data source are text.

    Spark itself pickles the reader that is made of it, within one application; so does this.
    """
    return base64.b64encode(pickle.dumps(spec)).decode()


def decoded(text: str) -> SourceSpec:
    spec = pickle.loads(base64.b64decode(text))  # noqa: S301 - made by ``encoded``
    assert isinstance(spec, SourceSpec)
    return spec
