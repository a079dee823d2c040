"""Queries over relations only, put on the clock that their files are on."""

from __future__ import annotations

from windrow.core.time import Clock
from windrow.plan.catalog import Catalog, QueryDeclaration, RelationDeclaration
from windrow.plan.clocks import on_clock, reads_streams, reclocked
from windrow.plan.nodes import RelationScan, walk
from windrow.streams.files import find_files
from windrow.streams.relations import clock_in


def on_clocks_of_files(catalog: Catalog) -> Catalog:
    """The catalog with each query over relations only on the clock of their updates."""
    found = {}
    for query in catalog.queries:
        clock = None if reads_streams(query) else _clock(query, catalog)
        if clock is not None:
            found[query.name] = on_clock(query, clock)
    return reclocked(catalog, found) if found else catalog


def _clock(query: QueryDeclaration, catalog: Catalog) -> Clock | None:
    names = [n.name for n in walk(query.plan) if isinstance(n, RelationScan)]
    for relation in map(catalog.find, dict.fromkeys(names)):
        if isinstance(relation, RelationDeclaration) and relation.source is not None:
            clock = clock_in(find_files(relation.source), relation)
            if clock is not None:
                return clock
    return None
