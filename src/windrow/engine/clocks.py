"""Queries over relations only, put on the clock that their updates are on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from windrow.core.time import Clock
from windrow.engine.inputs import Inputs
from windrow.engine.query import EmbeddedQuery
from windrow.plan.catalog import Catalog, QueryDeclaration, RelationDeclaration
from windrow.plan.nodes import RelationScan, walk
from windrow.plan.relation_clock import on_clock, reads_streams, replace_queries
from windrow.streams.files import find_files
from windrow.streams.relations import RelationMonitor, clock_in


def on_clocks_of_files(catalog: Catalog) -> Catalog:
    """The catalog with each query over relations only on the clock of their updates."""
    found = {}
    for query in catalog.queries:
        clock = None if reads_streams(query) else _clock(query, catalog)
        if clock is not None:
            found[query.name] = on_clock(query, clock)
    return replace_queries(catalog, found) if found else catalog


def _clock(query: QueryDeclaration, catalog: Catalog) -> Clock | None:
    names = [n.name for n in walk(query.plan) if isinstance(n, RelationScan)]
    for relation in map(catalog.find, dict.fromkeys(names)):
        if isinstance(relation, RelationDeclaration) and relation.source is not None:
            clock = clock_in(find_files(relation.source), relation)
            if clock is not None:
                return clock
    return None


class Reader(Protocol):
    """What reads streams and relations, by their lower-case names."""

    @property
    def streams(self) -> tuple[str, ...]: ...


def put_on_clock(
    name: str, clock: Clock | None, inputs: Inputs, running: Sequence[Reader]
) -> dict[str, QueryDeclaration]:
    """Put a relation on the clock of its first updates, with the queries over it.

    Those queries read other relations, which are read by other queries in turn: all of them move,
    or none if one cannot, and then the updates are put aside with the reason. Returns the queries
    as they are declared from now on.
    """
    if clock is None or clock is inputs.monitor(name).declaration.clock:
        return {}
    names, readers = {name}, _readers({name}, running)
    while met := {other for query in readers for other in query.streams} - names:
        names |= met
        readers = _readers(names, running)
    relations = [m for n in sorted(names) if isinstance(m := inputs.monitor(n), RelationMonitor)]
    alone = [query for query in readers if isinstance(query, EmbeddedQuery)]
    fresh = sum(relation.fresh for relation in relations)
    if fresh < len(names) or len(alone) < len(readers):
        return {}
    moved = {query.name: on_clock(query.declaration, clock) for query in alone}
    for query in alone:
        query.declaration = moved[query.name]
    for relation in relations:
        inputs.add(RelationMonitor(relation.relation, clock))
    return moved


def _readers(names: set[str], running: Sequence[Reader]) -> list[Reader]:
    return [query for query in running if names & set(query.streams)]
