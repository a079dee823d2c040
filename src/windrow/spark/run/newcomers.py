"""Queries that come to a connection on Spark when its streams have had rows: how they would begin.

What is said here is what happens to a query that is made now and shares no synopses
(``pipeline_joins``): it joins a pipeline that holds its windows, or it begins with what comes from
now on. Nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from windrow.core.patterns import UpdatePattern
from windrow.core.time import BEGINNING, Clock
from windrow.engine.late_start import LateStart
from windrow.plan.catalog import (
    Catalog,
    QueryDeclaration,
    RelationDeclaration,
    StreamDeclaration,
)
from windrow.plan.physical.cut_stages import cut_into_stages
from windrow.plan.strategy import Strategy
from windrow.spark.checkpoint.late_fill import Joining, unfilled_start
from windrow.spark.checkpoint.saved_windows import SavedJob
from windrow.spark.run.spark_job import Inputs, SparkJob, inputs_of
from windrow.spark.source.inbox_inputs import InboxInputs
from windrow.spark.stage.subscription_index import with_whole_paths
from windrow.streams.relations import RelationMonitor, updates_of


@dataclass(frozen=True)
class Newcomer:
    """A query that wants to join a pipeline: its stages, its clock, and what it reads."""

    joining: Joining
    clock: Clock
    inputs: Inputs

    @classmethod
    def of_job(cls, job: SparkJob) -> Newcomer:
        """A job that has its place in the checkpoint."""
        saved = SavedJob(job.job.name, -1, job.stages, job.strategy, {})
        joining = Joining(saved, job.declaration.plan, job.streams)
        return cls(joining, job.job.clock, job.inputs)

    @classmethod
    def of_query(cls, query: QueryDeclaration, catalog: Catalog, strategy: Strategy) -> Newcomer:
        """A query that was not made."""
        inputs = inputs_of(query, catalog)
        streams: dict[str, StreamDeclaration] = {
            name: updates_of(i, query.clock) if isinstance(i, RelationDeclaration) else i
            for name, i in inputs.items()
        }
        stages = cut_into_stages(with_whole_paths(query.plan), strategy)
        saved = SavedJob(query.name, -1, stages, strategy, {})
        return cls(Joining(saved, query.plan, streams), query.clock, inputs)

    @property
    def is_stream(self) -> bool:
        """Whether its answer is a stream, of which what came before is not told."""
        return self.joining.plan.pattern is UpdatePattern.MONOTONIC

    @property
    def is_pushed(self) -> bool:
        """Whether rows of its streams cannot be read again."""
        declared = (i for i in self.inputs.values() if not isinstance(i, RelationDeclaration))
        return all(stream.source is None for stream in declared)


def start_alone(newcomer: Newcomer, inputs: InboxInputs) -> LateStart | None:
    """How a query begins that has a pipeline of its own; None if it misses nothing."""
    return unfilled_start(newcomer.joining, _pushed_by_now(newcomer.joining.streams, inputs))


def _pushed_by_now(names: Iterable[str], inputs: InboxInputs) -> dict[str, int]:
    """Of streams that have had rows, up to which instant; relations are told whole."""
    found = {}
    for name in (name.lower() for name in names):
        monitor = inputs.monitors.get(name)
        if monitor is None or isinstance(monitor, RelationMonitor) or not inputs.inbox(name).next:
            continue
        top = BEGINNING if monitor.top is None else monitor.top
        found[name] = max(top, monitor.advanced_to)
    return found
