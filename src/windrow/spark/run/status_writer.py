"""Writes down how a pipeline is doing, for those who look at its checkpoint.

The driver does so after each micro-batch, in less than a millisecond: a small file is replaced, not
synced. Nothing that goes wrong here goes wrong for the pipeline.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from windrow.core.paths import is_object_url
from windrow.core.time import Clock, Wall, wall_clock
from windrow.engine.progress import Lateness
from windrow.plan.catalog import StreamDeclaration
from windrow.result_files.commits import Totals
from windrow.sharing.schedule import QueryDelay
from windrow.spark.checkpoint.pipeline_directory import PipelineHome
from windrow.spark.checkpoint.run_record import (
    RECORD,
    End,
    Mishap,
    QueryRecord,
    RunRecord,
    StreamRecord,
    Traffic,
    read_run_record,
)
from windrow.spark.run.spark_job import SparkJob
from windrow.spark.sink.file_delivery import summary
from windrow.spark.source.file_log import Stretch
from windrow.spark.stage.stage_task import Report
from windrow.streams.quarantine import Quarantine

WINDOW = 60_000_000
"""Microseconds that rates are over, about."""
STEP = 5_000_000
"""Microseconds by which that window moves."""
REMEMBERED = 20
"""Micro-batches whose durations are known."""

T = TypeVar("T")
Counts = Counter[tuple[str, str]]
"""What was counted, by what it is and whose."""


class RunRecorder:
    """Of one pipeline; any thread may call it."""

    def __init__(self, directory: Path, wall: Wall = wall_clock) -> None:
        self._directory, self._wall, self._lock = directory, wall, threading.Lock()
        self._totals: Counts = Counter()
        self._past: deque[tuple[int, Counts]] = deque()
        self._names: Mapping[int, str] = {}
        self.record = RunRecord(os.getpid(), socket.gethostname(), wall())

    def begin(
        self, home: PipelineHome, jobs: Mapping[int, SparkJob], quarantine: Quarantine | None
    ) -> None:
        """Say who runs here; what went wrong in earlier runs stays known."""
        with suppress(Exception):
            before = read_run_record(self._directory)
            self._names = {number: job.name for number, job in jobs.items()}
            streams = [s for job in jobs.values() for s in job.streams.values()]
            self._past.append((self._wall(), Counter()))
            known = before or self.record
            self._write(
                jobs={
                    **_of(home.left, known.jobs),
                    **{j.name: _described(j) for j in jobs.values()},
                },
                streams={**known.streams, **{s.name: _source(s) for s in streams}},
                quarantine=None if quarantine is None else str(quarantine.directory),
                totals=known.totals,
                failures=_of(home.left, known.failures),
                error=known.error,
            )

    @contextmanager
    def micro_batch(self, number: int) -> Iterator[NotedBatch]:
        """What is noted within is written down when the micro-batch ends well."""
        began, noted = time.perf_counter(), NotedBatch()
        yield noted
        with suppress(Exception):
            took = time.perf_counter() - began
            now = self._wall()
            for what, whose, count in noted.counts(self._names):
                self._totals[what, whose] += count
            self._write(
                batch=number,
                batches=self.record.batches + 1,
                seconds=(*self.record.seconds, round(took, 3))[-REMEMBERED:],
                traffic=self._traffic(now),
                totals={**self.record.totals, **self._remote_totals(number, noted)},
                lateness={**self.record.lateness, **self._lateness(noted)},
            )

    def note_failures(self, failures: Mapping[int, BaseException]) -> None:
        """Say why jobs do not go on, though others may."""
        with suppress(Exception):
            found = {self._names[n]: self._mishap(error) for n, error in failures.items()}
            last = next(reversed(found.values()), self.record.error)
            self._write(failures={**self.record.failures, **found}, error=last)

    def note_restart(self, words: str) -> None:
        """Say that a process died and the query was started again."""
        with suppress(Exception):
            self._write(restarts=self.record.restarts + 1, error=Mishap(self._wall(), words))

    def fail(self, error: BaseException) -> None:
        """Say why the pipeline does not go on."""
        with suppress(Exception):
            self._write(error=self._mishap(error), end=End.FAILED)

    def stop(self) -> None:
        """Say that it has ended, unless it has failed."""
        with suppress(Exception):
            if self.record.end is None and self.record.jobs:
                self._write(end=End.STOPPED)

    def _remote_totals(self, batch: int, noted: NotedBatch) -> dict[str, Totals]:
        """Of jobs whose results are not on a disk: as their commits say, added up here."""
        found = {}
        for number, reports in noted.reports.items():
            name = self._names[number]
            if name in self.record.jobs and is_object_url(self.record.jobs[name].results):
                rows = sum(report.hidden.get("rows", 0) for report in reports)
                commit = summary(batch, "", reports, rows)
                found[name] = self.record.totals.get(name, Totals()).plus([commit])
        return found

    def _lateness(self, noted: NotedBatch) -> dict[str, dict[str, Lateness]]:
        found = {}
        for number, delays in noted.delays.items():
            name = self._names[number]
            clock = Clock(self.record.jobs[name].clock)
            found[name] = {query: Lateness.of(delay, clock) for query, delay in delays.items()}
        return found

    def _mishap(self, error: BaseException) -> Mishap:
        return Mishap(self._wall(), str(error))

    def _traffic(self, now: int) -> Traffic:
        """What was counted since about a minute ago."""
        if now - self._past[-1][0] >= STEP:
            self._past.append((now, self._totals.copy()))
        while len(self._past) > 1 and now - self._past[1][0] >= WINDOW:
            self._past.popleft()
        since, before = self._past[0]
        parts: dict[str, dict[str, int]] = {}
        for (what, whose), count in self._totals.items():
            parts.setdefault(what, {})[whose] = count - before[what, whose]
        return Traffic(since, now, **parts)

    def _write(self, **changes: Any) -> None:
        with self._lock:
            self.record = replace(self.record, **changes)
            hidden = self._directory / f".{RECORD}"
            hidden.write_text(self.record.to_json(), encoding="utf-8")
            hidden.replace(self._directory / RECORD)


class NotedBatch:
    """What a micro-batch had, as far as it has come."""

    def __init__(self) -> None:
        self.reports: Mapping[int, Sequence[Report]] = {}
        self.delays: Mapping[int, Mapping[str, QueryDelay]] = {}
        """How late the queries of scheduled jobs are."""
        self._read: Mapping[str, Stretch] = {}

    def add(self, reports: Mapping[int, Sequence[Report]], read: Mapping[str, Stretch]) -> None:
        """What tasks reported of each job, and what was read of each stream."""
        self.reports, self._read = reports, read

    def counts(self, names: Mapping[int, str]) -> Iterator[tuple[str, str, int]]:
        """What it adds to the counts."""
        for number, reports in self.reports.items():
            for report in reports:
                yield "rows_in", names[number], report.counts.get("rows_in", 0)
                yield "rows_out", names[number], report.hidden.get("rows", 0)
        for stream, stretch in self._read.items():
            yield "files", stream, sum(entry.path is not None for entry in stretch.entries)
            yield "size", stream, stretch.size


def _of(names: Iterable[str], known: Mapping[str, T]) -> dict[str, T]:
    return {name: known[name] for name in names if name in known}


def _described(job: SparkJob) -> QueryRecord:
    return QueryRecord(
        tuple(member.name for member in job.job.members.values()),
        job.job.clock.value,
        tuple(stream.name for stream in job.streams.values()),
        str(job.results.directory),
    )


def _source(stream: StreamDeclaration) -> StreamRecord:
    source = stream.source
    if source is None:
        return StreamRecord(stream.clock.value)
    header = source.format == "csv" and source.csv.header
    place = str(Path(source.path).absolute())
    return StreamRecord(stream.clock.value, place, source.format, header)
