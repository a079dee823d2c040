"""Where ``INTO`` sends the changes of a connection's queries: files, or standard output."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from windrow.engine.console import print_changes
from windrow.engine.query import EmbeddedQuery
from windrow.engine.shared import SharedQuery
from windrow.engine.sinks import FileSink
from windrow.plan.catalog import Destination


class Outlet:
    """One query's changes on their way out; results of an earlier run go when it is made."""

    def __init__(self, query: EmbeddedQuery | SharedQuery, into: Destination) -> None:
        self._query = query
        self._sink = None if into.format == "console" else FileSink(Path(into.path), into.format)

    def flush(self) -> None:
        """Publish what has changed since the last time, as one file."""
        query = self._query
        for changes in query.news():
            if self._sink is None:
                print_changes(query.name, pa.Table.from_batches([changes]))
            else:
                self._sink.write(changes, query.rows_in, query.now)
        if self._sink is not None:
            self._sink.flush(query.rows_in, query.now)
