"""Queries that come later to a pipeline: those of a script that was started again with more of
them, and those of a second ``execute`` on a connection.

A query alone joins where all of its streams are read, on one clock. Over files it does so if the
others hold all that its windows would have by now; else it reads the files from their beginning, in
a pipeline of its own, which needs them but misses nothing. Rows that were pushed cannot be read
again: there it joins with what is held (``windrow.spark.checkpoint.late_fill``).

It joins between two micro-batches: a running pipeline goes on with it, and is started again only if
its source has to know more than before. There is an empty micro-batch for it, so that it answers
also if nothing new comes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from windrow.core.time import BEGINNING
from windrow.engine.late_start import LateStart
from windrow.plan.catalog import Catalog, QueryDeclaration, RelationDeclaration
from windrow.plan.nodes import RelationScan, StreamScan, walk
from windrow.plan.strategy import Strategy
from windrow.spark.checkpoint.late_fill import LateFill, Moment, late_fill
from windrow.spark.checkpoint.late_groups import CompleteAlone
from windrow.spark.checkpoint.pipeline_directory import (
    Joined,
    PipelineHome,
    pipeline_directories,
    read_pipeline,
)
from windrow.spark.checkpoint.saved_windows import SavedJob, missed_by, newest_version
from windrow.spark.run.newcomers import Newcomer, start_alone
from windrow.spark.run.spark_job import SparkJob
from windrow.spark.run.spark_pipeline import Pipeline
from windrow.spark.source.file_log import Entry, FileLog
from windrow.spark.source.inbox_inputs import InboxInputs

Places = dict[str, tuple[Pipeline, int]]
"""Of jobs that have joined a running pipeline: which one, and their numbers there."""


@dataclass(frozen=True)
class PipelineJoins:
    """See the module. ``inputs`` are those of a connection; streams in ``frames`` are read from
    DataFrames, of which nothing is known. Pipelines in the directories ``started`` are not at rest.
    """

    checkpoint: Path
    inputs: InboxInputs | None = None
    frames: Collection[str] = ()
    started: frozenset[Path] = frozenset()

    def join(self, jobs: Mapping[str, SparkJob], running: Sequence[Pipeline]) -> Places:
        """Let those of the jobs that are new join pipelines, if they can."""
        homes = [read_pipeline(path) for path in pipeline_directories(self.checkpoint)]
        known = {name for home in homes for name in home.members}
        fresh = {n: job for n, job in jobs.items() if n not in known}
        groups = {n: job for n, job in fresh.items() if job.filling is not None}
        found = self._join_filled(groups, running)
        new = {n: job for n, job in fresh.items() if self._may_join(job)}
        if not new:
            return found
        at_rest = {home.directory for home in homes} - self.started
        for directory in sorted(at_rest):
            for name in tuple(new):
                if self._join_at_rest(new[name], directory, jobs):
                    del new[name]
        return {**found, **self._join_running(new, running)}

    def _join_filled(self, groups: Mapping[str, SparkJob], running: Sequence[Pipeline]) -> Places:
        """Let groups begin that start on what queries keep alone, where these run or will."""
        found: Places = {}
        pipelines = {pipeline.home.directory: pipeline for pipeline in running}
        for name, job in groups.items():
            assert job.filling is not None
            directory = job.filling.home.directory
            if directory in pipelines:
                pipeline = pipelines[directory]
                with pipeline.pause():
                    joined = job.filling.write(job.stages, pipeline.home)
                    found[name] = pipeline, pipeline.let_in(job, joined)
            else:
                home = read_pipeline(directory)
                _note_joined(home, job, job.filling.write(job.stages, home))
        return found

    def _may_join(self, job: SparkJob) -> bool:
        """A micro-batch that a table has whole already is not written there once more, so a query
        that comes later has no place in it."""
        if job.job.is_shared or job.job.archive or job.results.tables:
            return False
        return not job.streams.keys() & frozenset(self.frames)

    def _join_at_rest(self, job: SparkJob, directory: Path, jobs: Mapping[str, SparkJob]) -> bool:
        """Join a pipeline that is about to start; whether it did."""
        home = read_pipeline(directory)
        others = {n: jobs[name] for name, n in home.present.items() if name in jobs}
        moment = moment_of(home, others, home.last_batch)
        fill = self._fill_for(Newcomer.of_job(job), moment, others)
        if fill is None:
            return False
        joined = fill.write()
        if self.inputs is None:  # first: without it there may be no micro-batch for the job
            _wake(home, job)
        else:
            self._deliver_nothing(job, self.inputs)
        _note_joined(home, job, joined)
        return True

    def _join_running(self, new: Mapping[str, SparkJob], running: Sequence[Pipeline]) -> Places:
        found: Places = {}
        for pipeline in running if new else ():
            with pipeline.pause():
                moment = moment_of(pipeline.home, pipeline.going)
                for name, job in new.items():
                    fill = None
                    if name not in found:
                        fill = self._fill_for(Newcomer.of_job(job), moment, pipeline.going)
                    if fill is not None:
                        found[name] = pipeline, pipeline.let_in(job, fill.write())
        for name in found if self.inputs is not None else ():
            assert self.inputs is not None
            self._deliver_nothing(new[name], self.inputs)
        return found

    def _fill_for(
        self, new: Newcomer, moment: Moment, others: Mapping[int, SparkJob]
    ) -> LateFill | None:
        """What a query is filled with if it joins; None if it does better elsewhere."""
        if not others or any(other.job.clock is not new.clock for other in others.values()):
            return None
        fill = late_fill(new.joining, moment)
        if isinstance(fill, str):
            return None
        if fill.start is None or (fill.is_complete and not new.is_stream):
            return fill
        return fill if self.inputs is not None and new.is_pushed else None

    def late_words(
        self,
        query: QueryDeclaration,
        catalog: Catalog,
        strategy: Strategy,
        running: Sequence[Pipeline],
    ) -> str | None:
        """What to say of a query that would be made now; None if it has missed nothing."""
        start = self._start_alone(query, catalog, strategy, running)
        return None if start is None else start.words(query.clock)

    def complete_alone(
        self, catalog: Catalog, strategy: Strategy, running: Sequence[Pipeline]
    ) -> CompleteAlone:
        """What says from when a query would be complete that is made now and joins no group; files
        are read from their beginning for it."""

        def complete(query: QueryDeclaration) -> int:
            start = self._start_alone(query, catalog, strategy, running)
            return BEGINNING if start is None else max(start.complete_from, start.begins)

        return complete

    def _start_alone(
        self,
        query: QueryDeclaration,
        catalog: Catalog,
        strategy: Strategy,
        running: Sequence[Pipeline],
    ) -> LateStart | None:
        """How a query begins that is made now; None if it misses nothing."""
        scans = {n.name for n in walk(query.plan) if isinstance(n, StreamScan | RelationScan)}
        if self.inputs is None or any(catalog.find(name) is None for name in scans):
            return None  # what nobody has declared has had no rows
        new = Newcomer.of_query(query, catalog, strategy)
        for pipeline in running if not new.inputs.keys() & frozenset(self.frames) else ():
            if pipeline.failure is None:
                with pipeline.pause():
                    moment = moment_of(pipeline.home, pipeline.going)
                    fill = self._fill_for(new, moment, pipeline.going)
                if fill is not None:
                    return fill.start
        return start_alone(new, self.inputs)

    def _deliver_nothing(self, job: SparkJob, inputs: InboxInputs) -> None:
        """Let there be a micro-batch, by word that an instant is closed which was closed before."""
        inbox = inputs.inbox(_first_stream(job))
        inbox.advance(inbox.advanced)


def _note_joined(home: PipelineHome, job: SparkJob, joined: Joined) -> PipelineHome:
    """Write down that a job has joined a pipeline that does not run."""
    known = {**home.joined, job.name: joined}
    return home.write(members=(*home.members, job.name), joined=known)


def moment_of(
    home: PipelineHome, others: Mapping[int, SparkJob], batch: int | None = None
) -> Moment:
    """A pipeline after its last micro-batch; that is ``batch`` if it does not run."""
    if batch is None:
        batch, version = newest_version(home.state)
    else:
        version = home.version
    holders = list(_holders(home, others))
    read = frozenset(name.lower() for job in others.values() for name in job.streams)
    return Moment(home, batch, version, holders, read)


def _holders(home: PipelineHome, others: Mapping[int, SparkJob]) -> Iterator[SavedJob]:
    for number, job in others.items():
        if not (job.job.is_shared or job.job.archive):
            since = missed_by(home, job.name)
            yield SavedJob(job.job.name, number, job.stages, job.strategy, since)


def _first_stream(job: SparkJob) -> str:
    """One of its streams; of a query over relations alone, one of these."""
    of_streams = [n for n, i in job.inputs.items() if not isinstance(i, RelationDeclaration)]
    return (of_streams or [*job.streams])[0]


def _wake(home: PipelineHome, job: SparkJob) -> None:
    """Let there be a micro-batch also if nothing new comes: an entry that says nothing.

    If one was begun and is not over it is repeated, and serves as well.
    """
    if home.last_begun > home.last_batch:
        return
    log = FileLog(home.log(_first_stream(job)))
    ended = bool(log.entries) and log.entries[-1].end
    log.append([Entry(end=ended, batch=home.last_begun + 1)])
