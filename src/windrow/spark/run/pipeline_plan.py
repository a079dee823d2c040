"""What is run of a pipeline: the sources that admit files, and the tasks of its levels.

A stream that several jobs read is one source, with a route to each of them. A streaming DataFrame
of somebody else's is packed by a task of its own and joins the source by a union.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property, reduce
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from windrow.core.time import BEGINNING, FOREVER
from windrow.engine.constant_tuples import FIRST_INSTANT
from windrow.engine.idling import idle_after
from windrow.plan.catalog import RelationDeclaration, StreamDeclaration
from windrow.plan.physical.stages import IN_THE_PLAN
from windrow.spark.checkpoint.pipeline_directory import PipelineHome
from windrow.spark.run.batch_thread import WATCHING
from windrow.spark.run.micro_batches import MicroBatches
from windrow.spark.run.session import shuffle_partitions
from windrow.spark.run.spark_job import Feed, SparkJob
from windrow.spark.sink.file_delivery import room_for_changes
from windrow.spark.source.file_source import (
    FORMAT,
    WATCHED,
    SourceSpec,
    encode_specs,
)
from windrow.spark.source.fill_task import FillTask
from windrow.spark.source.frame_packer import FramePacker, with_wall
from windrow.spark.source.read_task import StreamTask
from windrow.spark.stage.level_task import LevelTask
from windrow.spark.stage.routes import PACKED, Routes, with_kinds
from windrow.streams.stream_time import StreamTime


class PipelinePlan:
    """See the module. ``exchange`` is where tasks on one machine leave files for each other."""

    def __init__(
        self,
        session: SparkSession,
        home: PipelineHome,
        jobs: Mapping[int, SparkJob],
        feed: Feed,
        exchange: Path | None,
    ) -> None:
        self._session, self.home, self.jobs, self.feed = session, home, jobs, feed
        self._place = None if exchange is None else str(exchange)
        self._streams = {s.name: s for job in jobs.values() for s in job.streams.values()}
        self._framed = {n: feed.frames[n] for n in self._streams if n in feed.frames}

    @cached_property
    def tasks(self) -> list[StreamTask]:
        """How each stream is read."""
        return [StreamTask(self._source(s), self._routes(s.name)) for s in self._streams.values()]

    def micro_batches(self) -> MicroBatches:
        """What plans and runs the micro-batches that the frame brings."""
        return MicroBatches(
            self._session, self.tasks, self._levels(), framed=self.is_framed, exchange=self._place
        )

    def fill_task(self, number: int) -> FillTask | None:
        """What a job is filled with in its first micro-batch, if it came later."""
        return self.jobs[number].fill_task(number, self._place, self.home.fills)

    @property
    def is_framed(self) -> bool:
        """Whether rows come from somebody's streaming DataFrames."""
        return bool(self._framed)

    @property
    def watches(self) -> bool:
        """Whether Spark is kept waiting for something new: not for deliveries and DataFrames, for
        who waits for those waits for the source."""
        return not (self.feed.once or self.feed.live or self._framed)

    def frame(self) -> DataFrame:
        """The streaming DataFrame whose micro-batches are taken."""
        options = {
            "specs": encode_specs([t.spec for t in self.tasks]),
            "offsets": str(self.home.offsets),
        }
        if self.watches:
            options[WATCHED] = str(WATCHING * 0.9)
        source = self._session.readStream.format(FORMAT).options(**options).load()
        # The source comes first: a union belongs to the session of its first part.
        packed = [self._packed(self._streams[name], f) for name, f in self._framed.items()]
        return reduce(DataFrame.union, [source, *packed])

    def _levels(self) -> list[LevelTask]:
        room = room_for_changes(shuffle_partitions(self._session), len(self.jobs))
        stages = {
            n: j.tasks(n, self._place, self.feed.quarantine, room) for n, j in self.jobs.items()
        }
        return [
            LevelTask(
                self._cached_as,
                level,
                str(self.home.state),
                tuple(tasks[level] for tasks in stages.values() if level < len(tasks)),
            )
            for level in range(max(map(len, stages.values())))
        ]

    @property
    def _cached_as(self) -> str:
        """What its buckets are in the memory of workers: a run with another schedule, or with other
        queries, on the same session must not find those of the one before."""
        synopses = (job.job.synopses for job in self.jobs.values())
        schedules = [each.plan.schedule for each in synopses if each is not None]
        here = [(n, job.seats, sorted(job.job.members)) for n, job in sorted(self.jobs.items())]
        return f"{self.home.run}-{zlib.crc32(repr((here, schedules)).encode()):08x}"

    def _routes(self, stream: str) -> tuple[tuple[int, Routes], ...]:
        """Where the tuples of a stream go, by job."""
        readers = {n: job for n, job in self.jobs.items() if stream in job.streams}
        return with_kinds((n, job.routes(stream, self._place)) for n, job in readers.items())

    def _packed(self, stream: StreamDeclaration, frame: DataFrame) -> DataFrame:
        names = [f.name for f in stream.schema]
        packer = FramePacker(stream, self._routes(stream.name), self.feed.quarantine)
        return with_wall(frame.select(*names)).mapInArrow(packer, PACKED)

    def _source(self, stream: StreamDeclaration) -> SourceSpec:
        feed, delivery = self.feed, self.feed.inboxes.get(stream.name)
        declared = next(j.inputs.get(stream.name) for j in self._readers(stream))
        start = delivery.start if delivery else StreamTime()
        if stream.name == IN_THE_PLAN:
            start = StreamTime(advanced=FIRST_INSTANT)
        return SourceSpec(
            with_whole_path(stream),
            str(self.home.log(stream.name)),
            tasks=self._session.sparkContext.defaultParallelism,
            once=feed.once,
            files=feed.files,
            quarantine=feed.quarantine,
            inbox=str(delivery.directory) if delivery else None,
            inbox_from=delivery.first if delivery else 0,
            start=start,
            relation=declared if isinstance(declared, RelationDeclaration) else None,
            updates=str(self.home.updates(stream.name)),
            since=delivery.since if delivery else BEGINNING,
            idle=self._idle_after(stream),
            wall=feed.wall,
            partners=tuple(sorted({n for job in self._readers(stream) for n in job.streams})),
        )

    def _readers(self, stream: StreamDeclaration) -> list[SparkJob]:
        return [job for job in self.jobs.values() if stream.name in job.streams]

    def _idle_after(self, stream: StreamDeclaration) -> int:
        """When others no longer wait for a stream; nobody waits for the only one of a job."""
        readers, feed = self._readers(stream), self.feed
        if all(len(job.streams) == 1 for job in readers) or stream.name in feed.frames:
            return FOREVER
        is_relation = isinstance(readers[0].inputs[stream.name], RelationDeclaration)
        by_connection = stream.name in feed.inboxes and is_relation
        return idle_after(stream, watched=stream.source is not None and not by_connection)


def with_whole_path(stream: StreamDeclaration) -> StreamDeclaration:
    """Its files as found from here: Spark's processes stay where Java was started, and this one may
    go elsewhere."""
    if stream.source is None:
        return stream
    whole = str(Path(stream.source.path).absolute())
    return replace(stream, source=replace(stream.source, path=whole))
