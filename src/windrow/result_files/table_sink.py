"""One sink for several queries: their changes are rows of one table, published together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from windrow.plan.catalog import QueryDeclaration
from windrow.result_files.query_table import rows_of_query, with_query
from windrow.result_files.sinks import FileSink


class QuerySink:
    """The part of a query in a table. Rows in are those of the query that has read most, since
    most of them read the same."""

    def __init__(self, table: FileSink, name: str) -> None:
        self._table, self._name = table, name

    def prepare(self) -> None:
        """Make the directory ready; once is enough for all."""
        if not self._table.is_prepared:
            self._table.prepare()

    def describe(self, query: QueryDeclaration) -> None:
        """Nothing: queries of a table are on a clock that is known."""

    @property
    def pending(self) -> Sequence[pa.RecordBatch]:
        """Changes that are in no file yet."""
        if not self._table.pending:
            return []
        waiting = pa.Table.from_batches(self._table.pending)
        mine: list[pa.RecordBatch] = rows_of_query(waiting, self._name).to_batches()
        return mine

    @property
    def last(self) -> int:
        return self._table.last

    def parts(self, after: int) -> Iterator[tuple[int, pa.Table]]:
        """What is published of the query after a micro-batch."""
        for number, changes in self._table.parts(after):
            yield number, rows_of_query(changes, self._name)

    def write(self, changes: pa.RecordBatch, rows_in: int, now: int | None) -> None:
        """Take changes in; they are published when there are enough for a file."""
        self._table.write(with_query(changes, self._name), self._most(rows_in), now)

    def flush(self, rows_in: int, now: int | None) -> None:
        """Publish what is pending of all queries."""
        self._table.flush(self._most(rows_in), now)

    def _most(self, rows_in: int) -> int:
        return max(rows_in, self._table.rows_in)

    def close(self) -> None:
        """Let others write there."""
        self._table.close()
