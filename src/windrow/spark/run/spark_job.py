"""A job as Spark runs it: what it reads, its stages, its directory, and its results.

A ``Feed`` says how rows come to it, and to the others of its pipeline.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from windrow.core.errors import InputError, StateError
from windrow.core.schema import Schema
from windrow.core.time import Clock, Stopwatch, Wall, wall_clock
from windrow.engine.day_store import strategy_for
from windrow.object_store.object_path import path_of
from windrow.plan.catalog import (
    NO_TIMESTAMP,
    Catalog,
    QueryDeclaration,
    RelationDeclaration,
    StreamDeclaration,
)
from windrow.plan.jobs import Changes, Job, Member
from windrow.plan.nodes import RelationScan, StreamScan, walk
from windrow.plan.physical.cut_stages import cut_into_stages
from windrow.plan.physical.stages import IN_THE_PLAN
from windrow.plan.sharing.group_schedule import ScheduleOptions
from windrow.plan.sharing.saved_group import without_members
from windrow.plan.sharing.shared_joins import SharedJoin
from windrow.plan.sharing.shared_selection import SharedSelection
from windrow.plan.sharing.shared_synopses import SharedSynopses
from windrow.plan.strategy import Strategy
from windrow.result_files.identity import Identity
from windrow.result_files.query_table import place_of
from windrow.result_files.reader import published_results
from windrow.spark.checkpoint.pipeline_directory import Joined
from windrow.spark.checkpoint.pipeline_members import Starting
from windrow.spark.checkpoint.query_directory import Home, fingerprint_of, open_home
from windrow.spark.checkpoint.query_groups import Group, GroupFilling
from windrow.spark.run.inbox_deliveries import Delivery
from windrow.spark.run.job_results import ArchiveResults, JobResults, MemberResults
from windrow.spark.run.result_table import ResultTable, refuse_apart
from windrow.spark.run.session import index_memory, shuffle_partitions
from windrow.spark.source.fill_task import FillTask, as_sent
from windrow.spark.stage.job_layout import ALONE, Seat, layout_for
from windrow.spark.stage.late_begin import FROM_THE_START, LateBegin
from windrow.spark.stage.routes import Routes
from windrow.spark.stage.stage_task import StageTask
from windrow.spark.stage.subscription_index import with_cut, with_whole_paths
from windrow.streams.quarantine import Quarantine
from windrow.streams.relations import updates_of

Inputs = dict[str, StreamDeclaration | RelationDeclaration]


class SparkJob:
    """See the module. ``directory`` is the job's own in the checkpoint; a ``group`` has members.
    It starts ``among`` other jobs."""

    def __init__(
        self,
        session: SparkSession,
        job: Job,
        catalog: Catalog,
        directory: Path,
        strategy: Strategy,
        group: Group | None = None,
        among: Sequence[Job] = (),
    ) -> None:
        self.job, self.strategy, self._group = job, strategy, group
        if group is not None:
            group.take_seats()
        elif job.archive is not None:
            self.strategy = strategy_for(job.archive, strategy)
        self.declaration = job.members[0].query if group is None else group.declaration
        plan = with_whole_paths(self.declaration.plan)
        self.inputs = inputs_of(self.declaration, catalog)
        self.streams: dict[str, StreamDeclaration] = {
            name: updates_of(i, job.clock) if isinstance(i, RelationDeclaration) else i
            for name, i in self.inputs.items()
        } or {IN_THE_PLAN: nothing_to_read(job.clock)}
        stages = cut_into_stages(plan, self.strategy)
        stays = cut_into_stages(without_members(plan), self.strategy)
        self.home: Home = open_home(
            directory.absolute(),
            self.declaration.name,
            fingerprint_of(stays, self.inputs, self.strategy),
            lambda: layout_for(
                plan,
                stages,
                shuffle_partitions(session),
                index_memory(session),
                seat_of(job, among),
            ),
        )
        self.joined: Joined | None = None
        """How it came to its pipeline, if that had run before."""
        self.stages = cut_into_stages(with_cut(plan, self.home.layout.cut), self.strategy)
        self.results = self._results(group)

    @property
    def seats(self) -> int:
        """How many queries it has had; a plan with more of them is another one."""
        return 1 if self._group is None else len(self._group.seats)

    @property
    def filling(self) -> GroupFilling | None:
        """What it begins with, if it is a group that begins with what a query keeps alone."""
        return None if self._group is None else self._group.filling

    @property
    def name(self) -> str:
        """The job's directory in the checkpoint, by which pipelines know it."""
        return self.home.directory.name

    @property
    def starting(self) -> Starting:
        """What it is for those who say in which pipeline it goes on. Into a table others write too,
        and what waits for an archive is not published yet."""
        known, places = None, [self.results.directory, *map(self.results.place, self.job.members)]
        if not (self.results.tables or self.job.archive):
            found = [published_results(place) for place in places if place is not None]
            known = max((state.last for state in found if state.run == self.home.run), default=-1)
        return Starting(self.name, self.job.clock, [*self.streams], known)

    def _results(self, group: Group | None) -> JobResults:
        if group is not None:
            return MemberResults(group, self.home)
        if self.job.archive is not None:
            return ArchiveResults(self.job.archive, self.home)
        return JobResults(self.declaration, self.home)

    def routes(self, source: str | int, exchange: str | None) -> Routes:
        """Where the tuples of a stream, or of one of its stages, go."""
        return Routes.of(source, self.stages, self.home.buckets, exchange)

    def tasks(
        self, number: int, exchange: str | None, quarantine: Quarantine | None, room: int
    ) -> list[StageTask]:
        """Its stages in tasks, by level; ``number`` is the job's in its pipeline. Results of up to
        ``room`` bytes are told."""
        delivery, joined = self.results.delivery(0 if self._writes_itself else room), self.joined
        edges = {e.source: e.name for s in reversed(self.stages) for e in reversed(s.inputs)}
        return [
            StageTask(
                run=self.home.run,
                stage=stage,
                slacks={s.name: s.slack for s in self.streams.values()},
                routes=self.routes(stage.number, exchange),
                clock=self.declaration.clock,
                job=number,
                delivery=delivery if stage is self.stages[-1] else None,
                judging=frozenset(edges.values()),
                quarantine=quarantine,
                strategy=self.strategy,
                begin=FROM_THE_START if joined is None else LateBegin(joined.closed, joined.begins),
            )
            for stage in self.stages
        ]

    @property
    def _writes_itself(self) -> bool:
        """Whether the task writes all that there is of the results of a micro-batch. Others tell
        the driver the little that they have, who makes one file of what several have told."""
        return len(self.home.buckets) == 1 and not self.results.tables

    def fill_task(self, number: int, exchange: str | None, fills: Path) -> FillTask | None:
        """What it is filled with in its first micro-batch, from files of a directory, if it is."""
        joined = self.joined
        if joined is None:
            return None
        edges = tuple(
            (
                stage.number,
                as_sent(edge) if joined.summarised else edge,
                tuple(str(fills / name) for name in joined.files[edge.name]),
            )
            for stage in self.stages
            for edge in stage.inputs
            if edge.name in joined.files
        )
        routes = Routes((), self.home.buckets, exchange)
        times, rows = dict(joined.times), dict(joined.rows or {})
        return FillTask(number, routes, edges, times, joined.size, rows)


