"""Files of changes in each format: written table by table, read whole."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet

from windrow.engine.identity import INSTANT

SUFFIX = {"parquet": "parquet", "csv": "csv", "json": "jsonl"}


class Write(Protocol):
    """Adds a table to a file."""

    def __call__(self, table: pa.Table) -> object: ...


def write_table(table: pa.Table, path: Path, format_: str) -> None:
    """A table as a file of the format."""
    with writing(path, table.schema, format_) as write:
        write(table)


@contextmanager
def writing(path: Path, schema: pa.Schema, format_: str) -> Iterator[Write]:
    """A file of the format, to be filled with tables."""
    if format_ == "csv":
        with pyarrow.csv.CSVWriter(path, schema) as csv:
            yield csv.write_table
    elif format_ == "json":
        with path.open("w", encoding="utf-8") as file:
            yield lambda table: file.writelines(_lines(table))
    else:
        with pyarrow.parquet.ParquetWriter(path, schema, compression="zstd") as parquet:
            yield parquet.write_table


def _lines(table: pa.Table) -> Iterator[str]:
    for batch in table.to_batches():
        for row in batch.to_pylist():
            yield json.dumps(row, default=str, ensure_ascii=False) + "\n"


def read_file(path: Path, format_: str, schema: pa.Schema) -> pa.Table:
    """All of a file, in the types of the schema."""
    if format_ == "csv":
        options = pyarrow.csv.ConvertOptions(
            column_types=schema,
            null_values=[""],  # nothing but nothing: a NaN is no NULL
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        )
        whole = pyarrow.csv.ParseOptions(newlines_in_values=True)
        return pyarrow.csv.read_csv(path, parse_options=whole, convert_options=options)
    if format_ == "json":
        # Arrow reads dates of JSON from numbers only.
        texts = {f.name: pa.string() for f in schema if pa.types.is_date(f.type)}
        plain = pa.schema([(f.name, texts.get(f.name, f.type)) for f in schema])
        parsed = pyarrow.json.ParseOptions(explicit_schema=plain)
        found = pyarrow.json.read_json(path, parse_options=parsed)
        return found.select(schema.names).cast(schema)
    return pyarrow.parquet.read_table(path, schema=schema)


def in_order(changes: pa.Table) -> pa.Table:
    """In the order of their instants, those of one instant as they stood; what has none is first,
    for it has been so from the beginning.
    """
    if INSTANT not in changes.schema.names:
        return changes
    instants = changes[INSTANT].cast(pa.int64()).fill_null(np.iinfo(np.int64).min).to_numpy()
    if (instants[1:] >= instants[:-1]).all():
        return changes
    return changes.take(pa.array(np.argsort(instants, kind="stable")))
