"""Where ``INTO`` sends the changes of a connection's queries: files, or standard output."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from windrow.engine.console import print_changes
from windrow.engine.identity import identity_of
from windrow.engine.query import EmbeddedQuery
from windrow.engine.shared import SharedQuery
from windrow.engine.sinks import FileSink, open_sinks

Query = EmbeddedQuery | SharedQuery


class Outlet:
    """One query's changes on their way out, to a sink or, without one, to the console."""

    def __init__(self, query: Query, sink: FileSink | None) -> None:
        self._query, self._sink = query, sink
        if sink is not None:
            sink.prepare()
        query.consumers.write_to(sink)

    def flush(self) -> None:
        """Publish what has changed since the last time, as one file."""
        query, sink = self._query, self._sink
        if sink is not None:
            sink.describe(query.declaration)
        for changes in query.consumers.news():
            if sink is None:
                limit = query.declaration.into.limit if query.declaration.into else None
                print_changes(query.name, pa.Table.from_batches([changes]), limit)
            else:
                sink.write(changes, query.rows_in, query.now)
        if sink is not None:
            sink.flush(query.rows_in, query.now)

    def close(self) -> None:
        """Let others write there."""
        if self._sink is not None:
            self._sink.close()


def open_outlets(queries: Sequence[Query], *, overwrite: bool = False) -> list[Outlet]:
    """The outlets of those queries that are INTO somewhere; all of them or none."""
    targets = [(query, query.declaration.into) for query in queries]
    run = uuid.uuid4().hex
    writing = [(q, into) for q, into in targets if into is not None and into.format != "console"]
    places = [(Path(i.path), identity_of(q.declaration, run, i.format)) for q, i in writing]
    sinks = dict(
        zip((q.name for q, _ in writing), open_sinks(places, overwrite=overwrite), strict=True)
    )
    return [Outlet(query, sinks.get(query.name)) for query, into in targets if into is not None]
