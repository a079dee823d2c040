"""The clock of a query over relations only, where no stream gives it one.

Such a query is bound on the integer clock, and its updates may turn out to have times. Then it is
put on their clock, which changes nothing in its plan unless that counts ticks.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import replace

from windrow.core.errors import InputError
from windrow.core.time import Clock
from windrow.engine.embedded_run import EmbeddedRun
from windrow.engine.inputs import Inputs
from windrow.plan.catalog import Catalog, QueryDeclaration, RelationDeclaration
from windrow.plan.nodes import (
    Every,
    Node,
    OutputWindow,
    RelationScan,
    StreamKind,
    StreamScan,
    ToStream,
    Window,
    walk,
)
from windrow.streams.relations import RelationMonitor, clock_in
from windrow.tables.find_files import find_files

RHYTHMIC = (StreamKind.RSTREAM, StreamKind.ISTREAM_RESTORE, StreamKind.RSTREAM_RESTORE)


def reads_streams(query: QueryDeclaration) -> bool:
    return any(isinstance(node, StreamScan) for node in walk(query.plan))


def on_clock(query: QueryDeclaration, clock: Clock) -> QueryDeclaration:
    """The query on the clock of its updates; InputError if its durations were counted on another.

    Only for a query that reads no streams.
    """
    if query.clock is clock:
        return query
    if any(_counts_ticks(node) for node in walk(query.plan)):
        raise InputError(
            where=f"query {query.name}",
            expected=f"updates on the {query.clock.value} clock, which counts its durations",
            found=f"updates on the {clock.value} clock",
            remedy=f"declare a stream with a {_example(clock)} column: it gives the queries over "
            "relations beside it their clock",
        )
    return replace(query, clock=clock)


def replace_queries(catalog: Catalog, queries: dict[str, QueryDeclaration]) -> Catalog:
    """The catalog with some queries replaced."""
    changed = {name.lower(): query for name, query in queries.items()}
    return replace(catalog, declarations={**catalog.declarations, **changed})


def _counts_ticks(node: Node) -> bool:
    rhythmic = isinstance(node, ToStream) and node.kind in RHYTHMIC
    return rhythmic or isinstance(node, Every | Window | OutputWindow)


def _example(clock: Clock) -> str:
    return "TIMESTAMP" if clock is Clock.TIMESTAMP else "BIGINT"


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
