"""Whatever a caller gives as records: tables, batches, data frames, files.

What exports an Arrow stream is one: data frames of pandas, Polars and Spark, results of DuckDB. A
path, or several, are files, read batch by batch with the archive's types, as on the command line
(``windrow.tables.typed_files``); a value that does not fit is an error that says where it stands,
since a day comes in whole or not at all.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from windrow.archive.errors import ArchiveError
from windrow.archive.format.layout import cast_to_schema
from windrow.archive.progress_callback import Progress, Reached, nobody
from windrow.tables.enforce import resolve_names
from windrow.tables.typed_files import files_of, read_typed, schema_of


def record_batches(data: Any, schema: pa.Schema) -> pa.Table | Iterable[pa.RecordBatch]:
    """Records as Arrow has them; only files are in the types of the schema already."""
    if isinstance(data, pa.Table | pa.RecordBatchReader):
        return data
    if (names := _names(data)) is not None:
        return batches_of(files_of(names), schema)
    try:
        if hasattr(data, "toArrow"):  # Spark's: the stream that it exports takes no timestamps
            return data.toArrow()
        if hasattr(data, "__arrow_c_stream__"):
            return pa.RecordBatchReader.from_stream(data)
        if hasattr(data, "__arrow_c_array__"):
            return pa.Table.from_batches([pa.record_batch(data)])
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise _no_records(data, str(error)) from error
    if isinstance(data, Iterable) and not isinstance(data, Mapping | bytes | bytearray):
        return _batches(data)
    raise _no_records(data)


def record_table(data: Any, schema: pa.Schema, *others: str) -> pa.Table:
    """All records in one table: the columns of the schema, and some others as they are."""
    others = tuple(name for name in others if name not in schema.names)
    if (names := _names(data)) is not None:
        return rows_of(files_of(names), schema, *others)
    found = record_batches(data, schema)
    parts = [found] if isinstance(found, pa.Table) else found
    tables = [cast_to_schema(part, schema, *others) for part in parts]
    if not tables:
        return pa.schema([*schema, *((name, pa.int64()) for name in others)]).empty_table()
    return pa.concat_tables(tables)


def _names(data: Any) -> list[str] | None:
    """The paths that were given, if it was one or several."""
    several = data if isinstance(data, list | tuple) else [data]
    if several and all(isinstance(one, str | os.PathLike) for one in several):
        return [os.fspath(one) for one in several]
    return None


def _batches(data: Iterable[Any]) -> Iterator[pa.RecordBatch]:
    for one in data:
        if isinstance(one, pa.Table):
            yield from one.to_batches()
        elif isinstance(one, pa.RecordBatch):
            yield one
        else:
            raise _no_records(data, f"with {type(one).__name__} in it")


def _no_records(data: Any, why: str = "") -> ArchiveError:
    kind = type(data)
    name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
    return ArchiveError(
        where="data",
        expected="a table, batches, a data frame, or paths of csv, json, parquet or arrow files",
        found=f"{name} {why}".strip(),
        remedy="convert it with pyarrow.table(columns) or pyarrow.Table.from_pylist(rows)",
    )


def rows_of(
    files: Sequence[Path], schema: pa.Schema, *others: str, progress: Progress = nobody
) -> pa.Table:
    """All rows of the files: the columns of the schema, and some others in types of their own."""
    if others:
        found = schema_of(files[0])
        extra = resolve_names(found.names, others, str(files[0]))
        schema = pa.schema(
            [
                *schema,
                *(pa.field(o, found.field(e).type) for o, e in zip(others, extra, strict=True)),
            ]
        )
    return pa.Table.from_batches(batches_of(files, schema, progress), schema)


def batches_of(
    files: Sequence[Path], schema: pa.Schema, progress: Progress = nobody
) -> Iterator[pa.RecordBatch]:
    """The rows of files, one after the other, in the types of the schema.

    ``progress`` is told how many files have been read, and how many bytes they have.
    """
    size = 0
    for done, path in enumerate(files, start=1):
        yield from read_typed(path, schema)
        size += path.stat().st_size
        progress(Reached("files", done, len(files), size))
