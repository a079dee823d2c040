"""CS8: an equal query with a longer period shares the output stream (Golab 2006, 8.4.3)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from windrow.sharing.rules.periodic_query import PeriodicQuery


def shares_output(query: PeriodicQuery, leader: PeriodicQuery) -> bool:
    """Whether the query is the leader with a longer period, so that it can use its answers."""
    if query.slide <= leader.slide:
        return False
    same = replace(
        leader,
        name=query.name,
        slide=query.slide,
        priority=query.priority,
        predicate=query.predicate,
    )
    return query == same and query.predicate.is_equivalent(leader.predicate)


def output_leaders(queries: Iterable[PeriodicQuery]) -> dict[str, str]:
    """For each query that shares another's output the name of that one, the most frequent.

    A value of the queries that are there now: when a leader goes, ask again, and its followers have
    their own periods back.
    """
    known = sorted(queries, key=lambda query: (query.slide, query.name))
    leaders: dict[str, str] = {}
    for i, query in enumerate(known):
        leader = next((other for other in known[:i] if shares_output(query, other)), None)
        if leader is not None:
            leaders[query.name] = leader.name
    return leaders
