"""Tables written to files.

Result files (``open_writer``) have the types that a script has, and streams read them again.
Files for people and other programs (``WRITERS``, by how a name ends) have any type of Arrow: what
CSV or JSON has no way to write is a text in them, as ``windrow.columns.text_forms`` has it, and
NaN, Infinity and -Infinity are written in JSON by name.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet

from windrow.columns.text_forms import plain_values, texts_for_csv
from windrow.core.thresholds import Threshold

AT_ONCE = Threshold(10_000, least=1)
"""Rows that are made into lines at a time."""

Write = Callable[[pa.Table], object]
"""Adds a table to a file."""
OpenWriter = Callable[[Path, pa.Schema], AbstractContextManager[Write]]


def write_table(table: pa.Table, path: Path, format_: str) -> None:
    """A table as a result file of the format."""
    with open_writer(path, table.schema, format_) as write:
        write(table)


@contextmanager
def open_writer(path: Path, schema: pa.Schema, format_: str) -> Iterator[Write]:
    """A result file of the format, to be filled with tables."""
    if format_ == "csv":
        with pa.csv.CSVWriter(path, schema) as csv:
            yield csv.write_table
    elif format_ == "json":
        with path.open("w", encoding="utf-8") as file:
            yield lambda table: file.writelines(_result_lines(table))
    else:
        with _parquet(path, schema) as write:
            yield write


def _result_lines(table: pa.Table) -> Iterator[str]:
    for batch in table.to_batches():
        for row in batch.to_pylist():
            yield json.dumps(row, default=str, ensure_ascii=False) + "\n"


@contextmanager
def _parquet(path: Path, schema: pa.Schema) -> Iterator[Write]:
    # Given a path, Arrow looks for its file system first, which takes as long as a small file.
    with (
        pa.OSFile(str(path), "wb") as file,
        pa.parquet.ParquetWriter(file, schema, **_encodings(schema)) as writer,
    ):
        yield writer.write_table


def _encodings(schema: pa.Schema) -> dict[str, Any]:
    """Differences for integers and times, which are smaller than what a compression makes of them
    and take a third of the time; dictionaries for texts."""
    texts = [f.name for f in schema if pa.types.is_string(f.type)]
    numbers = [f.name for f in schema if pa.types.is_integer(f.type) or _is_time(f.type)]
    return {
        "compression": "snappy",
        "use_dictionary": texts,
        "column_encoding": dict.fromkeys(numbers, "DELTA_BINARY_PACKED"),
    }


def _is_time(type_: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(type_) or pa.types.is_date(type_))


@contextmanager
def _csv(path: Path, schema: pa.Schema) -> Iterator[Write]:
    with path.open("wb") as file:
        pa.csv.write_csv(schema.empty_table(), file)
        rows = pa.csv.WriteOptions(include_header=False)
        yield lambda table: pa.csv.write_csv(texts_for_csv(table), file, rows)


@contextmanager
def _arrow(path: Path, schema: pa.Schema) -> Iterator[Write]:
    with pa.ipc.new_file(str(path), schema) as writer:
        yield writer.write_table


@contextmanager
def _json(path: Path, _: pa.Schema) -> Iterator[Write]:
    with path.open("w", encoding="utf-8") as file:
        yield lambda table: file.writelines(f"{line}\n" for line in json_lines(table))


WRITERS: dict[str, OpenWriter] = {
    ".parquet": _parquet,
    ".csv": _csv,
    ".json": _json,
    ".arrow": _arrow,
}


def json_lines(table: pa.Table) -> Iterator[str]:
    """Each row as a line of JSON; columns of one name are told apart."""
    names: list[str] = []
    for name in table.column_names:
        same = sum(n == name for n in table.column_names[: len(names)])
        names.append(f"{name}_{same + 1}" if same else name)
    for batch in table.to_batches(AT_ONCE.value):
        for values in zip(*map(plain_values, batch.columns), strict=True):
            yield _line(dict(zip(names, values, strict=True)))


def _line(row: dict[str, Any]) -> str:
    try:
        return json.dumps(row, default=str, allow_nan=False)
    except ValueError:
        return json.dumps(_with_names(row), default=str)


def _with_names(value: Any) -> Any:
    """A value with names for the numbers that JSON has not."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else f"{'-' if value < 0 else ''}Infinity"
    if isinstance(value, dict):
        return {name: _with_names(one) for name, one in value.items()}
    return [_with_names(one) for one in value] if isinstance(value, list) else value
