"""How micro-batches are run: read where they are needed if they are small, else through a shuffle.

What came is known when a micro-batch begins, from the logs, and so the driver plans each by itself.
If the files are small the tasks of the first level read all of them
(``windrow.spark.source.batch_tasks``), which saves a step of tasks and the way between the two:
most of what a small micro-batch takes. With one level there is no shuffle at all.
"""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession

from windrow.core.thresholds import Threshold
from windrow.sharing.schedule import Pace
from windrow.spark.run.plain_jobs import PlainJobs
from windrow.spark.run.session import shuffle_partitions
from windrow.spark.source.batch_tasks import BatchTasks, PipelineTasks, ShareClaims
from windrow.spark.source.file_log import LogTail, Stretch
from windrow.spark.source.fill_task import FillTask
from windrow.spark.source.read_task import StreamTask
from windrow.spark.stage.level_task import LevelTask, TaskReport, reports_in
from windrow.spark.stage.routes import PACKED, spark_hash

SESSION = "org.apache.spark.sql.classic.SparkSession"
CLASSES = ("PythonRDD", "PythonUtils", "SimplePythonFunction", SESSION, f"{SESSION}$")
"""Of Java, that PySpark uses whenever a job is run."""
BYTES_AGAIN = Threshold(64 * 2**20)
"""Bytes that may be read once more than needed, by all tasks together."""


class MicroBatches:
    """The micro-batches of a pipeline, from the log of each stream.

    ``framed`` says that rows also come from DataFrames. On one machine tasks share the directory
    ``exchange``.
    """

    def __init__(
        self,
        session: SparkSession,
        streams: Sequence[StreamTask],
        levels: Sequence[LevelTask],
        *,
        framed: bool = False,
        exchange: str | None = None,
    ) -> None:
        self._session, self._framed, self._exchange = session, framed, exchange
        self._specs = [stream.spec for stream in streams]
        self._logs = [LogTail(Path(spec.log), spec.start) for spec in self._specs]
        self._depth = {task.job: number for number, level in enumerate(levels)
                       for task in level.stages}  # fmt: skip
        self.read: Mapping[str, Stretch] = {}  # by stream, in the last micro-batch
        self._partitions = shuffle_partitions(session)
        shares = shares_of(streams, self._partitions)
        self._shares = len(shares)
        self._tasks = pickle.dumps(PipelineTasks(tuple(streams), tuple(levels), shares))
        self._reads: Mapping[int, frozenset[int]] = {
            number: frozenset(job for job, _ in stream.routes)
            for number, stream in enumerate(streams)
        }

    def run(
        self,
        frame: DataFrame | None,
        batch: int,
        jobs: frozenset[int],
        paces: Mapping[int, Pace],
        state: Mapping[str, str],
        fills: Sequence[FillTask] = (),
    ) -> list[TaskReport]:
        """What the tasks of a micro-batch report for some jobs; ``frame`` has rows of DataFrames,
        packed. It begins with the files ``state``, and is the first one of the jobs of ``fills``.
        """
        stretches = tuple(log.stretch(batch) for log in self._logs)
        self.read = {s.name: part for s, part in zip(self._specs, stretches, strict=True)}
        touched = {
            job for number, s in enumerate(stretches) if s.entries for job in self._reads[number]
        }
        active = jobs if self._framed else jobs & (touched | {fill.job for fill in fills})
        if not active:
            return []
        claims = ShareClaims(self._exchange, uuid.uuid4().hex) if self._exchange else None
        tasks = BatchTasks(self._tasks, batch, active, state, claims, paces, tuple(fills))
        levels = 1 + max(self._depth[job] for job in active)
        if not self._framed and self._is_small([*stretches, *fills]):
            if levels == 1:
                return self._report(tasks, stretches)
            whole = self._range(self._shares).mapInArrow(tasks.answering(stretches), PACKED)
            return self._through(whole, tasks, range(1, levels))
        readings = tuple(
            (number, part)
            for number, stretch in enumerate(stretches)
            if stretch.entries
            for part in stretch.split(self._session.sparkContext.defaultParallelism)
        )
        parts = len(readings) + len(fills)
        if parts or frame is None:
            read = self._range(parts).mapInArrow(tasks.reading(readings), PACKED)
            frame = frame.union(read) if frame is not None and self._framed else read
        return self._through(frame, tasks, range(levels))

    def _report(self, tasks: BatchTasks, stretches: tuple[Stretch, ...]) -> list[TaskReport]:
        return reports_in(self._jobs.run(self._numbers, tasks.reporting(stretches)))

    @cached_property
    def _jobs(self) -> PlainJobs:
        return PlainJobs(self._session)

    @cached_property
    def _numbers(self) -> Any:
        """The number of each share in a partition; made once, since Spark takes a file for it."""
        context = self._session.sparkContext
        remember_classes(context)
        return context.parallelize(range(self._shares), self._shares)

    def _through(self, frame: DataFrame, tasks: BatchTasks, levels: range) -> list[TaskReport]:
        """Packed rows through levels of stages, each bucket in its partition."""
        for number in levels:
            frame = frame.repartition(self._partitions, "bucket")
            frame = frame.mapInArrow(tasks.level(number), PACKED)
        return reports_in(bytes(row.blob) for row in frame.select("blob").collect())

    def _range(self, partitions: int) -> DataFrame:
        return self._session.range(0, partitions, 1, partitions)

    def _is_small(self, readings: Sequence[Stretch | FillTask]) -> bool:
        """Whether to read everything in each task takes less than to send it."""
        size = sum(reading.size for reading in readings)
        return (self._shares - 1) * size <= BYTES_AGAIN.value


def remember_classes(context: SparkContext) -> None:
    """Have PySpark's view of the virtual machine know classes by itself: it would look for each
    name in a dozen packages, and these in all archives, every time that it is used."""
    view: Any = context._jvm  # noqa: SLF001
    for name in CLASSES:
        setattr(view, name, getattr(view, name))


def shares_of(streams: Sequence[StreamTask], partitions: int) -> tuple[tuple[int, ...], ...]:
    """The buckets that each task of a level has, as Spark spreads them."""
    buckets = {b for stream in streams for _, routes in stream.routes for b in routes.buckets}
    shares = [
        tuple(sorted(b for b in buckets if spark_hash(b) % partitions == p))
        for p in range(partitions)
    ]
    return tuple(share for share in shares if share)
