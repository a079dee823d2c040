"""Which queries of a script run as one on Spark, given what earlier runs left behind.

A checkpoint holds the state of the queries that it was made with, so a query stays where it is: a
group goes on with the members that it had, and a query that had a directory of its own keeps it.
Members are known by their seats, the numbers that their tuples have in the state; one that the
script no longer has leaves its seat empty, where no tuple is sent. Of a group that shares synopses
the plan is written down too: a query that goes leaves what others read.

A periodic aggregate that is new joins a group over its stream, clock and keys that goes on (Golab
2006, 8.2): it starts at once on synopses that hold enough or extends one, after the last instant
that the group has closed; or it fills its own, after the last one of which the group has seen rows.
Those that have gone by then are gone for good. Other new queries share their selection, or
synopses, among themselves.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from windrow.core.file_formats import FORMATS
from windrow.core.time import BEGINNING
from windrow.object_store.object_path import path_of
from windrow.plan.catalog import QueryDeclaration
from windrow.plan.nodes.routed import Among, Asked
from windrow.plan.physical.stages import Stage
from windrow.plan.sharing import saved_group
from windrow.plan.sharing.group_schedule import (
    ScheduleOptions,
    schedule_again,
    with_schedule,
)
from windrow.plan.sharing.shared_joins import SharedJoin, shared_joins
from windrow.plan.sharing.shared_selection import (
    SharedSelection,
    shared_selections,
    with_conditions,
)
from windrow.plan.sharing.shared_synopses import (
    FEWEST,
    SharedSynopses,
    shared_synopses,
    with_query,
)
from windrow.plan.strategy import Strategy
from windrow.result_files.atomic_files import publish, read_record
from windrow.result_files.reader import published_results
from windrow.spark.checkpoint.absent_members import note_absent, refuse_those_who_missed_rows
from windrow.spark.checkpoint.group_refusals import refuse_changed, refuse_gone
from windrow.spark.checkpoint.join_groups import digest_of_join, is_of_join, seated_join
from windrow.spark.checkpoint.pipeline_directory import (
    Joined,
    PipelineHome,
    pipeline_directories,
    read_pipeline,
)
from windrow.spark.checkpoint.query_directory import IDENTITY, read_home
from windrow.spark.stage.state_files import BucketFiles
from windrow.streams.stream_time import from_json

SEATS = "members.json"
SYNOPSES = "synopses.json"
"""The plan of a group that shares synopses."""
PREFIX = "shared-"
FILLED = "filled.json"
"""Of a group that begins with what was kept elsewhere, and is nothing before it does: where."""

Seats = list[tuple[str, str]]
"""For each number, the name of the query and the digest of what it asks."""


def seat_kept_for(query: str) -> tuple[str, str]:
    """That of a query which runs elsewhere: what it would read here is kept for others."""
    return "", query


class GroupFilling(Protocol):
    """What a group begins with that comes to a pipeline which has run."""

    @property
    def home(self) -> PipelineHome:
        """The pipeline that it joins."""
        ...

    def write(self, stages: Sequence[Stage], home: PipelineHome) -> Joined:
        """Write down what its stages begin with; how it joins, then."""
        ...


@dataclass(frozen=True)
class Group:
    """Queries that run as one; ``declaration`` is that of their common plan."""

    shared: SharedSelection | SharedSynopses | SharedJoin
    declaration: QueryDeclaration
    members: Mapping[int, QueryDeclaration]
    seats: Seats
    directory: Path
    joined: bool = False
    filling: GroupFilling | None = None
    """What it begins with, if that is what a query keeps which runs alone."""

    def take_seats(self) -> None:
        """Write down who has which number, if that has not been done.

        The plan comes first: members that it has and that have no seats are none.
        """
        path = self.directory / SEATS
        if _was_cut_short(self.directory):
            shutil.rmtree(self.directory)
        if self.joined or not path.exists():
            self.directory.mkdir(parents=True, exist_ok=True)
            if isinstance(self.shared, SharedSynopses):
                planned = saved_group.to_json(
                    self.shared.plan, self.shared.sharing, self.shared.places
                )
                publish(self.directory / SYNOPSES, json.dumps(planned))
            if self.filling is not None:
                publish(self.directory / FILLED, json.dumps(self.filling.home.directory.name))
            publish(path, json.dumps(self.seats))
        names = {query.name for query in self.members.values()}
        note_absent(self.directory, (name for name, _ in self.seats), names)

    def came_later(self, number: int) -> bool:
        """Whether a query joined when others had run."""
        if not isinstance(self.shared, SharedSynopses):
            return False
        member = self.shared.plan.members[number]
        return member is not None and member.since is not None


def groups_of(
    queries: Sequence[QueryDeclaration],
    directory: Path,
    strategy: Strategy = Strategy.UPA,
    schedule: ScheduleOptions | None = None,
    *,
    joining: bool = False,
    beside: Callable[[Sequence[QueryDeclaration]], Sequence[Group]] = lambda _: (),
) -> list[Group]:
    """The groups among the queries of a script that runs with this checkpoint.

    When it is about to start, new queries are ``joining`` groups, and others of them may be groups
    ``beside`` queries that run alone.
    """
    left = {query.name: query for query in queries}
    names, found = {*left}, list[Group]()
    for path in sorted(directory.glob(f"{PREFIX}*/{SEATS}")):
        if _was_cut_short(path.parent):
            continue
        seats = _read(path)
        present = [left.pop(name) for name, _ in seats if name in left]
        refuse_those_who_missed_rows(path.parent, (query.name for query in present))
        if present and (path.parent / SYNOPSES).exists():
            kept = {of for name, of in seats if not name and of in names}
            found.append(_seated_over_synopses(present, seats, path.parent, schedule, kept))
        elif present and is_of_join(seats):
            join, members = seated_join(present, seats, path.parent)
            found.append(_group_of_join(join, members, seats, path.parent))
        elif present:
            found.append(_seated(_together(present, path), seats, path.parent))
    free = [q for q in left.values() if not (directory / q.name / IDENTITY).exists()]
    if joining and strategy is Strategy.UPA:
        found = [with_new_queries(group, free) for group in found]
        together = {query.name for group in found for query in group.members.values()}
        found += beside([query for query in free if query.name not in together])
        together |= {query.name for group in found for query in group.members.values()}
        free = [query for query in free if query.name not in together]
    fewest = FEWEST if schedule is None else 1
    for made in shared_synopses(free, fewest) if strategy is Strategy.UPA else ():
        group = with_schedule(made, schedule)
        place = directory / f"{PREFIX}{group.queries[0].name}"
        seats = [(q.name, digest_of_member(group, n)) for n, q in enumerate(group.queries)]
        declaration = QueryDeclaration(group.title, group.root, group.queries[0].clock)
        found.append(Group(group, declaration, dict(enumerate(group.queries)), seats, place))
        free = [query for query in free if query.name not in group.names]
    for join in shared_joins(free) if strategy is Strategy.UPA else ():
        seats = [(query.name, digest_of_join(query)) for query in join.queries]
        members, place = dict(enumerate(join.queries)), directory / f"{PREFIX}{seats[0][0]}"
        found.append(_group_of_join(join, members, seats, place))
        free = [query for query in free if query.name not in join.names]
    for selection in shared_selections(free):
        asked = selection.routed_node.asked
        seats = [(q.name, _digest(a)) for q, a in zip(selection.queries, asked, strict=True)]
        name = f"{PREFIX}{selection.queries[0].name}"
        found.append(_seated(selection, seats, directory / name))
    return found


def _was_cut_short(directory: Path) -> bool:
    """Whether a group is in no pipeline yet, where it would have begun with what others keep."""
    if not (directory / FILLED).exists():
        return False
    homes = map(read_pipeline, pipeline_directories(directory.parent))
    return not any(directory.name in home.members for home in homes)


def _together(present: Sequence[QueryDeclaration], path: Path) -> SharedSelection:
    selections = shared_selections(present, fewest=1)
    if len(selections) != 1 or len(selections[0].queries) < len(present):
        together = {q.name for q in selections[0].queries} if selections else set()
        refuse_changed(
            next((q.name for q in present if q.name not in together), present[0].name), path
        )
    return selections[0]


def _seated_over_synopses(
    present: Sequence[QueryDeclaration],
    seats: Seats,
    directory: Path,
    schedule: ScheduleOptions | None,
    kept: Collection[str] = (),
) -> Group:
    """The group as it was planned, with those of its queries that are still there; what queries
    read that are ``kept`` in mind stays too."""
    groups = shared_synopses(present, fewest=1)
    if len(groups) != 1 or len(groups[0].queries) < len(present):
        together = groups[0].names if groups else frozenset()
        refuse_changed(
            next((q.name for q in present if q.name not in together), present[0].name), directory
        )
    (now,) = groups
    names = {query.name for query in present}
    planned, sharing, places = read_record(
        directory / SYNOPSES,
        "the checkpoint",
        lambda saved: (
            saved_group.from_json(saved, now.plan.input),
            saved_group.sharing_of(saved, names | {*kept}),
            saved_group.places_of(saved),
        ),
        remedy="restore it, or choose a new directory with --checkpoint",
    )
    numbers = {name: number for number, (name, _) in enumerate(seats)}
    members = {numbers[query.name]: query for query in present}
    planned = replace(planned, members=planned.members[: len(seats)])
    for n, query in enumerate(now.queries):
        if planned.members[numbers[query.name]] is None:
            refuse_gone(query.name, directory)
        if seats[numbers[query.name]][1] != digest_of_member(now, n):
            refuse_changed(query.name, directory)
    plan = saved_group.without_others(planned, members, sharing, places)
    shared = replace(now, plan=plan, sharing=sharing, places=places)
    shared = with_schedule(shared, schedule, [name for name, _ in seats])
    declaration = QueryDeclaration(now.title, shared.root, now.queries[0].clock)
    return Group(shared, declaration, members, seats, directory)


def with_new_queries(group: Group, free: Sequence[QueryDeclaration]) -> Group:
    """The group with those of the new queries that belong to it; scheduled as it was, if it was."""
    shared = group.shared
    if not isinstance(shared, SharedSynopses):
        return group
    members, seats = dict(group.members), list(group.seats)
    shared = with_queries(shared, free, _last_instants(group) if free else (None, None))
    if shared is group.shared:
        return group
    first = len(group.shared.queries)
    for number, query in enumerate(shared.queries[first:], first):
        members[len(seats)] = query
        seats.append((query.name, digest_of_member(shared, number)))
    shared = schedule_again(shared, [name for name, _ in seats])
    declaration = replace(group.declaration, name=shared.title, plan=shared.root)
    return Group(shared, declaration, members, seats, group.directory, joined=True)


def with_queries(
    shared: SharedSynopses,
    free: Iterable[QueryDeclaration],
    instants: tuple[int | None, int | None],
    accept: Callable[[SharedSynopses, QueryDeclaration], bool] = lambda *_: True,
) -> SharedSynopses:
    """With those of the queries that belong to it and, when they are in, are accepted; they answer
    after the last of the ``instants``: that is closed, or of which there are rows."""
    left = list(free)
    for join, now in zip((_with_summarised, with_query), instants, strict=True):
        for query in tuple(left):
            joined = join(shared, query, now)
            if joined is not None and accept(joined, query):
                shared = joined
                left.remove(query)
    return shared


def _with_summarised(
    shared: SharedSynopses, query: QueryDeclaration, closed: int | None
) -> SharedSynopses | None:
    """With a query that answers after the last instant that is ``closed``; None if it cannot.

    Rows after that wait as summaries for those that were there. If the query needs others it has
    missed them, and answers after the last instant of which there are rows.
    """
    joined = None if closed is None else with_query(shared, query, closed)
    return joined if joined is not None and _summaries(joined) == _summaries(shared) else None


def _summaries(shared: SharedSynopses) -> list[tuple[object, ...]]:
    """What is summarised of rows, for however long it is kept."""
    return [
        (store.predicate, store.s, *((c.function, c.argument) for c in store.contents))
        for store in shared.plan.synopses
    ]


def _last_instants(group: Group) -> tuple[int | None, int | None]:
    """The last instant that a group has closed or published answers of, and the last one of which
    it has seen rows; None: none.

    What was published of a micro-batch that was cut short is not published again.
    """
    closed = [published_results(place).totals.now for place in _places(group)]
    seen: list[int] = []
    for path in pipeline_directories(group.directory.parent):
        home = read_pipeline(path)
        if group.directory.name not in home.members:
            continue
        number, version = str(home.number_of(group.directory.name)), home.version
        for key, file in version.files.items():
            level, bucket = map(int, key.split("."))
            meta = BucketFiles(home.state, level, bucket).read(file).meta.get(number)
            if meta is not None:
                closed.append(int(meta["now"]))
                times = from_json(meta["times"]).values()
                seen += [max(time.top, time.advanced) for time in times]
    return greatest_of(closed), greatest_of([*closed, *seen])


def greatest_of(instants: Iterable[int | None]) -> int | None:
    return max((instant for instant in instants if instant not in (None, BEGINNING)), default=None)


def _places(group: Group) -> Iterator[Path]:
    """Where the group has results, if it has run."""
    if (group.directory / IDENTITY).exists():
        yield read_home(group.directory)[0].results
    for query in group.members.values():
        if query.into is not None and query.into.format in FORMATS:
            yield path_of(query.into.path).absolute()


def digest_of_member(group: SharedSynopses, number: int) -> str:
    """What a query asks, whatever it is read from."""
    name = group.queries[number].name
    member = group.plan.members[number - len(group.queries)]
    assert member is not None
    described = next(m.query for m in group.sharing.members if m.query.name == name)
    asked = (
        [k.expression for k in group.plan.keys], member.window, member.slide,
        [
            (a.function, a.argument, a.type, *(() if a.parameter is None else (a.parameter,)))
            for a in member.aggregates
        ],
        member.having,
        member.columns, str(described.predicate), *(() if member.top is None else (member.top,)),
    )  # fmt: skip
    return hashlib.sha256(repr(asked).encode()).hexdigest()


def _seated(selection: SharedSelection, seats: Seats, directory: Path) -> Group:
    """The group with each query in its seat."""
    numbers = {name: number for number, (name, _) in enumerate(seats)}
    asked: list[tuple[Asked, ...]] = [
        tuple(Among(()) for _ in selection.routed_node.attributes) for _ in seats
    ]
    members = {}
    for query, wanted in zip(selection.queries, selection.routed_node.asked, strict=True):
        number = numbers[query.name]
        if seats[number][1] != _digest(wanted):
            refuse_changed(query.name, directory)
        members[number], asked[number] = query, wanted
    plan = with_conditions(selection.plan, tuple(asked))
    declaration = QueryDeclaration(selection.title, plan, selection.queries[0].clock)
    return Group(selection, declaration, members, seats, directory)


def _group_of_join(
    join: SharedJoin, members: Mapping[int, QueryDeclaration], seats: Seats, directory: Path
) -> Group:
    declaration = QueryDeclaration(join.title, join.plan, join.queries[0].clock)
    return Group(join, declaration, members, seats, directory)


def _digest(asked: tuple[Asked, ...]) -> str:
    return hashlib.sha256(repr(asked).encode()).hexdigest()


def _read(path: Path) -> Seats:
    return read_record(
        path,
        "the checkpoint",
        lambda seats: [(str(name), str(digest)) for name, digest in seats],
        remedy="restore it, or choose a new directory with --checkpoint",
    )
