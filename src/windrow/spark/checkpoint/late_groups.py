"""Periodic aggregates that come when one over their stream and keys has run alone: they begin full.

A query that runs alone keeps summaries of its sub-windows, which are those of a synopsis
(``windrow.plan.sharing.group_of_one``). Queries that come later and are complete earlier with these
are a group which begins with them: what the synopsis would hold is read from the committed state,
bucket by bucket, and written down as senders would have sent it, with what waits there for its
instant to be closed. The group joins the pipeline of the query that was alone, and whoever comes
next joins the group (``query_groups``). The query itself goes on as it was, with results and state
of its own: so nothing of it has to be moved. The group keeps all that the query does, as if that
were a member without answers, so the summaries are kept twice, for however many queries come.

Its number and how it joined go into ``pipeline.json`` in one step; a group that was cut short
before that is none. Cost: the summaries that are kept are read and written once.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from windrow.columns.delta import Delta
from windrow.core.time import BEGINNING
from windrow.engine.group_from_single import keeps_enough, rows_of_single
from windrow.engine.pipeline import Pipeline
from windrow.operators.snap import round_up
from windrow.plan.catalog import QueryDeclaration
from windrow.plan.nodes import StreamScan, walk
from windrow.plan.physical.cut_stages import cut_into_stages
from windrow.plan.physical.stages import Stage, StageEdge
from windrow.plan.sharing.group_of_one import family_of, group_of_one
from windrow.plan.sharing.shared_synopses import SharedSynopses
from windrow.plan.strategy import Strategy
from windrow.result_files.atomic_files import write
from windrow.spark.checkpoint.late_fill import Moment
from windrow.spark.checkpoint.pipeline_directory import (
    Joined,
    PipelineHome,
    pipeline_directories,
    read_pipeline,
)
from windrow.spark.checkpoint.query_groups import (
    PREFIX,
    Group,
    digest_of_member,
    greatest_of,
    seat_kept_for,
    with_queries,
)
from windrow.spark.checkpoint.saved_windows import (
    SavedBucket,
    missed_by,
    newest_version,
    saved_buckets,
)
from windrow.spark.source.fill_task import as_sent, write_tuples
from windrow.spark.stage.state_files import Version
from windrow.streams.stream_time import from_json, to_json

CompleteAlone = Callable[[QueryDeclaration], int]
"""From which instant on a query would be complete that is made now and joins nobody."""


@dataclass(frozen=True)
class SingleState:
    """A query that runs alone in a pipeline, and what it keeps after a micro-batch."""

    query: QueryDeclaration
    home: PipelineHome
    batch: int
    version: Version

    @property
    def _stages(self) -> Sequence[Stage]:
        return cut_into_stages(self.query.plan, Strategy.UPA)

    @property
    def stream(self) -> str:
        """That it reads; one alone, if others may join it."""
        return next(node.name for node in walk(self.query.plan) if isinstance(node, StreamScan))

    def group(self) -> SharedSynopses | None:
        """The group of it alone; None if what it keeps is of no use to others."""
        if family_of(self.query) is None:
            return None
        missed = missed_by(self.home, self.query.name).get(self.stream.lower(), BEGINNING)
        group = group_of_one(self.query, None if missed == BEGINNING else missed, None)
        found = self._stage()
        if group is None or found is None:
            return None
        return group if keeps_enough(group, _operators(found[0])) else None

    def _stage(self) -> tuple[Stage, StageEdge] | None:
        """The one that has its groups, and by which edge tuples or summaries come there."""
        for stage in self._stages:
            edges = [edge for edge in stage.inputs if isinstance(edge.source, str)]
            if len(edges) == 1 and _operators(stage).sliding_groups():
                return stage, edges[0]
        return None

    def buckets(self) -> Iterator[tuple[SavedBucket, Stage, StageEdge]]:
        found = self._stage()
        assert found is not None
        number = self.home.number_of(self.query.name)
        for bucket in saved_buckets(found[0], self.home.state, self.version, number):
            yield bucket, *found

    def instants(self) -> tuple[int | None, int | None]:
        """The last instant that is closed, and the last of which there are rows; None: none."""
        closed, seen = [], []
        for bucket, _, _ in self.buckets():
            closed.append(int(bucket.meta["now"]))
            times = from_json(bucket.meta["times"]).values()
            seen += [max(time.top, time.advanced) for time in times]
        if BEGINNING in closed:
            return None, None
        return greatest_of(closed), greatest_of([*closed, *seen])

    def summaries(self, group: SharedSynopses) -> Iterator[Delta]:
        """All that it keeps, and what waits, for a group of which it is the first."""
        s = group.plan.synopses[0].s
        for bucket, stage, edge in self.buckets():
            single = _operators(stage)
            for name, (_, operator) in single.sliding_groups().items():
                operator.load(bucket.segments(name), bucket.small_values(name))
            yield rows_of_single(group, single)
            waiting = bucket.waiting(edge).sorted()
            ends = round_up(waiting.ts, s)
            for end in np.unique(ends).tolist():
                single = _operators(stage)
                single.process({edge.name: waiting.filter(ends == end)}, end)
                yield rows_of_single(group, single)


def _operators(stage: Stage) -> Pipeline:
    return Pipeline(stage.plan, changes=False)


@dataclass(frozen=True)
class SingleFilling:
    """What a group of late queries begins with; ``whole`` is the group with the query that has it,
    all of whose instants up to ``closed`` are over."""

    single: SingleState
    whole: SharedSynopses
    closed: int

    @property
    def home(self) -> PipelineHome:
        return self.single.home

    def write(self, stages: Sequence[Stage], home: PipelineHome) -> Joined:
        """See ``GroupFilling``."""
        single = self.single
        moment = Moment(single.home, single.batch, single.version, [], frozenset())
        time, _ = moment.time_of(single.stream)
        ((edge,),) = [s.inputs for s in stages if isinstance(s.inputs[0].source, str)]
        sizes: list[int] = []

        def rows() -> Iterator[Delta]:
            for delta in single.summaries(self.whole):
                sizes.append(delta.nbytes)
                yield delta

        home.fills.mkdir(parents=True, exist_ok=True)
        name = f"{uuid.uuid4().hex}.arrow"
        write(home.fills / name, partial(write_tuples, as_sent(edge), rows()))
        times = to_json({str(edge.source): time})
        files = {edge.name: [name]}
        return Joined(
            single.batch, self.closed, size=sum(sizes), times=times, files=files, summarised=True
        )


def late_groups(
    queries: Sequence[QueryDeclaration],
    singles: Iterable[SingleState],
    directory: Path,
    complete_alone: CompleteAlone,
) -> list[Group]:
    """The groups of those queries that are complete at once, or earlier than alone, with what a
    query keeps that runs alone; others come along if they lose nothing."""
    left, found = [query for query in queries if family_of(query) is not None], []
    for single in singles if left else ():
        group = _group_beside(single, left, directory, complete_alone)
        if group is not None:
            found.append(group)
            names = {query.name for query in group.members.values()}
            left = [query for query in left if query.name not in names]
    return found


def _group_beside(
    single: SingleState,
    queries: Sequence[QueryDeclaration],
    directory: Path,
    complete_alone: CompleteAlone,
) -> Group | None:
    """That of the queries which begin with what one keeps, if there are any."""
    alone = single.group()
    closed, seen = (None, None) if alone is None else single.instants()
    if alone is None or closed is None:
        return None

    def is_earlier(joined: SharedSynopses, query: QueryDeclaration) -> bool:
        complete = joined.sharing.member(query.name).complete_from
        return complete is None or complete < complete_alone(query)

    def is_not_later(joined: SharedSynopses, query: QueryDeclaration) -> bool:
        return (joined.sharing.member(query.name).complete_from or 0) <= complete_alone(query)

    whole = with_queries(alone, queries, (closed, seen), is_earlier)
    if whole is alone:
        return None
    left = [query for query in queries if query.name not in whole.names]
    whole = with_queries(whole, left, (closed, seen), is_not_later)
    plan = replace(whole.plan, members=(None, *whole.plan.members[1:]))
    shared = replace(whole, plan=plan, gone=frozenset({0}))
    seats = [seat_kept_for(single.query.name)]
    seats += [(q.name, digest_of_member(shared, n)) for n, q in shared.present.items()]
    place = directory / f"{PREFIX}{shared.queries[1].name}"
    declaration = QueryDeclaration(shared.title, shared.root, single.query.clock)
    filling = SingleFilling(single, whole, closed)
    return Group(shared, declaration, shared.present, seats, place, filling=filling)


def singles_at_rest(
    queries: Iterable[QueryDeclaration], directory: Path, running: Iterable[Path] = ()
) -> list[SingleState]:
    """Those of the queries that have run alone, in pipelines of a checkpoint that do not run."""
    names = {query.name: query for query in queries}
    found = []
    for path in pipeline_directories(directory):
        home = None if path in set(running) else read_pipeline(path)
        for name in () if home is None else home.present.keys() & names.keys():
            assert home is not None
            found.append(SingleState(names[name], home, home.last_batch, home.version))
    return found


def beside_at_rest(
    queries: Sequence[QueryDeclaration], directory: Path
) -> Callable[[Sequence[QueryDeclaration]], list[Group]]:
    """What makes groups of new queries of a script over files that is about to start."""
    singles = singles_at_rest(queries, directory)
    return lambda free: late_groups(free, singles, directory, lambda _: BEGINNING)


def single_that_runs(query: QueryDeclaration, home: PipelineHome) -> SingleState:
    """A query of a pipeline that pauses."""
    return SingleState(query, home, *newest_version(home.state))
