"""Entries in a Parquet file: the row groups that hold what is asked for are decoded."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from windrow.archive.layout import DAY, EXPIRY, Layout
from windrow.archive.runs.entries import Only, converted, positions

_MANY = 16  # row groups from which on several threads pay


class ParquetEntries:
    """Row groups are small, so that a bucket costs the decoding of one or two."""

    def __init__(self, buffer: pa.Buffer, layout: Layout) -> None:
        self._file = pq.ParquetFile(pa.BufferReader(buffer))
        data = self._file.metadata
        groups = [data.row_group(i).num_rows for i in range(data.num_row_groups)]
        self.starts = np.cumsum([0, *groups]).tolist()
        self._schema = layout.given({})

    def bucket(self, start: int, stop: int, schema: pa.Schema, only: Only) -> list[pa.RecordBatch]:
        return self.rows(start, stop, schema, only)

    def rows(self, start: int, stop: int, schema: pa.Schema, only: Only) -> list[pa.RecordBatch]:
        if start >= stop:
            return []
        return self._chosen(self._read(start, stop, self._needed(schema, only)), schema, only)

    def gather(
        self, ranges: list[tuple[int, int]], schema: pa.Schema, only: Only
    ) -> list[pa.RecordBatch]:
        rows = positions(ranges)
        if not len(rows):
            return []
        groups, first = np.unique(np.searchsorted(self.starts, rows, "right") - 1, True)
        shift = np.zeros(len(rows), np.int64)  # how far rows stand before their place in the file
        lengths = np.diff(self.starts)[groups]
        read = np.cumsum([0, *lengths[:-1]])
        for group, begin, place in zip(groups, first, read, strict=True):
            shift[begin:] = self.starts[group] - place
        columns = self._needed(schema, only)
        table = self._file.read_row_groups(groups.tolist(), columns).select(columns)
        return self._chosen(table.take(pa.array(rows - shift)), schema, only)

    @staticmethod
    def _needed(schema: pa.Schema, only: Only) -> list[str]:
        stamps = [DAY] * (only.days is not None) + [EXPIRY] * (only.after is not None)
        return list(dict.fromkeys([*schema.names, *stamps]))

    @staticmethod
    def _chosen(table: pa.Table, schema: pa.Schema, only: Only) -> list[pa.RecordBatch]:
        if only.days is not None:
            days = pa.array(only.days, pa.int32())
            table = table.filter(pc.is_in(table.column(DAY), value_set=days))
        if only.after is not None:
            table = table.filter(pc.greater_equal(table.column(EXPIRY), only.after))
        return converted(table.select(schema.names).to_batches(), schema)

    def plain(self, start: int, stop: int) -> pa.Table:
        return self._read(start, stop, self._schema.names)

    def _read(self, start: int, stop: int, columns: list[str]) -> pa.Table:
        if start >= stop:
            return self._schema.empty_table().select(columns)
        first = bisect_right(self.starts, start) - 1
        last = bisect_left(self.starts, stop)
        groups = list(range(first, last))
        table = self._file.read_row_groups(groups, columns, use_threads=len(groups) > _MANY)
        return table.select(columns).slice(start - self.starts[first], stop - start)
