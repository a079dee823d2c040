"""What a file holds, when nobody has declared it: its own types, or what its beginning suggests.

Whole numbers are BIGINT, others DOUBLE, and what is neither a number, a truth value nor a time is
text. Rows further on that are of another type are refused like those of any declared stream.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet

from windrow.core.file_formats import format_of_name
from windrow.core.schema import Field, Schema, Type
from windrow.core.time import Clock
from windrow.plan.catalog import NO_TIMESTAMP, StreamDeclaration
from windrow.tables.unreadable import explain_unreadable

BEGINNING = 1 << 20
"""Bytes of a text file that are looked at."""


def infer_declaration(path: Path) -> StreamDeclaration:
    """A declaration that reads the file: a stream without time."""
    schema = Schema(tuple(Field(f.name.strip(), _kind(f.type)) for f in infer_types(path)))
    return StreamDeclaration(path.name, schema, NO_TIMESTAMP, Clock.INTEGER)


def infer_types(path: Path) -> pa.Schema:
    """The types that a Parquet file has, or that Arrow sees in the beginning of a text file."""
    with explain_unreadable(path, "a readable csv, json or parquet file"):
        match format_of_name(path):
            case "csv":
                options = pa.csv.ReadOptions(block_size=BEGINNING)
                with pa.csv.open_csv(path, read_options=options) as reader:
                    return reader.schema
            case "json":
                return pa.json.read_json(_first_lines(path)).schema
            case _:
                return pa.parquet.read_schema(path)


def _first_lines(path: Path) -> pa.BufferReader:
    with pa.input_stream(str(path), compression="detect") as stream:
        start: bytes = stream.read(BEGINNING)
    whole = start[: start.rfind(b"\n") + 1] or start
    return pa.BufferReader(whole)


def _kind(found: pa.DataType) -> Type:
    kinds = pa.types
    if kinds.is_boolean(found):
        return Type.BOOLEAN
    if kinds.is_integer(found):
        return Type.BIGINT
    if kinds.is_floating(found) or kinds.is_decimal(found):
        return Type.DOUBLE
    if kinds.is_date(found):
        return Type.DATE
    return Type.TIMESTAMP if kinds.is_timestamp(found) else Type.STRING
