"""The tasks of a pipeline's micro-batches: reading, and one kind for each level of stages.

What never changes (``PipelineTasks``) is bytes, made once at the driver and unpacked once in each
worker; a micro-batch adds its number, what it reads and which jobs take part.

Reading a small file takes less time than a task that reads it and the way through a shuffle. So
where the files of a micro-batch are small enough, every task of the first level reads all of them
and keeps the tuples of its own buckets. What they judge is the same either way, as files are always
judged by what the log says (``windrow.spark.source.read_task``).
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache, partial

import pyarrow as pa

from windrow.spark.frozen_imports import freeze_imports
from windrow.spark.source.share_claims import ShareClaims
from windrow.spark.source.stream_task import StreamTask
from windrow.spark.source.stretch import Stretch
from windrow.spark.stage.level_task import JobFailedError, LevelTask, Mine
from windrow.spark.stage.packing import blobs, packed_batch

MapBatches = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""What ``mapInArrow`` takes."""
Reading = tuple[int, Stretch]
"""A stream, by its number, and what is to be read of it."""


@dataclass(frozen=True)
class PipelineTasks:
    """All streams and levels; ``shares`` are the buckets of each task of a level."""

    streams: tuple[StreamTask, ...]
    levels: tuple[LevelTask, ...]
    shares: tuple[tuple[int, ...], ...]

    def read(self, reading: Reading, jobs: frozenset[int]) -> Iterator[pa.RecordBatch]:
        """What a stretch of a stream has for the stages of some jobs."""
        number, stretch = reading
        task = self.streams[number]
        exchange = {job: routes.exchange for job, routes in task.routes}
        try:
            for job, parcels in task.parcels(stretch, jobs):
                yield packed_batch(blobs(parcels, exchange[job]), job)
        except JobFailedError as failure:
            yield failure.report()

    def read_and_answer(
        self, stretches: Iterable[Stretch], batch: int, jobs: frozenset[int], share: tuple[int, ...]
    ) -> Iterator[pa.RecordBatch]:
        """What buckets of the first level send on that read everything themselves."""
        mine: Mine = {bucket: {} for bucket in share}
        first, wanted = self.level(0, jobs), frozenset(share)
        try:
            for task, stretch in zip(self.streams, stretches, strict=True):
                if not stretch.entries:
                    continue
                exchange = {job: routes.exchange for job, routes in task.routes}
                for job, parcels in task.parcels(stretch, jobs, wanted):
                    later = {}
                    for (stage, bucket), parcel in parcels.items():
                        if stage == 0:
                            parts = mine[bucket].setdefault(job, [])
                            parts.append((parcel.header, parcel.parts))
                        else:
                            later[stage, bucket] = parcel
                    if later:
                        yield packed_batch(blobs(later, exchange[job]), job)
        except JobFailedError as failure:
            yield failure.report()
        else:
            yield from first.answer(mine, batch)

    def level(self, number: int, jobs: frozenset[int]) -> LevelTask:
        """A level with the stages of some jobs."""
        whole = self.levels[number]
        stages = tuple(task for task in whole.stages if task.job in jobs)
        return whole if len(stages) == len(whole.stages) else replace(whole, stages=stages)


@dataclass(frozen=True)
class BatchTasks:
    """What the tasks of one micro-batch get: ``tasks`` are packed ``PipelineTasks``.

    With ``claims`` the tasks that read everything divide the shares among themselves.
    """

    tasks: bytes
    batch: int
    jobs: frozenset[int]
    claims: ShareClaims | None = None

    def reading(self, readings: tuple[Reading, ...]) -> MapBatches:
        """For ``mapInArrow`` over as many partitions as there are stretches to read."""
        return partial(self._read, readings)

    def answering(self, stretches: tuple[Stretch, ...]) -> MapBatches:
        """For ``mapInArrow`` over as many partitions as there are shares: first level included."""
        return partial(self._read_and_answer, stretches)

    def level(self, number: int) -> MapBatches:
        """For ``mapInArrow`` over blobs, each bucket in its partition."""
        return partial(self._answer, number)

    def reporting(
        self, stretches: tuple[Stretch, ...]
    ) -> Callable[[Iterable[int]], Iterator[bytes]]:
        """For ``mapPartitions``, if there is no level after the first: what tasks report."""
        return partial(self._report, stretches)

    def _read(
        self, readings: tuple[Reading, ...], batches: Iterable[pa.RecordBatch]
    ) -> Iterator[pa.RecordBatch]:
        tasks, number = _unpack(self.tasks), _number_in(batches)
        yield from tasks.read(readings[number], self.jobs)

    def _read_and_answer(
        self, stretches: tuple[Stretch, ...], batches: Iterable[pa.RecordBatch]
    ) -> Iterator[pa.RecordBatch]:
        tasks, number = _unpack(self.tasks), _number_in(batches)
        share = tasks.shares[self._share(tasks, number)]
        yield from tasks.read_and_answer(stretches, self.batch, self.jobs, share)

    def _share(self, tasks: PipelineTasks, number: int) -> int:
        if self.claims is None:
            return number
        first = tasks.level(0, self.jobs)
        committed = first.files_before(self.batch)
        return self.claims.take(
            number, len(tasks.shares), lambda share: first.has(tasks.shares[share], committed)
        )

    def _answer(self, number: int, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        freeze_imports()
        yield from _unpack(self.tasks).level(number, self.jobs).work(batches, self.batch)

    def _report(self, stretches: tuple[Stretch, ...], numbers: Iterable[object]) -> Iterator[bytes]:
        ranges = (pa.record_batch({"id": [number]}) for number in numbers)
        for batch in self._read_and_answer(stretches, ranges):
            yield from batch.column("blob").to_pylist()


def _number_in(batches: Iterable[pa.RecordBatch]) -> int:
    """The number of a task: the only row of its part of a range.

    The number of its partition is another one where the range is part of a union.
    """
    freeze_imports()
    (number,) = [n for batch in batches for n in batch.column(0).to_pylist()]
    return int(number)


@lru_cache(maxsize=16)
def _unpack(tasks: bytes) -> PipelineTasks:
    found = pickle.loads(tasks)  # noqa: S301 - made by the driver of this application
    assert isinstance(found, PipelineTasks)
    return found
