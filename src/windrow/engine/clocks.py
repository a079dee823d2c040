"""Queries over relations only, put on the clock that their updates are on."""

from __future__ import annotations

from collections.abc import Container, Sequence

from windrow.core.time import Clock
from windrow.engine.embedded_run import EmbeddedRun
from windrow.engine.inputs import Inputs
from windrow.plan.catalog import Catalog, QueryDeclaration, RelationDeclaration
from windrow.plan.nodes import RelationScan, walk
from windrow.plan.relation_clock import on_clock, reads_streams, replace_queries
from windrow.streams.relations import RelationMonitor, clock_in
from windrow.tables.find_files import find_files


def on_clocks_of_files(catalog: Catalog, known: Container[str] = ()) -> Catalog:
    """The catalog with each query over relations only on the clock of their updates.

    Those that are ``known`` stay as they are.
    """
    found = {}
    for query in catalog.queries:
        if query.name in known:
            continue
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


def put_on_clock(
    name: str, clock: Clock | None, inputs: Inputs, runs: Sequence[EmbeddedRun]
) -> bool:
    """Put a relation on the clock of its first updates, with the queries over it.

    Those queries read other relations, which are read by other queries in turn: all of them move,
    or none if one cannot, and then the updates are put aside with the reason. Returns whether they
    moved.
    """
    if clock is None or clock is inputs.monitor(name).declaration.clock:
        return False
    names, readers = {name}, _readers({name}, runs)
    while met := {other for run in readers for other in run.streams} - names:
        names |= met
        readers = _readers(names, runs)
    relations = [m for n in sorted(names) if isinstance(m := inputs.monitor(n), RelationMonitor)]
    if len(relations) < len(names) or not all(relation.fresh for relation in relations):
        return False
    for query in [member.query for run in readers for member in run.job.members.values()]:
        on_clock(query, clock)  # or it is an error
    for run in readers:
        run.put_on_clock(clock)
    for relation in relations:
        inputs.add(RelationMonitor(relation.relation, clock))
    return True


def _readers(names: set[str], runs: Sequence[EmbeddedRun]) -> list[EmbeddedRun]:
    return [run for run in runs if names & set(run.streams)]