def seat_of(job: Job, among: Sequence[Job]) -> Seat:
    """A job's among those that start together; a group of queries is a crowd by itself."""
    alone = [other.name for other in among if not other.is_shared]
    return Seat(alone.index(job.name), len(alone)) if job.name in alone else ALONE


def join_tables(jobs: Collection[SparkJob], runs: Collection[str]) -> None:
    """Let queries that write into one directory write into one table; ``runs`` are those of the
    checkpoint. A table stays one when the others have left the script."""
    writers: dict[str, list[tuple[QueryDeclaration, str]]] = {}
    for job in jobs:
        for member in job.job.members.values():
            if (place := place_of(member.into)) is not None:
                writers.setdefault(place, []).append((member.query, job.home.run))
    tables = {}
    for place, found in writers.items():
        known = Identity.read(path_of(place))
        if len(found) > 1 or (known is not None and known.table and known.run in runs):
            tables[place] = ResultTable([query for query, _ in found], found[0][1], runs)
    for job in jobs:
        job.results.join_tables(tables)


def refuse_tables_apart(pipelines: Iterable[Sequence[SparkJob]]) -> None:
    """Refuse queries of a table that run in different pipelines: one has been added, or failed."""
    seen: dict[ResultTable, tuple[int, str]] = {}
    for number, jobs in enumerate(pipelines):
        for job in jobs:
            for table in job.results.tables:
                first, name = seen.setdefault(table, (number, job.declaration.name))
                if first != number:
                    refuse_apart(table.directory, name, job.declaration.name)


