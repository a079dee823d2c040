# ruff: noqa: N802 - the names and arguments of methods are Spark's
"""The source of a pipeline: what there is to read, written down before anybody reads it.

Whoever begins micro-batches (``windrow.spark.run.batch_driver``) asks how far the streams have
come, writes the answer down, and begins one. Files are admitted here, at the driver, into the file
log of their stream (``windrow.spark.source.file_log``), in the order in which they are found, each
with its greatest credible timestamp; an offset is the number of entries of each log. What depends
on the clock on the wall, which rows are ahead and whether a stream is idle, is decided once, and is
in the log before it takes effect.

No row comes through this source. Tasks read what the logs say (``windrow.spark.source.read_task``),
so that a micro-batch can be planned when it is known how large it is.

Besides its files a stream can have an *inbox*: a directory of numbered Parquet files and advance
markers that a connection writes, read in the order of their numbers.

A relation is the stream of its updates. They have been judged when a task reads them: by the
connection that delivered them, or by the driver (``windrow.spark.source.relation_updates``).
"""

from __future__ import annotations

import base64
import os
import pickle
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from windrow.core.time import BEGINNING, FOREVER, Wall, wall_clock
from windrow.plan.catalog import RelationDeclaration, StreamDeclaration
from windrow.spark.source.file_log import EMPTY, next_batch
from windrow.spark.source.pace import Pace
from windrow.spark.source.stream_files import StreamFiles
from windrow.spark.stage.routes import PACKED
from windrow.streams.quarantine import Quarantine
from windrow.streams.stream_time import UNKNOWN, StreamTime

FORMAT = "windrow-log"
WATCHED = "watched"
"""The option for how many seconds Spark may be kept waiting for something new."""
GLANCE = 0.005
"""Seconds between looks at what is watched, each of which takes some microseconds."""
SETTLED = 50_000_000
"""Nanoseconds after a change in which another may have the same time."""
LISTING, LONGEST = 0.01, 1.0
"""The share of time in which files are listed though nothing seems to have changed, and the seconds
after which they are at the latest."""
Offset = dict[str, int]
"""Entries of the log of each stream; under ``EMPTY`` the number of a micro-batch without any."""


