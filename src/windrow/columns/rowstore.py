"""Rows kept as columns, appended at the end and forgotten from the start, fetched by position."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from windrow.columns.arrays import Int64s
from windrow.columns.delta import batch_of, empty_batch
from windrow.columns.stored_columns import column_store


class RowStore:
    """Rows of one schema by logical position; appending and fetching cost what they touch."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema, self._nothing = schema, empty_batch(schema)
        self.columns = [column_store(f.type) for f in schema]
        self._base = self._next = 0

    def __len__(self) -> int:
        return self._next - self._base

    @property
    def base(self) -> int:
        return self._base

    @property
    def next(self) -> int:
        return self._next

    def append(self, rows: pa.RecordBatch) -> int:
        """Add rows at the end; the position of the first."""
        first = self._next
        if not rows.num_rows:
            return first
        for column, array in zip(self.columns, rows.columns, strict=True):
            column.append(array)
        self._next += rows.num_rows
        return first

    def take(self, positions: Int64s) -> pa.RecordBatch:
        if not len(positions):
            return self._nothing
        arrays = [column.take(positions) for column in self.columns]
        return batch_of(arrays, self.schema, len(positions))

    def column(self, index: int, positions: Int64s) -> pa.Array:
        return self.columns[index].take(positions)

    def lend(self) -> Callable[[], pa.RecordBatch]:
        """What makes a batch of all rows as they are now; of the values nothing is copied."""
        columns, count = [column.lend() for column in self.columns], len(self)
        names = self.schema.names

        def rows() -> pa.RecordBatch:
            if not columns:
                return batch_of([], self.schema, count)
            return pa.RecordBatch.from_arrays([array() for array in columns], names)

        return rows

    def start_at(self, position: int) -> None:
        """Let an empty store begin at ``position``."""
        self._base = self._next = position
        for column in self.columns:
            column.start_at(position)

    def drop_before(self, position: int) -> None:
        if position > self._base:
            self._base = min(position, self._next)
            for column in self.columns:
                column.drop_before(self._base)