def inputs_of(query: QueryDeclaration, catalog: Catalog) -> Inputs:
    """The streams and relations that the query reads, by the names that its plan has for them."""
    found: Inputs = {}
    for node in walk(query.plan):
        if isinstance(node, StreamScan | RelationScan):
            declared = catalog.find(node.name)
            if not isinstance(declared, StreamDeclaration | RelationDeclaration):
                raise InputError(
                    where=f"query {query.name}",
                    expected=f"a declaration of {node.name}",
                    found="none",
                    remedy="add CREATE STREAM or CREATE RELATION to the script",
                )
            found[node.name] = declared
    return found


def job_of_group(group: Group) -> Job:
    """A job whose queries share a selection or synopses."""
    members = {number: Member(q, Changes(q.into)) for number, q in group.members.items()}
    declared = group.declaration
    shared = group.shared
    synopses = shared if isinstance(shared, SharedSynopses) else None
    selection = shared if isinstance(shared, SharedSelection) else None
    join = shared if isinstance(shared, SharedJoin) else None
    return Job(declared.name, declared.plan, declared.clock, members, selection, synopses, join)


def refuse_replacing(queries: Iterable[QueryDeclaration], leaving: Collection[str]) -> None:
    """Refuse queries under the lower-case names of those that are dropped in the same script."""
    for query in queries:
        if query.name.lower() in leaving:
            raise StateError(
                "on Spark the state of a query in the checkpoint belongs to its name",
                where=f"query {query.name}",
                expected="another name for another query",
                found="OR REPLACE",
                remedy=f"write DROP QUERY {query.name}, and CREATE QUERY with another name",
            )


def nothing_to_read(clock: Clock) -> StreamDeclaration:
    """What a query over VALUES only reads: a stream that is over from the beginning, so that there
    is one micro-batch."""
    return StreamDeclaration(IN_THE_PLAN, Schema(()), NO_TIMESTAMP, clock)


def need_sources(jobs: Iterable[Job], catalog: Catalog) -> None:
    """Refuse jobs that read what has no files."""
    for member in (member for job in jobs for member in job.members.values()):
        for declared in inputs_of(member.query, catalog).values():
            if declared.source is None:
                raise InputError(
                    where=declared.name,
                    expected="FROM 'path' FORMAT csv, json or parquet",
                    found="a stream or relation without a source",
                    remedy="name its files where it is created, or push rows from Python",
                )


@dataclass(frozen=True)
class Feed:
    """``once`` ends with the files that are there; ``live`` never pauses.

    ``files`` is how many files of a stream a trigger takes; None leaves it to their size. Results
    of another run are refused unless ``overwrite`` says that they may go. By the ``wall`` rows are
    ahead and streams idle. Queries that have a ``schedule`` are late if micro-batches take longer,
    by the ``stopwatch``, than the time that they cover.
    """

    once: bool = False
    live: bool = False
    files: int | None = None
    quarantine: Quarantine | None = None
    overwrite: bool = False
    inboxes: Mapping[str, Delivery] = field(default_factory=dict)
    frames: Mapping[str, DataFrame] = field(default_factory=dict)
    wall: Wall = wall_clock
    schedule: ScheduleOptions | None = None
    stopwatch: Stopwatch = time.perf_counter
