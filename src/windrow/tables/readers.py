"""One door to the formats that a stream's files can have."""

from __future__ import annotations

import zlib
from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from windrow.core.errors import InputError
from windrow.core.file_formats import FORMATS, format_of_name, is_compressed
from windrow.core.thresholds import Threshold
from windrow.plan.catalog import StreamDeclaration
from windrow.plan.expressions import Expression
from windrow.tables.csv import first_row, header, read_csv
from windrow.tables.enforce import csv_hint, resolve
from windrow.tables.file_part import BY_FORMAT, WHOLE, Part, explain_unreadable, unpack
from windrow.tables.jsonlines import first_object, read_json
from windrow.tables.parquet_rows import read_parquet
from windrow.tables.parsed_rows import Parsed

ROWS = Threshold(1 << 17, least=1)
UNREADABLE = (InputError, OSError, pa.ArrowException, EOFError, zlib.error, LookupError)


def read_file(
    path: Path,
    declaration: StreamDeclaration,
    rows_per_batch: int | None = None,
    part: Part = WHOLE,
    columns: frozenset[int] | None = None,
    condition: Expression | None = None,
) -> Generator[Parsed, None, None]:
    """The rows of one file, or of a part of it, in batches of at most ``rows_per_batch``.

    Rows that cannot be read as declared are in ``rejected`` of the batch in which they stood.
    A file that cannot be read as a whole is an InputError; so is one that breaks off in the
    middle, after the batches before that. Nobody looks at other ``columns`` than these (None: at
    all of them): where the rows do not depend on it, others are NULL, which is cheaper. Nor at
    rows for which a ``condition`` is not true, which are left out of the batch (``Parsed.choice``).
    """
    most = rows_per_batch or ROWS.value
    with _in_words(path, declaration):
        for parsed in _batches(path, declaration, most, part, columns, condition):
            rest = replace(parsed, after=None) if is_compressed(path) else parsed
            while len(rest) > most:
                first, rest = rest.split(most)
                yield first
            yield rest


def check_columns(path: Path, declaration: StreamDeclaration) -> None:
    """InputError if a CSV or Parquet file lacks a declared column."""
    with _in_words(path, declaration):
        match format_of(path, declaration):
            case "parquet":
                resolve(pyarrow.parquet.read_schema(path).names, declaration, str(path))
            case "csv":
                names, _ = header(path, declaration, Part())
                if names:
                    resolve(names, declaration, str(path), csv_hint(names, declaration))


def check_whole(path: Path, declaration: StreamDeclaration) -> Iterator[None]:
    """InputError if a compressed file ends early or is damaged; gives way now and then."""
    if format_of(path, declaration) != "parquet" and is_compressed(path):
        with _in_words(path, declaration):
            yield from unpack(path)


def _in_words(path: Path, declaration: StreamDeclaration) -> AbstractContextManager[None]:
    expected = f"a readable {format_of(path, declaration)} file"
    return explain_unreadable(path, expected, BY_FORMAT)


def _batches(
    path: Path,
    declaration: StreamDeclaration,
    rows: int,
    part: Part,
    columns: frozenset[int] | None,
    condition: Expression | None,
) -> Iterator[Parsed]:
    form = format_of(path, declaration)
    if form != "parquet" and is_compressed(path):
        part = WHOLE
    match form:
        case "csv":
            read = read_csv(path, declaration, part, columns)
        case "json":
            read = read_json(path, declaration, part)
        case _:
            return read_parquet(path, declaration, rows, columns, condition)
    if condition is None:
        return read
    # Imported late: who only looks at files needs no kernels.
    from windrow.tables.row_choice import choose  # noqa: PLC0415

    return (choose(parsed, condition, declaration) for parsed in read)


def columns_in(path: Path, declaration: StreamDeclaration) -> set[str]:
    """The names of a file's columns, in lower case, as its beginning tells them."""
    try:
        match format_of(path, declaration):
            case "parquet":
                names = pyarrow.parquet.read_schema(path).names
            case "csv":
                names = header(path, declaration)[0]
            case _:
                names = list(first_object(path))
    except UNREADABLE:
        return set()  # reading it will say what is wrong
    return {name.lower() for name in names}


def first_value(path: Path, declaration: StreamDeclaration, column: str) -> Any:
    """The first value of a file's column, as its beginning tells; None if there is none."""
    try:
        match format_of(path, declaration):
            case "parquet":
                with pyarrow.parquet.ParquetFile(path) as file:
                    rows = next(file.iter_batches(1), None)
                return rows.column(column)[0].as_py() if rows is not None else None
            case "csv":
                return first_row(path, declaration).get(column)
            case _:
                return first_object(path).get(column)
    except UNREADABLE:
        return None  # reading it will say what is wrong


def format_of(path: Path, declaration: StreamDeclaration) -> str:
    """The declared format, or for a stream without a source the one that the name ends in."""
    if declaration.source is None:
        return format_of_name(path)
    name = declaration.source.format.lower()
    if name not in FORMATS:
        raise InputError(
            where=f"stream {declaration.name}",
            expected=f"FORMAT {', '.join(FORMATS)}",
            found=declaration.source.format,
        )
    return name


def parquet_rows(path: Path) -> int | None:
    """How many rows a Parquet file has, as its footer says; None if it is not one."""
    try:
        return int(pyarrow.parquet.read_metadata(path).num_rows)
    except UNREADABLE:
        return None
