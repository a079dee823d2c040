"""Rows of Parquet files.

A column that nobody looks at is not read if the file has it in its declared type: then no value of
it can be refused. The text of a row that is late, say, has all columns; for that the file is read a
second time, as far as such rows go, and only if there are some.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from windrow.columns.arrays import Int64s
from windrow.columns.types import arrow_schema
from windrow.plan.catalog import StreamDeclaration
from windrow.tables.enforce import as_json, enforce, resolve
from windrow.tables.parsed_rows import Parsed


def read_parquet(
    path: Path,
    declaration: StreamDeclaration,
    rows: int,
    columns: frozenset[int] | None = None,
) -> Iterator[Parsed]:
    """The file's rows, numbered from 1; other columns than the declared ones are not read.

    Of those in none of the ``columns`` that somebody looks at (None: at all) some are NULL.
    """
    with pyarrow.parquet.ParquetFile(path) as file:
        names = resolve(file.schema_arrow.names, declaration, str(path))
        kinds = arrow_schema(declaration.schema).types
        unread = _unread(file.schema_arrow, names, declaration, columns)
        wanted = [name for number, name in enumerate(names) if number not in unread]
        again, before = _WholeRows(path, names, rows), 0
        for batch in file.iter_batches(batch_size=rows, columns=wanted):
            count = batch.num_rows
            numbers = np.arange(before + 1, before + 1 + count, dtype=np.int64)
            found = [
                pa.nulls(count, kind) if n in unread else batch.column(names[n])
                for n, kind in enumerate(kinds)
            ]
            texts = partial(again.texts, before, batch) if unread else partial(_as_texts, batch)
            yield enforce(found, numbers, declaration, texts)
            before += count


def _unread(
    schema: pa.Schema,
    names: Sequence[str],
    declaration: StreamDeclaration,
    columns: frozenset[int] | None,
) -> frozenset[int]:
    """The declared columns that nobody looks at, and of which no value could be refused."""
    if columns is None:
        return frozenset()
    return frozenset(
        number
        for number, kind in enumerate(arrow_schema(declaration.schema).types)
        if number not in columns
        and number != declaration.timestamp
        and schema.field(names[number]).type == kind
    )


def _as_texts(batch: pa.RecordBatch, positions: Int64s) -> list[str]:
    return [as_json(row) for row in batch.take(pa.array(positions)).to_pylist()]


class _WholeRows:
    """Rows of a file with all columns, read in the order in which they are asked for."""

    def __init__(self, path: Path, names: Sequence[str], rows: int) -> None:
        self._path, self._names, self._rows = path, names, rows
        self._batches: Iterator[pa.RecordBatch] = iter(())
        self._batch: pa.RecordBatch | None = None
        self._first = 0

    def texts(self, before: int, batch: pa.RecordBatch, positions: Int64s) -> list[str]:
        """Rows of a batch that comes after so many rows; if the file is gone, what it has."""
        try:
            return [self._text(before + int(position)) for position in positions]
        except (OSError, pa.ArrowException, StopIteration):
            return _as_texts(batch, positions)

    def _text(self, row: int) -> str:
        if self._batch is None or row < self._first:
            file = pyarrow.parquet.ParquetFile(self._path)
            names = list(self._names)
            self._batches = file.iter_batches(batch_size=self._rows, columns=names)
            self._first, self._batch = 0, next(self._batches)
        while row >= self._first + self._batch.num_rows:
            self._first += self._batch.num_rows
            self._batch = next(self._batches)
        (text,) = _as_texts(self._batch, np.array([row - self._first]))
        return text
