"""Parquet files: columns by name, read a batch at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from windrow.plan.catalog import StreamDeclaration
from windrow.tables.column_names import resolve
from windrow.tables.enforce import as_json, enforce
from windrow.tables.parsed_rows import Int64s, Parsed


def read_parquet(path: Path, declaration: StreamDeclaration, rows: int) -> Iterator[Parsed]:
    """The file's rows, numbered from 1; other columns than the declared ones are not read."""
    with pq.ParquetFile(path) as file:
        names = resolve(file.schema_arrow.names, declaration, str(path))
        before = 0
        for batch in file.iter_batches(batch_size=rows, columns=names):
            numbers = np.arange(before + 1, before + 1 + batch.num_rows, dtype=np.int64)
            columns = [batch.column(name) for name in names]
            yield enforce(columns, numbers, declaration, _Rows(batch))
            before += batch.num_rows


class _Rows:
    """Rows as JSON, made when they are asked for."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self.batch = batch

    def __call__(self, positions: Int64s) -> list[str]:
        return [as_json(row) for row in self.batch.take(pa.array(positions)).to_pylist()]
