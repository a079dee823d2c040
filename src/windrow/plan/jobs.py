"""What a script runs: jobs, each a plan, the declared queries that it answers, and what they give.

A query alone is a job of one member. Queries that share their selection are one job, whose plan is
widened by the number of the member that a tuple is for (``windrow.plan.sharing``), and so are
periodic aggregates that share synopses; an archive and subscriptions are jobs that deliver
something else. What runs jobs is a runtime (``windrow.engine.runtime``), and it is the same for all
of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from windrow.core.patterns import UpdatePattern
from windrow.core.time import Clock
from windrow.plan.catalog import (
    ArchiveDeclaration,
    Catalog,
    Destination,
    QueryDeclaration,
    SubscriptionsDeclaration,
)
from windrow.plan.nodes import Node, RelationScan, StreamScan, walk
from windrow.plan.sharing.group_schedule import ScheduleOptions, with_schedule
from windrow.plan.sharing.shared_joins import SharedJoin, shared_joins
from windrow.plan.sharing.shared_selection import SharedSelection, shared_selections
from windrow.plan.sharing.shared_synopses import FEWEST, SharedSynopses, shared_synopses
from windrow.plan.strategy import Strategy


@dataclass(frozen=True)
class Changes:
    """Rows that come and go: into files, to the console, or for whoever asks."""

    into: Destination | None = None


@dataclass(frozen=True)
class Matches:
    """Changes of subscriptions, which may themselves be changed while their stream runs."""

    into: Destination | None = None


@dataclass(frozen=True)
class Days:
    """Rows into an archive, those of a day when the day is over."""

    archive: ArchiveDeclaration


Deliver = Changes | Matches | Days
Group = SharedSelection | SharedSynopses | SharedJoin
"""What several queries share."""


@dataclass(frozen=True)
class Member:
    """A declared query, archive or set of subscriptions, as one that a job answers."""

    query: QueryDeclaration
    deliver: Deliver

    @property
    def name(self) -> str:
        return self.query.name

    @property
    def into(self) -> Destination | None:
        """Where its changes go, if they go anywhere by themselves."""
        return None if isinstance(self.deliver, Days) else self.deliver.into

    @property
    def is_stream(self) -> bool:
        """Whether nothing that it gives is ever withdrawn: then its answer is all that came."""
        return self.query.plan.pattern is UpdatePattern.MONOTONIC


@dataclass(frozen=True)
class Job:
    """Queries that one plan answers. ``members`` are by number; that of a member alone is 0.

    With a ``selection``, with ``synopses``, or with a ``join`` of several lengths, the first column
    of the plan says which member a tuple is for.
    """

    name: str
    plan: Node
    clock: Clock
    members: Mapping[int, Member]
    selection: SharedSelection | None = None
    synopses: SharedSynopses | None = None
    join: SharedJoin | None = None

    @property
    def names(self) -> frozenset[str]:
        """The lower-case names of its members."""
        return frozenset(member.name.lower() for member in self.members.values())

    @property
    def is_shared(self) -> bool:
        """Whether the first column of the plan is the number of a member."""
        return any(group is not None for group in (self.selection, self.synopses, self.join))

    @property
    def max_delay(self) -> int | None:
        """The ticks that execution may be behind before periods are stretched, if they ever are."""
        schedule = None if self.synopses is None else self.synopses.plan.schedule
        return None if schedule is None else schedule.max_delay

    @cached_property
    def own_columns(self) -> Mapping[int, tuple[int, ...]]:
        """Which of the plan's columns, the number left out, are those of each member."""
        every = tuple(range(len(self.plan.schema) - self.is_shared))
        if self.synopses is None:
            return dict.fromkeys(self.members, every)
        return {number: self.synopses.shown_slots(number) for number in self.members}

    @cached_property
    def leaves(self) -> Mapping[str, StreamScan | RelationScan]:
        """The streams and relations that it reads, by the names that its plan has for them."""
        leaves = (node for node in walk(self.plan) if isinstance(node, StreamScan | RelationScan))
        return {node.name: node for node in leaves}

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """Their lower-case names."""
        return tuple(dict.fromkeys(name.lower() for name in self.leaves))

    @property
    def archive(self) -> ArchiveDeclaration | None:
        """The archive that it fills, if it fills one."""
        deliver = self.members[0].deliver if 0 in self.members else None
        return deliver.archive if isinstance(deliver, Days) else None

    def on_clock(self, clock: Clock) -> Job:
        """The job of a member over relations only, whose updates turned out to be on ``clock``."""
        (member,) = self.members.values()
        moved = replace(member, query=replace(member.query, clock=clock))
        return replace(self, clock=clock, members={0: moved})


