# ruff: noqa: N802 - the names and arguments of methods are Spark's
"""The source of a pipeline: what there is to read, written down before anybody reads it.

Spark asks how far the streams have come, writes the answer down, and begins a micro-batch. All of
that happens here, at the driver: files are admitted into the file log of their stream
(``windrow.spark.source.file_log``), in the order in which they are found, each with its greatest
credible timestamp; an offset is the number of entries of each log. What depends on the clock on the
wall, which rows are ahead and whether a stream is idle, is decided once, and is in the log before
it takes effect.

No row comes through this source. Tasks read what the logs say (``windrow.spark.source.read_task``),
so that a micro-batch can be planned when it is known how large it is.

Besides its files a stream can have an *inbox*: a directory of numbered Parquet files and advance
markers that a connection writes, read in the order of their numbers.

A relation is the stream of its updates. They have been judged when a task reads them: by the
connection that delivered them, or by the driver (``windrow.spark.source.relation_updates``).
"""

from __future__ import annotations

import base64
import pickle
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from windrow.core.errors import StateError
from windrow.core.time import BEGINNING, FOREVER, Wall, wall_clock
from windrow.plan.catalog import RelationDeclaration, StreamDeclaration
from windrow.spark.source.admission import Admission, check_some_readable
from windrow.spark.source.file_log import Entry, FileLog, next_batch
from windrow.spark.source.pace import A_FILE, Pace
from windrow.spark.stage.routes import PACKED
from windrow.streams.growing_files import Arrival
from windrow.streams.quarantine import Quarantine
from windrow.streams.stream_time import UNKNOWN, StreamTime

FORMAT = "windrow-log"
Offset = dict[str, int]
"""Entries of the log of each stream."""


@dataclass(frozen=True)
class SourceSpec:
    """All that the driver and the tasks need to know of one stream of a pipeline.

    ``once``: the files that are there at the start are all that will come. ``files`` is how many
    of them a trigger takes; None leaves it to their size (``pace``) and to ``tasks``. A query that
    comes to a running connection reads the inbox from the number ``inbox_from``, at the time
    ``start``; of a ``relation`` it reads all of it, and earlier updates as if they had come at
    ``since``.
    Without rows for ``idle`` microseconds by the ``wall`` the stream holds nobody back.
    """

    declaration: StreamDeclaration
    log: str
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

    @property
    def name(self) -> str:
        return self.declaration.name


