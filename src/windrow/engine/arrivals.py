"""Queries that come while others run: which job each of them joins (Golab 2006, 8.2).

A periodic aggregate joins a group over its stream, clock and keys, where it starts at once on a
synopsis, extends one, or fills its own. A query that runs alone is joined in the same way: with the
second one it becomes a group. What joins nobody is arranged as a script is.

EXPLAIN and ``execute`` ask the same function, so that what is said is what happens.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from windrow.engine.embedded_run import EmbeddedRun
from windrow.plan.catalog import QueryDeclaration
from windrow.plan.sharing.group_of_one import family_of
from windrow.plan.sharing.group_schedule import schedule_again
from windrow.plan.sharing.shared_synopses import SharedSynopses, with_query


@dataclass(frozen=True)
class Arrivals:
    """Runs with the groups that they become, and the queries that joined none of them."""

    grown: Mapping[EmbeddedRun, SharedSynopses]
    left: Sequence[QueryDeclaration]


def take_in(
    queries: Sequence[QueryDeclaration],
    runs: Mapping[EmbeddedRun, int | None],
    complete_alone: Callable[[QueryDeclaration], int],
) -> Arrivals:
    """Which of the queries join which of the runs, one after the other, and answer after which
    instant; None: there were no tuples, and nothing is missed.

    One that would run beside a query that is alone joins it unless it is complete earlier by
    itself, filled with tuples that somebody holds: ``complete_alone`` says from when.
    """
    if not runs:
        return Arrivals({}, queries)
    families: dict[object, list[EmbeddedRun]] = {}
    for run in runs:
        families.setdefault(run.family, []).append(run)
    grown: dict[EmbeddedRun, SharedSynopses] = {}
    left = []
    for query in queries:
        family = family_of(query)
        near = {} if family is None else {run: runs[run] for run in families.get(family, ())}
        found = _best(query, near, grown)
        if found is None or _is_complete_later(*found, query, complete_alone):
            left.append(query)
        else:
            grown[found[0]] = found[1]
    return Arrivals({run: schedule_again(group) for run, group in grown.items()}, left)


def _best(
    query: QueryDeclaration,
    runs: Mapping[EmbeddedRun, int | None],
    grown: Mapping[EmbeddedRun, SharedSynopses],
) -> tuple[EmbeddedRun, SharedSynopses] | None:
    """The run that a query joins, and its group then: a group before a query that is alone, and
    of these the one with which it is complete first."""
    found: list[tuple[bool, float, int, EmbeddedRun, SharedSynopses]] = []
    for number, (run, now) in enumerate(runs.items()):
        group = grown.get(run) or run.group
        joined = None if group is None else with_query(group, query, now)
        if joined is not None:
            complete = joined.sharing.member(query.name).complete_from
            turn = float("-inf") if complete is None else complete
            alone = run.job.synopses is None and run not in grown
            found.append((alone, turn, number, run, joined))
    return min(found)[3:] if found else None


def _is_complete_later(
    run: EmbeddedRun,
    joined: SharedSynopses,
    query: QueryDeclaration,
    complete_alone: Callable[[QueryDeclaration], int],
) -> bool:
    """Whether a query does better by itself than with one that was alone."""
    complete = joined.sharing.member(query.name).complete_from
    if run.job.synopses is not None or complete is None:
        return False
    return complete_alone(query) < complete
