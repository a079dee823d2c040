"""Stages of many jobs side by side: what a task does with its buckets in a micro-batch.

Stage ``n`` of every job of a pipeline is on *level* ``n``. A level is one step of Spark's, whose
tasks have some buckets each; a bucket of a level has one host per job (``BucketHost``) and one file
of state for all of them. Hosts are taken from the worker's cache if they are those that the last
micro-batch left (``worker_cache``), and loaded from their files otherwise (``state_files``). What a
stage answers goes on as blobs to later levels; what a job's last one answers is delivered here, as
hidden files of which only the names travel, unless it is little. In the end the driver hears what
was written.

A job that cannot go on fails alone: the task says so, and the driver does the micro-batch again
without it. Jobs that have no blobs in a micro-batch stay as they are.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, NamedTuple

import pyarrow as pa

from windrow.core.errors import StateError
from windrow.core.thresholds import Threshold
from windrow.object_store.object_path import path_of
from windrow.operators.base import Saved, below
from windrow.sharing.schedule import Pace
from windrow.spark.stage.blobs import open_blob, pack
from windrow.spark.stage.bucket_host import Answer, BucketHost
from windrow.spark.stage.packing import RESULT, packed_batch
from windrow.spark.stage.stage_task import TOLD, Parts, Report, StageTask
from windrow.spark.stage.state_files import BucketFiles, Contents, StateCommits
from windrow.spark.stage.worker_cache import WorkerCache

Mine = dict[int, dict[int, Parts]]
"""Unpacked blobs by bucket and job."""
Answers = list[tuple[BucketHost, Answer]]
"""What the buckets of a task answer for one job."""
HANDS = 4
"""Results are synced and published side by side: each waits for the disk, not the processor."""
SMALL = Threshold(1 << 20)
"""Bytes of answers up to which those of several jobs are synced together."""
OF_ALL = (StateError, MemoryError, OSError)
"""Errors that are nobody's own: a damaged checkpoint, a full disk."""


class Kept(NamedTuple):
    """The hosts of a bucket in a worker's memory, by job, and what its file says of it."""

    hosts: dict[int, BucketHost]
    contents: Contents


@cache
def _hands() -> ThreadPoolExecutor:
    """The threads of a worker that wait for the disk; to start one takes as long as to wait."""
    return ThreadPoolExecutor(HANDS, "windrow-sync")


os.register_at_fork(after_in_child=_hands.cache_clear)

ON_TIME = Pace()
CACHE: WorkerCache[Kept] = WorkerCache()


@dataclass(frozen=True)
class TaskReport:
    """What a task tells the driver: files of state by level and bucket, what it delivered by job,
    and the jobs that failed, with the kind of error and its message."""

    state: Mapping[str, str] = field(default_factory=dict)
    jobs: Mapping[int, Report] = field(default_factory=dict)
    failed: Mapping[int, tuple[str, str]] = field(default_factory=dict)
    schedules: Mapping[int, dict[str, Any]] = field(default_factory=dict)
    """Of jobs that are scheduled, what ``BucketHost`` tells of it."""

    def pack(self) -> bytes:
        jobs, told = {}, {}
        more = {"schedules": self.schedules} if self.schedules else {}
        for number, report in self.jobs.items():
            hidden = dict(report.hidden)
            if TOLD in hidden:
                told[str(number)] = hidden.pop(TOLD)
            jobs[number] = {"now": report.now, "counts": report.counts, "hidden": hidden}
        return pack({"state": self.state, "jobs": jobs, "failed": self.failed, **more}, told)

    @classmethod
    def unpack(cls, blob: bytes | pa.Buffer) -> TaskReport:
        told, parts = open_blob(blob)
        jobs = {int(job): Report(**report) for job, report in told["jobs"].items()}
        for number, changes in parts.items():
            jobs[int(number)].hidden[TOLD] = changes
        failed = {int(job): (kind, text) for job, (kind, text) in told["failed"].items()}
        schedules = {int(job): found for job, found in told.get("schedules", {}).items()}
        return cls(told["state"], jobs, failed, schedules)


class JobFailedError(Exception):
    """A job cannot go on; ``__cause__`` says why."""

    def __init__(self, job: int) -> None:
        super().__init__(job)
        self.job = job

    def report(self) -> pa.RecordBatch:
        """What the driver hears, instead of anything else."""
        kind = type(self.__cause__)
        name = f"{kind.__module__}.{kind.__qualname__}"
        told = TaskReport(failed={self.job: (name, str(self.__cause__))})
        return packed_batch([(RESULT, 0, told.pack())])


@contextmanager
def failing_alone(job: int) -> Iterator[None]:
    """Whatever fails within is the job's own failure, unless it concerns all."""
    try:
        yield
    except (*OF_ALL, JobFailedError):
        raise
    except Exception as error:
        raise JobFailedError(job) from error


