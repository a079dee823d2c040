"""The tasks of a pipeline's micro-batches: reading, and one kind for each level of stages.

What never changes (``PipelineTasks``) is bytes, made once at the driver and unpacked once in each
worker; a micro-batch adds its number, what it reads and which jobs take part.

Reading a small file takes less time than a task that reads it and the way through a shuffle. So
where the files of a micro-batch are small enough, every task of the first level reads all of them
and keeps the tuples of its own buckets. What they judge is the same either way, as files are always
judged by what the log says (``windrow.spark.source.read_task``).

Spark gives the tasks of a stage to whatever Python workers are idle, so in every second micro-batch
two workers would change places and load each other's state from its files. A task that reads its
input itself can do any share of the buckets. On one machine the tasks of a micro-batch therefore
divide the shares among themselves (``ShareClaims``): each claims one that its worker has in memory,
and only then one that it has not. A claim is a file that can be made once.
"""

from __future__ import annotations

import os
import pickle
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path

import pyarrow as pa

from windrow.sharing.schedule import Pace
from windrow.spark.frozen_imports import freeze_imports
from windrow.spark.source.file_log import Stretch
from windrow.spark.source.fill_task import FillTask, Parcels
from windrow.spark.source.read_task import StreamTask
from windrow.spark.stage.blobs import send_by_file
from windrow.spark.stage.level_task import JobFailedError, LevelTask, Mine
from windrow.spark.stage.packing import blobs, packed_batch

MapBatches = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""What ``mapInArrow`` takes."""
Reading = tuple[int, Stretch]
"""A stream, by its number, and what is to be read of it."""
PATIENCE = 0.004
"""Seconds that a task without state in memory leaves the choice to others."""


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
        self,
        stretches: Iterable[Stretch],
        batch: int,
        jobs: frozenset[int],
        share: tuple[int, ...],
        paces: Mapping[int, Pace] | None = None,
        fills: Iterable[FillTask] = (),
        state: Mapping[str, str] | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """What buckets of the first level send on that read everything themselves; they begin with
        the files ``state``, or with those of the last commit."""
        mine: Mine = {bucket: {} for bucket in share}
        first, wanted = self.level(0, jobs, paces), frozenset(share)
        try:
            for fill in fills:
                for parcels in fill.parcels(wanted):
                    yield from _for_later(parcels, fill.job, mine, fill.routes.exchange)
            for task, stretch in zip(self.streams, stretches, strict=True):
                if not stretch.entries:
                    continue
                exchange = {job: routes.exchange for job, routes in task.routes}
                for job, parcels in task.parcels(stretch, jobs, wanted):
                    yield from _for_later(parcels, job, mine, exchange[job])
        except JobFailedError as failure:
            yield failure.report()
        else:
            yield from first.answer(mine, batch, state)

    def level(
        self, number: int, jobs: frozenset[int], paces: Mapping[int, Pace] | None = None
    ) -> LevelTask:
        """A level with the stages of some jobs, and how fast those of a micro-batch will be."""
        whole = self.levels[number]
        if paces:
            whole = replace(whole, paces=paces)
        stages = tuple(task for task in whole.stages if task.job in jobs)
        return whole if len(stages) == len(whole.stages) else replace(whole, stages=stages)


@dataclass(frozen=True)
class BatchTasks:
    """What the tasks of one micro-batch get: ``tasks`` are packed ``PipelineTasks``, ``state`` the
    files that it begins with, by level and bucket.

    With ``claims`` the tasks that read everything divide the shares among themselves.
    """

    tasks: bytes
    batch: int
    jobs: frozenset[int]
    state: Mapping[str, str]
    claims: ShareClaims | None = None
    paces: Mapping[int, Pace] = field(default_factory=dict)
    fills: tuple[FillTask, ...] = ()
    """What jobs are filled with for which it is the first micro-batch."""

    def reading(self, readings: tuple[Reading, ...]) -> MapBatches:
        """For ``mapInArrow`` over as many partitions as there are stretches and fills to read."""
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
        if number < len(readings):
            yield from tasks.read(readings[number], self.jobs)
            return
        fill = self.fills[number - len(readings)]
        for parcels in fill.parcels():
            yield packed_batch(blobs(parcels, fill.routes.exchange), fill.job)

    def _read_and_answer(
        self, stretches: tuple[Stretch, ...], batches: Iterable[pa.RecordBatch]
    ) -> Iterator[pa.RecordBatch]:
        tasks, number = _unpack(self.tasks), _number_in(batches)
        share = tasks.shares[self._share(tasks, number)]
        yield from tasks.read_and_answer(
            stretches, self.batch, self.jobs, share, self.paces, self.fills, self.state
        )

    def _share(self, tasks: PipelineTasks, number: int) -> int:
        if self.claims is None:
            return number
        first = tasks.level(0, self.jobs)
        return self.claims.take(
            number, len(tasks.shares), lambda share: first.has(tasks.shares[share], self.state)
        )

    def _answer(self, number: int, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        freeze_imports()
        level = _unpack(self.tasks).level(number, self.jobs, self.paces)
        yield from level.work(batches, self.batch, self.state)

    def _report(self, stretches: tuple[Stretch, ...], numbers: Iterable[object]) -> Iterator[bytes]:
        ranges = (pa.record_batch({"id": [number]}) for number in numbers)
        exchange = None if self.claims is None else self.claims.directory
        for batch in self._read_and_answer(stretches, ranges):
            for blob in batch.column("blob"):
                yield send_by_file(blob.as_buffer(), exchange)


def _for_later(
    parcels: Parcels, job: int, mine: Mine, exchange: str | None
) -> Iterator[pa.RecordBatch]:
    """Put aside what is for buckets of the first level; what is for later ones is sent."""
    later = {}
    for (stage, bucket), parcel in parcels.items():
        if stage == 0:
            mine[bucket].setdefault(job, []).append((parcel.header, parcel.parts))
        else:
            later[stage, bucket] = parcel
    if later:
        yield packed_batch(blobs(later, exchange), job)


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


@dataclass(frozen=True)
class ShareClaims:
    """The claims of one attempt at a micro-batch, in a directory that all its tasks see."""

    directory: str
    attempt: str

    def take(self, task: int, shares: int, has: Callable[[int], bool]) -> int:
        """A share for a task; ``has`` says which are in memory here. A task that is repeated gets
        the one that it had: another would be one that a task has yet to take."""
        had = next((share for share in range(shares) if self._is_of(share, task)), None)
        if had is not None:
            return had
        mine = [share for share in range(shares) if has(share)]
        if not mine:
            time.sleep(PATIENCE)
        others = (share for share in range(shares) if share not in mine)
        return next(share for share in (*mine, *others) if self._claim(share, task))

    def _is_of(self, share: int, task: int) -> bool:
        try:
            return self._path(share).read_text() == str(task)
        except FileNotFoundError:
            return False

    def _claim(self, share: int, task: int) -> bool:
        try:
            handle = os.open(self._path(share), os.O_CREAT | os.O_EXCL | os.O_WRONLY)
        except FileExistsError:
            return False
        with os.fdopen(handle, "w") as file:
            file.write(str(task))
        return True

    def _path(self, share: int) -> Path:
        return Path(self.directory) / f"claim-{self.attempt}-{share}"
