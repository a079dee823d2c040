"""The groups of queries of a connection on Spark that run over shared synopses: who comes and goes.

A query that comes joins a group between two micro-batches (Golab 2006, 8.2), as one that is new to
a checkpoint does (``windrow.spark.checkpoint.query_groups``), and one that goes leaves what others
read. The pipeline pauses until it runs with the group as it is then: rows that a micro-batch took
in between would be summarised for those that were there. Beside a query that runs alone a group
begins with what that keeps (``windrow.spark.checkpoint.late_groups``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack
from itertools import chain
from pathlib import Path

from windrow.plan.catalog import QueryDeclaration
from windrow.plan.sharing.group_of_one import family_of
from windrow.plan.sharing.group_schedule import ScheduleOptions
from windrow.plan.strategy import Strategy
from windrow.spark.checkpoint.group_refusals import refuse_absent
from windrow.spark.checkpoint.late_groups import (
    CompleteAlone,
    SingleState,
    late_groups,
    single_that_runs,
    singles_at_rest,
)
from windrow.spark.checkpoint.query_groups import Group, groups_of, with_new_queries
from windrow.spark.checkpoint.script_record import keep_schedule
from windrow.spark.run.spark_run import SparkRun


class RunningGroups:
    """See the module. ``known`` are the groups by the names of their jobs."""

    def __init__(self, directory: Path, strategy: Strategy) -> None:
        self._directory, self._strategy = directory, strategy
        self.known: dict[str, Group] = {}

    def arrange(
        self,
        runs: Sequence[SparkRun],
        queries: Sequence[QueryDeclaration],
        schedule: ScheduleOptions | None,
        pauses: ExitStack,
        complete_alone: CompleteAlone,
    ) -> dict[str, Group]:
        """The groups that queries join or make, by name; pipelines that are joined pause.

        ``complete_alone`` says from when a query would be complete that joins nobody.
        """
        self._refuse_those_who_left(runs, queries)
        grown = self._grow(runs, queries, pauses)
        together = {query.name for group in grown for query in group.members.values()}
        left = [query for query in queries if query.name not in together]
        known = {run.pipeline.home.directory for run in runs}

        def beside(free: Sequence[QueryDeclaration]) -> list[Group]:
            at_rest = singles_at_rest(queries, self._directory, known)
            singles = chain(self._singles(runs, free, pauses), at_rest)
            return late_groups(free, singles, self._directory, complete_alone)

        found = groups_of(
            left, self._directory, self._strategy, schedule, joining=True, beside=beside
        )
        return {group.declaration.name: group for group in (*grown, *found)}

    def _refuse_those_who_left(
        self, runs: Sequence[SparkRun], queries: Sequence[QueryDeclaration]
    ) -> None:
        """Refuse queries that have a seat in a group which runs: they were dropped, or not there
        when it was started. Over synopses they may take another one."""
        names = {query.name for query in queries}
        for run in (run for run in runs if run.job.is_shared and run.job.synopses is None):
            group = self.known[run.job.name]
            for name in (name for name, _ in group.seats if name in names):
                refuse_absent(name, group.directory)

    def _singles(
        self, runs: Sequence[SparkRun], free: Sequence[QueryDeclaration], pauses: ExitStack
    ) -> Iterator[SingleState]:
        """The queries that run alone and that others may start on; their pipelines pause."""
        wanted = {family_of(query) for query in free} - {None}
        for run in runs:
            alone = not run.job.is_shared and run.job.archive is None
            if alone and run.pipeline.failure is None and run.pipeline.has_started:
                query = run.job.members[0].query
                if family_of(query) in wanted:
                    pauses.enter_context(run.pipeline.pause())
                    yield single_that_runs(query, run.pipeline.home)

    def _grow(
        self, runs: Sequence[SparkRun], queries: Sequence[QueryDeclaration], pauses: ExitStack
    ) -> list[Group]:
        """The groups with those of the queries that join them; their pipelines pause from now on.

        A query answers after the last instant that a group has closed, or, if rows that wait are
        not summarised for it, after the last one of which there are rows.
        """
        free, found = [*queries], []
        for run in runs if self._strategy is Strategy.UPA else ():
            if run.job.synopses is None or not free or run.pipeline.failure is not None:
                continue
            before = self.known[run.job.name]
            pauses.enter_context(run.pipeline.pause())
            group = with_new_queries(before, free)
            if group is not before:
                found.append(group)
                together = {query.name for query in group.members.values()}
                free = [query for query in free if query.name not in together]
        return found

    def without(self, run: SparkRun, gone: Collection[int]) -> Group:
        """The group of a run without some members, whose seats stay empty."""
        members = [m.query for n, m in run.job.members.items() if n not in gone]
        schedule = keep_schedule(self._directory, None)
        (group,) = groups_of(members, self._directory, self._strategy, schedule)
        return group