@dataclass(frozen=True)
class LevelTask:
    """The stages of one level. ``run`` tells pipelines apart in the worker's cache, ``state`` is
    the directory of the files of state."""

    run: str
    level: int
    state: str
    stages: tuple[StageTask, ...]
    paces: Mapping[int, Pace] = field(default_factory=dict)
    """How fast executions of the micro-batch will be, by job, of those that are scheduled."""

    @cached_property
    def _by_job(self) -> dict[int, StageTask]:
        return {task.job: task for task in self.stages}

    def work(
        self, batches: Iterable[pa.RecordBatch], batch: int, state: Mapping[str, str] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """What a partition of a micro-batch sends on, which begins with the files ``state``; None:
        with those of the last commit."""
        mine: Mine = {}
        for packed in batches:
            others = self._sort_out(packed, mine)
            if others.num_rows:
                yield others
        yield from self.answer(mine, batch, state)

    def answer(
        self, mine: Mine, batch: int, state: Mapping[str, str] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """What buckets send on that get these blobs in a micro-batch; ``state`` as above."""
        if not any(mine.values()):
            return
        committed = self._files_before(batch) if state is None else state
        try:
            yield from self._answers(mine, batch, committed)
        except JobFailedError as failure:
            yield failure.report()

    def _answers(
        self, mine: Mine, batch: int, committed: Mapping[str, str]
    ) -> Iterator[pa.RecordBatch]:
        state = path_of(self.state)
        written: dict[str, str] = {}
        delivered: dict[int, Answers] = {}
        schedules: dict[int, dict[str, Any]] = {}
        for bucket, jobs in sorted(mine.items()):
            if not jobs:
                continue
            files = BucketFiles(state, self.level, bucket)
            kept = self._take(files, bucket, committed.get(files.key))
            saved = Saved(meta=dict(kept.contents.meta))
            for job, parts in sorted(jobs.items()):
                task = self._by_job[job]
                with failing_alone(job):
                    host = self._host(task, bucket, files, kept)
                    answer = task.answer(bucket, host, parts, self.paces.get(job, ON_TIME))
                    saved.add(str(job), host.save())
                    if found := host.told_of_schedule():
                        schedules[job] = found
                    if task.delivery is None:
                        yield packed_batch(task.send(bucket, host, answer), job)
                    else:
                        delivered.setdefault(job, []).append((host, answer))
            name, contents = files.write(batch, kept.contents, saved)
            CACHE.put((self.run, self.level, bucket), name, Kept(kept.hosts, contents))
            written[files.key] = name
        reports = self._deliver(delivered)
        yield packed_batch(
            [(RESULT, min(mine), TaskReport(written, reports, {}, schedules).pack())]
        )

    def _deliver(self, answers: Mapping[int, Answers]) -> dict[int, Report]:
        """Hide the answers of last stages, by job, and wait until all are on the disk. A large one
        gets there while the next is written; small ones go together, since threads that take turns
        for each would take longer than the disk."""
        found, syncing, small = {}, {}, list[int]()
        for job, mine in answers.items():
            task = self._by_job[job]
            with failing_alone(job):
                found[job] = task.deliver(mine)
                if task.tells(mine):
                    continue
                if sum(answer.delta.nbytes for _, answer in mine) <= SMALL.value:
                    small.append(job)
                else:
                    syncing[job] = _hands().submit(task.sync, found[job])
        for job in small[1:]:
            syncing[job] = _hands().submit(self._by_job[job].sync, found[job])
        for job in small[:1]:
            with failing_alone(job):
                self._by_job[job].sync(found[job])
        for job, synced in syncing.items():
            with failing_alone(job):
                synced.result()
        return found

    def _files_before(self, batch: int) -> Mapping[str, str]:
        """The files of state that a micro-batch begins with."""
        return StateCommits(path_of(self.state)).before(batch).files

    def has(self, buckets: Iterable[int], committed: Mapping[str, str]) -> bool:
        """Whether this worker has the state of some buckets in memory, given the files of it."""
        return all(
            (name := committed.get(f"{self.level}.{bucket}")) is None
            or CACHE.has((self.run, self.level, bucket), name)
            for bucket in buckets
        )

    def _sort_out(self, packed: pa.RecordBatch, mine: Mine) -> pa.RecordBatch:
        """Take the blobs for this level; those for others are returned."""
        jobs, stages, buckets = (packed.column(i).to_numpy() for i in range(3))
        blob = packed.column(3)
        for at in (stages == self.level).nonzero()[0].tolist():
            if (job := int(jobs[at])) in self._by_job:
                parts = mine.setdefault(int(buckets[at]), {}).setdefault(job, [])
                parts.append(open_blob(blob[at].as_buffer()))
        return packed.filter(pa.array(stages != self.level))

    def _take(self, files: BucketFiles, bucket: int, committed: str | None) -> Kept:
        """The bucket as the last micro-batch left it."""
        if committed is None:
            return Kept({}, Contents())
        cached = CACHE.take((self.run, self.level, bucket), committed)
        return cached if cached is not None else Kept({}, files.read(committed))

    def _host(self, task: StageTask, bucket: int, files: BucketFiles, kept: Kept) -> BucketHost:
        """The job's part of a bucket, loaded if it is not in memory."""
        if task.job not in kept.hosts:
            host, known = task.new_host(bucket), kept.contents.meta.get(str(task.job))
            if known is not None:
                prefix = str(task.job)
                segments = files.segments(kept.contents.of(prefix))
                host.load(below(prefix, segments), known)
            kept.hosts[task.job] = host
        return kept.hosts[task.job]


def reports_in(blob: Iterable[bytes | pa.Buffer]) -> list[TaskReport]:
    """What tasks have told."""
    return [TaskReport.unpack(value) for value in blob]
