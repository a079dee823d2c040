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
        query, news = self._query, self._query.news()
        if news and self._sink is None:
            print_changes(query.name, pa.Table.from_batches(news))
        elif self._sink is not None:
            for changes in news:
                self._sink.write(changes, query.rows_in, query.now)
            self._sink.flush(query.rows_in, query.now)