class StreamFiles:
    """One stream at the driver: its log, and what is to be added to it, at a pace."""

    def __init__(self, spec: SourceSpec, pace: Pace) -> None:
        self.spec, self._pace = spec, pace
        self._log: FileLog | None = None
        self._listing: list[Arrival | Entry] | None = None
        self._files: Admission | None = None
        self._heard: int | None = None
        self._start: int | None = None

    def entries_for(self, batch: int, start: int) -> int:
        """Admit what there is for a micro-batch; how many entries there are up to its last."""
        log = self._open()
        if len(log.entries) < start:
            raise StateError(
                "the file log does not match Spark's offsets",
                where=self.spec.log,
                expected=f"at least {start} entries",
                found=f"{len(log.entries)}",
                remedy="restore all of the checkpoint, or start over with a new one",
            )
        if start != self._start:  # Spark asks when the micro-batch before is over
            self._start = start
            self._admission(log).forget_before(start)
        if len(log.entries) == start:
            entries = self._admitted(log) or self._silence(log)
            log.append([replace(entry, batch=batch) for entry in entries])
        return max(log.until(batch), start)

    def take_listing(self) -> None:
        """Whatever comes from now on is for the next run."""
        self._listing = self._admission(self._open()).find_new()

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
            self._listing = admission.find_new()
        waiting = deque(admission.find_new() if self._listing is None else self._listing)
        ended = bool(log.entries) and log.entries[-1].end
        contents = admission.judges(waiting)
        if contents and ended:
            return []  # a relation without updates has been read for good
        taken = self._take(admission, waiting, log)
        if self._listing is not None:
            self._listing = list(waiting)
        if not waiting:
            taken += admission.refuse_unfinished()
            if self.spec.once or not log.entries:
                check_some_readable([*log.entries, *taken])
        last = not waiting and (self.spec.once or contents)
        if last and (taken or not ended):
            taken.append(Entry(end=True))
        if taken:
            self._heard = self.spec.wall()
        return taken

    def _take(
        self, admission: Admission, waiting: deque[Arrival | Entry], log: FileLog
    ) -> list[Entry]:
        """Admit what waits, until it is enough; long texts piece by piece."""
        taken: list[Entry] = []
        size, memory, time = 0, 0, log.times[-1]
        while waiting:
            item = waiting[0]
            piece = item if self.spec.files else admission.cut(item, self._pace.piece(self._tasks))
            if self._enough(len(taken), size + _bytes_of(piece), memory):
                self._pace.was_full()
                break
            waiting.popleft()
            number = len(log.entries) + len(taken)
            entry = admission.admit(piece, number, time)
            if entry is None and piece is not item:  # a row is longer
                piece, entry = item, admission.admit(item, number, time)
            if entry is None:
                continue
            if piece is not item and entry.rest is not None:
                assert isinstance(item, Arrival)
                rest = replace(entry.rest, stop=item.part.stop, final=item.part.final)
                waiting.appendleft(replace(item, part=rest))
            taken.append(entry)
            size, time = size + max(entry.size, A_FILE), entry.after(time)
            memory += admission.memory_of(entry)
        return taken

    def _enough(self, files: int, size: int, memory: int) -> bool:
        if self.spec.files is not None:
            return files >= self.spec.files
        much = files >= self._tasks and size > self._pace.limit
        return much or memory >= self._pace.memory

    @property
    def _tasks(self) -> int:
        return max(1, self.spec.tasks)

    def _silence(self, log: FileLog) -> list[Entry]:
        """Word that the stream is idle, once it has been silent for too long while we looked."""
        now, last = self.spec.wall(), log.times[-1]
        # A wall that was put back starts anew.
        self._heard = now if self._heard is None else min(self._heard, now)
        if self.spec.once or last.over or last.idle or now - self._heard < self.spec.idle:
            return []
        return [Entry(idle=True, wall=now)]


def _bytes_of(item: Arrival | Entry) -> int:
    """What is still to be read of a file."""
    return item.size if isinstance(item, Entry) else item.size - item.part.start


class LogReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """See the module. ``offsets`` is where Spark has one file for each micro-batch it has begun."""

    def __init__(self, specs: Sequence[SourceSpec], offsets: str) -> None:
        self._pace = Pace(streams=len(specs))
        self._streams = [StreamFiles(spec, self._pace) for spec in specs]
        self._offsets = Path(offsets)

    def initialOffset(self) -> Offset:
        return {stream.spec.name: 0 for stream in self._streams}

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:
        batch = next_batch(self._offsets)
        self._pace.next_trigger()
        return {s.spec.name: s.entries_for(batch, start[s.spec.name]) for s in self._streams}

    def getDefaultReadLimit(self) -> ReadLimit:
        """How much is taken is decided in ``latestOffset``, by the size of the files."""
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        for stream in self._streams:
            stream.take_listing()

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        return [InputPartition(0)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """No rows: tasks read the files that the logs name."""
        return iter(())

    def commit(self, end: Offset) -> None:
        """The logs keep everything: a file is known by its name while there is a checkpoint."""


class WindrowSource(DataSource):
    """The format ``windrow-log``: the source of a pipeline."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        return PACKED

    def streamReader(self, schema: StructType) -> LogReader:
        return LogReader(decode_specs(self.options["specs"]), self.options["offsets"])


def encode_specs(specs: Sequence[SourceSpec]) -> str:
    """Specifications as an option: options of a data source are text.

    Spark itself pickles the reader that is made of it, within one application; so does this.
    """
    return base64.b64encode(pickle.dumps(tuple(specs))).decode()


def decode_specs(text: str) -> tuple[SourceSpec, ...]:
    specs = pickle.loads(base64.b64decode(text))  # noqa: S301 - made by ``encode_specs``
    assert isinstance(specs, tuple)
    return specs
