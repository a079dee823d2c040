"""The clock of a query over relations only, where no stream gives it one.

Such a query is bound on the integer clock, and its updates may turn out to have times. Then it is
put on their clock, which changes nothing in its plan unless that counts ticks.
"""

from __future__ import annotations

from dataclasses import replace

from windrow.core.errors import InputError
from windrow.core.time import Clock
from windrow.plan.catalog import Catalog, QueryDeclaration
from windrow.plan.nodes import (
    Every,
    Node,
    OutputWindow,
    StreamKind,
    StreamScan,
    ToStream,
    Window,
    walk,
)

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