@dataclass(frozen=True)
class SourceSpec:
    """All that the driver and the tasks need to know of one stream of a pipeline.

    ``once``: the files that are there at the start are all that will come. ``files`` is how many
    of them a trigger takes; None leaves it to their size (``pace``) and to ``tasks``. A query that
    comes to a running connection reads the inbox from the number ``inbox_from``, at the time
    ``start``; of a ``relation`` it reads all of it, and earlier updates as if they had come at
    ``since``; accepted ones of its files go to ``updates``.
    Without rows for ``idle`` microseconds by the ``wall`` the stream holds nobody back. With its
    ``partners`` it is read by the same job.
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
    updates: str | None = None
    since: int = BEGINNING
    idle: int = FOREVER
    wall: Wall = wall_clock
    partners: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.declaration.name


class LogReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """See the module. ``offsets`` has one file for each micro-batch that was begun.

    If there is nothing new, an answer can wait for some seconds, and what comes meanwhile is in it:
    so a file need not wait until somebody asks again. Spark, which asks ten times a second, is kept
    waiting for up to ``watched`` seconds. A listing of many files takes long, so while what is
    watched stays as it is there are few of them: for what is not seen there, such as a file in
    another directory that grows.
    """

    def __init__(self, specs: Sequence[SourceSpec], offsets: str, watched: float = 0.0) -> None:
        self._watched = watched
        self._pace = Pace(streams=len(specs))
        self._streams = [StreamFiles(spec, self._pace) for spec in specs]
        self._offsets = Path(offsets)
        self._seen: tuple[list[int], Offset] | None = None
        self._begins = True
        self._until = 0.0
        self.looked = 0.0
        """When it has last looked for what there is, on the monotonic clock."""

    def initialOffset(self) -> Offset:
        return {stream.spec.name: 0 for stream in self._streams}

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:
        return self.find(next_batch(self._offsets), start, self._watched)

    def find(
        self,
        batch: int,
        start: Offset,
        seconds: float = 0.0,
        sleep: Callable[[float], object] = time.sleep,
    ) -> Offset:
        """How far the streams have come for a micro-batch. If that is where they were, it waits for
        something new for some seconds, unless ``sleep`` says something true."""
        until = time.monotonic() + seconds
        self._pace.next_trigger()
        while True:
            paths = [p for s in self._streams for p in s.watched_paths] if seconds else []
            marks = [time_of_change(path) for path in paths]
            found = start if self._unchanged(marks, start) else self._look(marks, batch, start)
            if found != start or not self._await_change(paths, marks, until, sleep):
                return found

    def _look(self, marks: list[int], batch: int, start: Offset) -> Offset:
        """What there is for a micro-batch; if nothing, it is known for some time."""
        self.looked = began = time.monotonic()
        wall = time.time_ns()
        found = self._entries_for(batch, start)
        old = all(wall - mark > SETTLED for mark in marks)
        if marks and old and found == start:
            now = time.monotonic()
            self._seen, self._until = (marks, start), now + min((now - began) / LISTING, LONGEST)
        else:
            self._seen = None
        return found

    def _unchanged(self, marks: list[int], start: Offset) -> bool:
        """Whether there was nothing new a short time ago, and nothing has happened since; who does
        not watch anything looks each time."""
        return self._seen == (marks, start) and time.monotonic() < self._until

    def _await_change(
        self, paths: list[str], marks: list[int], until: float, sleep: Callable[[float], object]
    ) -> bool:
        """Whether something has changed before it is too late."""
        while time.monotonic() + GLANCE < until:
            if sleep(GLANCE):
                return False
            if [time_of_change(path) for path in paths] != marks:
                return True
        return False

    def _entries_for(self, batch: int, start: Offset) -> Offset:
        """How many entries the logs have when all that there is for a micro-batch is admitted.

        If a log has some for it or for later ones already, because a run died or a checkpoint was
        set back, then all that the micro-batch has is in the logs. What came since waits: beside
        these entries a stream might be over which has more by now. If those are of streams that
        nobody reads any more it has nothing, and is there for the numbers of the later ones.
        """
        noted = any(s.has_entries_after(start[s.spec.name]) for s in self._streams)
        if self._begins and not noted:
            self._go_on(batch)
            self._begins = False
        found = {}
        for stream in sorted(self._streams, key=lambda stream: stream.top):
            together = (s for s in self._streams if s.spec.name in stream.spec.partners)
            slowest = min((s.top for s in together if s.behind), default=FOREVER)
            name = stream.spec.name
            found[name] = stream.entries_for(batch, start[name], slowest, admitting=not noted)
        noted_later = noted and all(start[name] == entries for name, entries in found.items())
        empty = {EMPTY: batch} if noted_later else {}
        return {stream.spec.name: found[stream.spec.name] for stream in self._streams} | empty

    def _go_on(self, batch: int) -> None:
        """Streams that were over for a run which did not wait are not any more. That is written
        down before anything of their partners is admitted: a run that dies then leaves no new rows
        of one stream beside another that is over and has more by now."""
        ended = [stream for stream in self._streams if stream.is_over]
        new = {s.spec.name for s in self._streams if s.has_new} if ended else set()
        for stream in ended:
            others = new - {stream.spec.name}
            if not stream.spec.once or others.intersection(stream.spec.partners):
                stream.go_on(batch)

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


def time_of_change(path: str) -> int:
    """When a file or directory was last changed; 0 if it cannot be known."""
    try:
        return os.stat(path).st_ctime_ns  # noqa: PTH116 - often, and in a fraction of the time
    except OSError:  # whoever lists the files says what is wrong
        return 0


class WindrowSource(DataSource):
    """The format ``windrow-log``: the source of a pipeline."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        return PACKED

    def streamReader(self, schema: StructType) -> LogReader:
        return LogReader(
            decode_specs(self.options["specs"]),
            self.options["offsets"],
            float(self.options.get(WATCHED, 0)),
        )


def encode_specs(specs: Sequence[SourceSpec]) -> str:
    """Specifications as an option: options of a data source are text.

    Spark itself pickles the reader that is made of it, within one application; so does this.
    """
    return base64.b64encode(pickle.dumps(tuple(specs))).decode()


def decode_specs(text: str) -> tuple[SourceSpec, ...]:
    specs = pickle.loads(base64.b64decode(text))  # noqa: S301 - made by ``encode_specs``
    assert isinstance(specs, tuple)
    return specs