def arrange(
    queries: Sequence[QueryDeclaration],
    archives: Iterable[ArchiveDeclaration] = (),
    catalog: Catalog | None = None,
    strategy: Strategy = Strategy.UPA,
    late: Collection[str] = (),
    schedule: ScheduleOptions | None = None,
) -> tuple[Job, ...]:
    """The jobs of a script: those that share synopses or a selection together, others alone.

    Summaries of sub-windows, and so synopses, are what the UPA strategy keeps; others keep tuples.
    Queries that come ``late`` make no new synopses: alone they can be filled with tuples. With a
    ``schedule`` a periodic aggregate is a job over synopses also if it is the only one.
    """
    catalog = catalog or Catalog()
    early = [query for query in queries if query.name not in late]
    fewest = FEWEST if schedule is None else 1
    found = shared_synopses(early, fewest) if strategy is Strategy.UPA else ()
    periodic = [with_schedule(group, schedule) for group in found]
    together = {name for group in periodic for name in group.names}
    left = [query for query in early if query.name not in together]
    joins = shared_joins(left) if strategy is Strategy.UPA else ()
    together |= {name for join in joins for name in join.names}
    groups = shared_selections([q for q in queries if q.name not in together])
    together |= {name for group in groups for name in group.names}
    return (
        *(job_of_synopses(group) for group in periodic),
        *map(job_of_join, joins),
        *(job_of_group(group) for group in groups),
        *(job_of_query(q, catalog) for q in queries if q.name not in together),
        *map(job_of_archive, archives),
    )


def groups_among(
    queries: Sequence[QueryDeclaration], strategy: Strategy = Strategy.UPA
) -> tuple[Group, ...]:
    """What the queries of a script share, for EXPLAIN."""
    return groups_of(arrange(queries, strategy=strategy))


def groups_of(jobs: Iterable[Job]) -> tuple[Group, ...]:
    """The groups among jobs."""
    found = (job.synopses or job.selection or job.join for job in jobs)
    return tuple(group for group in found if group is not None)


def job_of_group(selection: SharedSelection) -> Job:
    """Queries that share their selection."""
    members = {n: Member(q, Changes(q.into)) for n, q in enumerate(selection.queries)}
    clock = selection.queries[0].clock
    return Job(selection.title, selection.plan, clock, members, selection)


def job_of_join(join: SharedJoin) -> Job:
    """Queries over one join of windows of several lengths."""
    members = {n: Member(q, Changes(q.into)) for n, q in enumerate(join.queries)}
    return Job(join.title, join.plan, join.queries[0].clock, members, join=join)


def job_of_synopses(synopses: SharedSynopses) -> Job:
    """Periodic aggregates that share synopses."""
    members = {n: Member(q, Changes(q.into)) for n, q in synopses.present.items()}
    clock = synopses.queries[0].clock
    return Job(synopses.title, synopses.root, clock, members, synopses=synopses)


def job_of_query(query: QueryDeclaration, catalog: Catalog) -> Job:
    """A query, or the matches of subscriptions."""
    subscribed = isinstance(catalog.find(query.name), SubscriptionsDeclaration)
    deliver = Matches(query.into) if subscribed else Changes(query.into)
    return Job(query.name, query.plan, query.clock, {0: Member(query, deliver)})


def job_of_archive(archive: ArchiveDeclaration) -> Job:
    """What fills an archive."""
    member = Member(archive.query, Days(archive))
    return Job(archive.name, archive.plan, archive.clock, {0: member})
