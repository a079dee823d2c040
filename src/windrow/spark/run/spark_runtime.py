"""The runtime on Spark: jobs that start together are one pipeline on a SparkSession.

A connection judges pushed rows as they come and delivers them into the streams' inboxes, from which
the queries read (``windrow.spark.source.inbox``); a query runs from the moment somebody looks at
it, or, if it writes files, from the first delivery. Over files the queries read everything
themselves.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from windrow.core.errors import StateError, WindrowError
from windrow.core.time import Clock
from windrow.core.warnings import WindrowWarning
from windrow.engine.progress import Progress, cut_warning
from windrow.object_store.object_path import shared_place
from windrow.plan.catalog import ArchiveDeclaration, Catalog, QueryDeclaration
from windrow.plan.jobs import Group, Job, job_of_archive, job_of_query
from windrow.plan.nodes import RelationScan, StreamScan, walk
from windrow.plan.strategy import Strategy
from windrow.result_files.ownership import refuse_results_of_others
from windrow.result_files.query_table import refuse_late
from windrow.result_files.sinks import into, result_directories
from windrow.spark.checkpoint.pipeline_members import pipelines_for
from windrow.spark.checkpoint.query_directory import runs_of
from windrow.spark.checkpoint.script_record import keep_schedule, write_script
from windrow.spark.run.changes_frame import changes_of_member
from windrow.spark.run.frame_input import check_frame
from windrow.spark.run.inbox_deliveries import deliveries
from windrow.spark.run.machine import MachineError, check_machine, death_of_machine
from windrow.spark.run.open_checkpoint import OpenCheckpoint
from windrow.spark.run.pipeline_joins import PipelineJoins
from windrow.spark.run.running_groups import RunningGroups
from windrow.spark.run.session import refuse_private_checkpoint
from windrow.spark.run.spark_job import (
    Feed,
    SparkJob,
    job_of_group,
    join_tables,
    need_sources,
    refuse_replacing,
    refuse_tables_apart,
)
from windrow.spark.run.spark_pipeline import Pipeline
from windrow.spark.run.spark_run import SparkRun
from windrow.spark.run.starts_in_turn import SECONDS_BETWEEN_LOOKS, StartsInTurn
from windrow.spark.source.inbox_inputs import InboxInputs
from windrow.spark.source.refused_pages import RefusedPages
from windrow.streams.quarantine import Quarantine
from windrow.streams.relations import RelationMonitor


class OnSpark:
    """See the module. ``open_session`` is called once, when the first job starts.

    With a ``checkpoint`` a later runtime goes on where this one stopped; without, everything is
    forgotten when it is closed. Each job has its own directory below it.
    """

    in_process = False

    def __init__(
        self,
        open_session: Callable[[], SparkSession],
        checkpoint: str | Path | None,
        strategy: str | Strategy,
        feed: Feed,
        on_restart: Callable[[str], None] = lambda _: None,
        stop: threading.Event | None = None,
        close_session: Callable[[], None] = lambda: None,
        given_session: SparkSession | None = None,
    ) -> None:
        self._close_session, self._given_session = close_session, given_session
        self.strategy, self.wall = Strategy.from_name(strategy), feed.wall
        self._open_session, self._feed, self._on_restart = open_session, feed, on_restart
        self._stop = stop or threading.Event()
        self._checkpoint = OpenCheckpoint(checkpoint, live=feed.live)
        self._directory = self._checkpoint.directory
        given, pages = feed.quarantine, None
        if feed.live:
            own = shared_place(self._directory) / "quarantine"  # tasks write there
            pages = RefusedPages(given or Quarantine(own, bounded=True))
            self._feed = replace(feed, quarantine=pages.quarantine)
        pushed = None if given is None else given.directory
        self.inputs = InboxInputs(self._directory, pushed, feed.wall, pages)
        self.runs: list[SparkRun] = []
        self.pipelines: list[Pipeline] = []
        self.frames: dict[str, DataFrame] = {}
        self._groups = RunningGroups(self._directory, self.strategy)
        self._session: SparkSession | None = None
        self._catalog = Catalog()
        self._leaving: frozenset[str] = frozenset()
        self._starts = StartsInTurn()
        self._pauses = ExitStack()

    @property
    def directory(self) -> Path:
        """Where everything is: the checkpoint, or what stands for it."""
        return self._directory

    @contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """Whatever fails within leaves everything as it was."""
        runs, pipelines = {run: {*run.job.members} for run in self.runs}, [*self.pipelines]
        try:
            with self._checkpoint.all_or_nothing(), self.inputs.all_or_nothing(), self._pauses:
                yield
        except BaseException:
            for run in self.runs:
                if run not in runs:
                    run.withdraw(pipelines)
                elif joined := run.job.members.keys() - runs[run]:
                    self._go_on_without(run, joined)
            self.runs, self.pipelines = [*runs], pipelines
            self._leaving = frozenset()
            raise
        self._let_go()

    def drop(self, names: Collection[str]) -> None:
        """Let queries leave their pipelines, as those do that a script no longer has.

        Rows of streams lie in inboxes that belong to their declaration, so those stay.
        """
        for name in sorted(names & self.inputs.monitors.keys()):
            raise StateError(
                "on Spark a stream or relation stays declared as long as its connection",
                where=name,
                remedy="close the connection, and declare what you need on a new one",
            )
        self._leaving = frozenset(names)

    def _let_go(self) -> None:
        """Stop what was dropped; its checkpoint and its results stay."""
        leaving, self._leaving = self._leaving, frozenset()
        for run in tuple(self.runs) if leaving else ():
            gone = [n for n, m in run.job.members.items() if m.name.lower() in leaving]
            for number in gone:
                run.stop(number)
            if len(gone) == len(run.job.members):
                self.runs.remove(run)
            elif gone and run.job.synopses is not None:
                self._go_on_without(run, gone)

    def _go_on_without(self, run: SparkRun, gone: Collection[int]) -> None:
        """Let a group go on without some queries: what others read stays."""
        with run.pipeline.pause():
            group = self._groups.without(run, gone)
            job = job_of_group(group)
            self._groups.known[job.name] = group
            run.follow(self._spark_job(job, self._catalog))
        run.pipeline.go_on()

    def jobs(
        self,
        queries: Sequence[QueryDeclaration],
        archives: Sequence[ArchiveDeclaration],
        catalog: Catalog,
    ) -> Sequence[Job]:
        """As the checkpoint has them: a query stays in the group in which its state is."""
        refuse_replacing(queries, self._leaving)
        schedule = keep_schedule(self._directory, self._feed.schedule)
        self._work_off(queries)
        alone = self._joins().complete_alone(catalog, self.strategy, self.pipelines)
        groups = self._groups.arrange(self.runs, queries, schedule, self._pauses, alone)
        self._groups.known.update(groups)
        together = {query.name for group in groups.values() for query in group.members.values()}
        return [
            *(job_of_group(group) for group in groups.values()),
            *(job_of_query(q, catalog) for q in queries if q.name not in together),
            *map(job_of_archive, archives),
        ]

    def groups_with(
        self, queries: Sequence[QueryDeclaration], dropped: Collection[str] = ()
    ) -> Sequence[Group]:
        """What queries would share if they were made now; names are not used again here."""
        taken = {*dropped, *(name for run in self.runs for name in run.job.names)}
        new = [query for query in queries if query.name.lower() not in taken]
        self._work_off(new)
        schedule = self._feed.schedule or keep_schedule(self._directory, None)
        alone = self._joins().complete_alone(self._catalog, self.strategy, self.pipelines)
        with ExitStack() as pauses:
            found = self._groups.arrange(self.runs, new, schedule, pauses, alone).values()
        return [group.shared for group in found]

    def _joins(self, running: Collection[Path] = ()) -> PipelineJoins:
        inputs = self.inputs if self._feed.live else None
        return PipelineJoins(self._directory, inputs, self.frames, frozenset(running))

    def _work_off(self, queries: Sequence[QueryDeclaration]) -> None:
        """Let pipelines come to where their streams are that new queries read too."""
        scans = (node for query in queries for node in walk(query.plan))
        names = {n.name.lower() for n in scans if isinstance(n, StreamScan | RelationScan)}
        if any(self.inputs.inbox(n).next for n in names if n in self.inputs.monitors):
            for pipeline in self.pipelines:
                if pipeline.going:
                    with suppress(WindrowError):  # one that has died has its own error
                        pipeline.catch_up()

    def start(self, jobs: Sequence[Job], catalog: Catalog) -> list[SparkRun]:
        """The jobs, ready to run; results of others are refused before anything is touched."""
        known = {member.name for run in self.runs for member in run.job.members.values()}
        started = {member.name for job in jobs for member in job.members.values()} - known
        refuse_late(started, catalog.queries)
        writing = result_directories(q for q in catalog.queries if q.name in started)
        places = list(dict.fromkeys(writing))
        for place in places:
            self._checkpoint.lock(place, into(place))
        for place in places:
            overwrite = self._feed.overwrite
            refuse_results_of_others(place, runs_of(self._directory), overwrite=overwrite)
        if self._feed.live:
            self.inputs.declare(catalog)
        else:
            need_sources(jobs, catalog)
        try:
            if self._session is None:
                self._session = self._open_session()
            if self._checkpoint.temporary:
                refuse_private_checkpoint(self._session)
            runs = self._run_together(self._session, jobs, catalog)
        except Exception as failure:
            died = None if isinstance(failure, WindrowError) else death_of_machine(failure)
            if died is None:
                raise
            raise died from failure
        self.runs += [run for run in runs if run not in self.runs]
        if self._feed.live:
            self._open_files(catalog)
        return runs

    def _run_together(
        self, session: SparkSession, jobs: Sequence[Job], catalog: Catalog
    ) -> list[SparkRun]:
        """Pipelines for the jobs, and what looks at each of these."""
        found = {j.name: j for j in (self._spark_job(job, catalog, *jobs) for job in jobs)}
        grown = {run: found.pop(name) for run in self.runs if (name := run.directory) in found}
        join_tables(found.values(), runs_of(self._directory))
        running = [pipeline.home.directory for pipeline in self.pipelines]
        alive = [pipeline for pipeline in self.pipelines if pipeline.failure is None]
        joined = self._joins(running).join(found, alive)
        starting = [job.starting for name, job in found.items() if name not in joined]
        runs = {
            name: SparkRun(pipeline, number, self.inputs.refusals)
            for name, (pipeline, number) in joined.items()
        }
        placed = list(pipelines_for(self._directory, starting, running))
        refuse_tables_apart([[found[name] for name in numbers] for _, numbers in placed])
        for home, numbers in placed:
            mine = {number: found[name] for name, number in numbers.items()}
            feed = self._feed
            if feed.live:
                readers = {name: job.declaration for job in mine.values() for name in job.inputs}
                inboxes = deliveries(self.inputs, home, readers)
                feed = replace(feed, inboxes=inboxes, frames=self.frames)
            push = self._checkpoint.push_of(home)
            pipeline = Pipeline(session, home, mine, feed, self._on_restart, push)
            self.pipelines.append(pipeline)
            for name, number in numbers.items():
                runs[name] = SparkRun(pipeline, number, self.inputs.refusals)
        for run, job in grown.items():
            run.follow(job)
        self._catalog = catalog
        write_script(self._directory, catalog, self.strategy)
        self._checkpoint.push()  # before anything is published
        self._pauses.close()
        for pipeline in self.pipelines:
            pipeline.go_on()
        return [*(runs[name] for name in found), *grown]

    def _spark_job(self, job: Job, catalog: Catalog, *among: Job) -> SparkJob:
        assert self._session is not None
        group = self._groups.known[job.name] if job.is_shared else None
        directory = self._directory / job.name if group is None else group.directory
        return SparkJob(self._session, job, catalog, directory, self.strategy, group, among)

    # What comes through a connection

    def _open_files(self, catalog: Catalog) -> None:
        """Find the files of relations that were not delivered; queries read those of streams."""
        relations = (relation.name.lower() for relation in catalog.relations)
        self.inputs.open(name for name in relations if not self.inputs.inbox(name).next)

    def put_on_clock(self, name: str, clock: Clock | None) -> bool:
        """Put a relation that no query reads yet on the clock of its first updates."""
        monitor = self.inputs.monitor(name)
        read = any(name in run.job.inputs for run in self.runs)
        if clock is None or clock is monitor.declaration.clock or read:
            return False
        if isinstance(monitor, RelationMonitor) and monitor.fresh:
            self.inputs.add(RelationMonitor(monitor.relation, clock))
        return False

    def read_frame(self, name: str, frame: Any) -> None:
        """Read a declared stream from a streaming DataFrame; its columns are found by name."""
        self.frames[check_frame(self.inputs.monitor(name), frame).name] = frame

    def changes_frame(self, query: str) -> DataFrame:
        """The changes of a query INTO files, on the session that was given."""
        members = ((run, n, m.name) for run in self.runs for n, m in run.job.members.items())
        run, number = next((run, number) for run, number, name in members if name == query)
        return changes_of_member(self._given_session or self._open_session(), run, number)

    def read(self) -> None:
        """Deliver the files of relations when all of them have been read."""
        while self.inputs.step():
            pass
        self.inputs.deliver()

    def step(self) -> None:
        """Deliver what was accepted since the last time."""
        self.inputs.deliver()
        for run in self.runs:
            if run.writes:
                run.start()

    def late_words(self, query: QueryDeclaration, *, alone: bool) -> str | None:
        """What to say of a query that would share no synopses; None if it has missed nothing."""
        self._work_off([query])
        running = self.pipelines if alone else ()
        return self._joins().late_words(query, self._catalog, self.strategy, running)

    def tell(self) -> None:
        """Nothing: listeners have a thread of their own."""

    # Over files

    def work(self, *, once: bool) -> float | None:
        """Start the next query, or look at those that run; None if none of them does any more."""
        running = False
        with self._naming_a_death():
            running = self._starts.look(self.pipelines, self.runs)
            if running:  # while nothing comes, nobody else asks
                check_machine()
        return SECONDS_BETWEEN_LOOKS if running else None

    @contextmanager
    def _naming_a_death(self) -> Iterator[None]:
        """If it is the virtual machine that died, say that.

        A signal that ends the run may go to all its processes: then its death is no news.
        """
        try:
            yield
        except Exception as failure:
            own = isinstance(failure, WindrowError) and not isinstance(failure, MachineError)
            died = None if own else death_of_machine(failure)
            if died is None:
                raise
            if not self._stop.is_set():
                for pipeline in self.pipelines:
                    pipeline.recorder.fail(died)
                raise died from failure

    def publish(self) -> None:
        """End all queries, and take note of what they have published."""
        ended: list[tuple[Pipeline, BaseException | None]] = []
        with self._naming_a_death():
            ended += [(pipeline, pipeline.finish()) for pipeline in self.pipelines]
        for run in self.runs:
            run.conclude()
        for pipeline, failure in ended:
            if failure is not None and not pipeline.restarts.may_restart(failure):
                raise pipeline.error(failure)

    def progress(self) -> list[Progress]:
        """How far each run has come."""
        return [run.progress() for run in self.runs]

    def losses(self) -> list[tuple[str, WindrowWarning]]:
        """Nanoseconds that were pushed; of files whoever looks at a query is told."""
        names = [m.declaration.name for m in self.inputs.monitors.values() if m.cut]
        return [(f"moments of {n}", cut_warning(f"stream {n}")) for n in names]

    def close(self) -> None:
        """Stop all queries; without a checkpoint, forget everything.

        Whatever fails to stop, the others are stopped before anybody else may write where they do.
        """
        with ExitStack() as last:  # the last that is pushed is done first
            last.callback(self._forget)
            if self._feed.live:
                for run in self.runs:
                    last.callback(run.close)
                for pipeline in self.pipelines:
                    last.callback(pipeline.finish)
                for run in self.runs:
                    last.callback(run.finish)

    def _forget(self) -> None:
        self._checkpoint.close()
        self.runs, self.frames, self.pipelines = [], {}, []
        self.inputs.forget()
        self._close_session()
