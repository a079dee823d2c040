"""Rows of Parquet files.

A column that nobody looks at is not read if the file has it in its declared type: then no value of
it can be refused. The text of a row that is late, say, has all columns; for that the file is read a
second time, as far as such rows go, and only if there are some.

A file has many a text column as a dictionary and codes. Where rows are left out that fail a
condition, such columns are read as they are: the condition is asked of the values of the
dictionary, and texts are made for the rows that are left.
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
from windrow.core.thresholds import Threshold
from windrow.plan.catalog import NO_TIMESTAMP, StreamDeclaration
from windrow.plan.expressions import Expression
from windrow.tables.enforce import all_ticks, as_json, enforce, resolve
from windrow.tables.parsed_rows import Choice, Parsed, Texts, plain_column

LARGEST_DICTIONARY, CODE = 1 << 20, 3
"""Bytes of a dictionary up to which most writers make one, and of a code of one of its values."""
LARGE_GROUP = Threshold(1 << 13)
"""Rows of a row group that are worth a batch."""


def read_parquet(
    path: Path,
    declaration: StreamDeclaration,
    rows: int,
    columns: frozenset[int] | None = None,
    condition: Expression | None = None,
) -> Iterator[Parsed]:
    """The file's rows, numbered from 1; other columns than the declared ones are not read.

    Of those in none of the ``columns`` that somebody looks at (None: at all) some are NULL. Rows
    for which a ``condition`` is not true may be left out.
    """
    footer = pyarrow.parquet.read_metadata(path)
    schema = footer.schema.to_arrow_schema()
    names = resolve(schema.names, declaration, str(path))
    kinds = arrow_schema(declaration.schema).types
    unread = _unread(schema, names, declaration, columns)
    if declaration.timestamp == NO_TIMESTAMP or [schema.field(n).type for n in names] != kinds:
        condition = None  # a row that is left out must not be one that is refused
    coded = [] if condition is None else _coded_texts(footer, schema, names)
    with pyarrow.parquet.ParquetFile(path, metadata=footer, read_dictionary=coded) as file:
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
            parsed = None
            if condition is not None:
                parsed = _chosen(found, numbers, declaration, texts, condition)
            if parsed is None:
                plain = [plain_column(column) for column in found]
                parsed = enforce(plain, numbers, declaration, texts)
            yield parsed
            before += count


def _chosen(
    columns: Sequence[pa.Array],
    numbers: Int64s,
    declaration: StreamDeclaration,
    texts: Texts,
    condition: Expression,
) -> Parsed | None:
    """The rows for which a condition is true, of columns of the declared types; None if that is
    true of all, or if some have no timestamp and are refused.
    """
    # Imported late: who only looks at files needs no kernels.
    from windrow.tables.row_choice import chosen_positions  # noqa: PLC0415

    place = declaration.timestamp
    ts = all_ticks(columns[place], declaration.schema[place])
    positions = chosen_positions(condition, columns)
    if ts is None or len(positions) == len(numbers):
        return None
    at = pa.array(positions)
    arrays = [plain_column(column.take(at)) for column in columns]
    rows = pa.RecordBatch.from_arrays(arrays, schema=arrow_schema(declaration.schema))
    return Parsed(rows, numbers, (), texts, choice=Choice(positions, ts))


def _coded_texts(
    footer: pyarrow.parquet.FileMetaData, schema: pa.Schema, names: Sequence[str]
) -> list[str]:
    """The columns of text that are in a dictionary in all row groups, but for a small part.

    Whoever writes a file gives a dictionary up when it has become large. Values that stand behind
    one another take five bytes and more each, codes three at most.
    """
    if footer.num_rows < LARGE_GROUP.value * footer.num_row_groups:
        return []  # each group has a dictionary, and so is a batch of its own
    texts = {name for name in names if schema.field(name).type == pa.string()}
    for group in map(footer.row_group, range(footer.num_row_groups)):
        for column in map(group.column, range(group.num_columns)):
            size = column.total_uncompressed_size - LARGEST_DICTIONARY
            if not column.has_dictionary_page or size > CODE * column.num_values:
                texts.discard(column.path_in_schema)
    return sorted(texts)


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
