"""One door to the formats that a stream's files can have."""

from __future__ import annotations

import io
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from windrow.core.errors import InputError
from windrow.plan.catalog import StreamDeclaration
from windrow.streams.csv import read_csv
from windrow.streams.jsonlines import read_json
from windrow.streams.parquet import read_parquet
from windrow.streams.parsed import Parsed

ROWS = 1 << 17
FORMATS = ("csv", "json", "parquet")
SUFFIXES = {".csv": "csv", ".json": "json", ".jsonl": "json", ".ndjson": "json"}


def read_file(
    path: Path, declaration: StreamDeclaration, rows_per_batch: int = ROWS
) -> Iterator[Parsed]:
    """The rows of one file in their order, in batches of at most ``rows_per_batch``.

    Rows that cannot be read as declared are in ``rejected`` of the batch in which they stood.
    A file that cannot be read as a whole is an InputError; so is one that breaks off in the
    middle, after the batches before that.
    """
    try:
        for parsed in _batches(path, declaration, rows_per_batch):
            rest = parsed
            while len(rest) > rows_per_batch:
                part, rest = rest.split(rows_per_batch)
                yield part
            yield rest
    except (OSError, pa.ArrowException, EOFError, zlib.error) as error:
        raise InputError(
            where=str(path),
            expected=f"a readable {format_of(path, declaration)} file",
            found=str(error).splitlines()[0] if str(error) else type(error).__name__,
            remedy="check that the file is whole and that FORMAT names what it is",
        ) from error


def _batches(path: Path, declaration: StreamDeclaration, rows: int) -> Iterator[Parsed]:
    match format_of(path, declaration):
        case "csv":
            return read_csv(path, declaration)
        case "json":
            return read_json(path, declaration)
        case _:
            return read_parquet(path, declaration, rows)


def columns_in(path: Path, declaration: StreamDeclaration) -> set[str]:
    """The names of a file's columns, in lower case, as its beginning tells them."""
    try:
        match format_of(path, declaration):
            case "parquet":
                names = pyarrow.parquet.read_schema(path).names
            case "csv":
                with pyarrow.csv.open_csv(path) as reader:
                    names = reader.schema.names
            case _:
                with pyarrow.input_stream(path) as stream, io.TextIOWrapper(stream) as text:
                    names = list(json.loads(next((line for line in text if line.strip()), "{}")))
    except (OSError, pa.ArrowException, ValueError):
        return set()  # reading it will say what is wrong
    return {name.lower() for name in names}


def first_value(path: Path, declaration: StreamDeclaration, column: str) -> Any:
    """The first value of a file's column, as its beginning tells; None if there is none."""
    try:
        match format_of(path, declaration):
            case "parquet":
                with pyarrow.parquet.ParquetFile(path) as file:
                    rows = next(file.iter_batches(1), None)
            case "csv":
                with pyarrow.csv.open_csv(path) as reader:
                    rows = reader.read_next_batch()
            case _:
                with pyarrow.input_stream(path) as stream, io.TextIOWrapper(stream) as text:
                    return json.loads(next(line for line in text if line.strip())).get(column)
        return rows.column(column)[0].as_py() if rows is not None else None
    except (OSError, pa.ArrowException, ValueError, LookupError, StopIteration):
        return None  # reading it will say what is wrong


def format_of(path: Path, declaration: StreamDeclaration) -> str:
    """The declared format, or for a stream without a source the one that the name ends in."""
    if declaration.source is None:
        suffixes = [s for s in path.suffixes if s in SUFFIXES]
        return SUFFIXES[suffixes[-1]] if suffixes else "parquet"
    name = declaration.source.format.lower()
    if name not in FORMATS:
        raise InputError(
            where=f"stream {declaration.name}",
            expected=f"FORMAT {', '.join(FORMATS)}",
            found=declaration.source.format,
        )
    return name
