"""Files of rows of any Arrow types.

A Parquet or Arrow file says its own types; an archive that is made like it keeps them as they are,
decimals, bytes, lists and nanoseconds too. A text file says none: its values are read as the wanted
types from the start (``00123`` is no number to a column of texts), and as what its beginning
suggests only where no types are wanted yet. A value that does not fit is an error that says where
it stands.

What a beginning suggests: whole numbers are BIGINT, others DOUBLE, and what is neither a number, a
truth value nor a time is text. Rows further on that are of another type are refused like those of
any declared stream.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.json
import pyarrow.parquet

from windrow.columns.arrays import Int64s
from windrow.columns.text_forms import is_written, plain_values
from windrow.columns.types import arrow_schema
from windrow.core.errors import InputError
from windrow.core.file_formats import ARROW_SUFFIXES, format_of_name
from windrow.core.schema import Field, Schema, Type
from windrow.core.time import Clock
from windrow.plan.catalog import NO_TIMESTAMP, StreamDeclaration
from windrow.plan.nodes import FileSource
from windrow.tables.enforce import columns_named, resolve_names
from windrow.tables.file_part import explain_unreadable
from windrow.tables.find_files import find_files
from windrow.tables.fit import fit_column, misfits, script_type
from windrow.tables.jsonlines import READ_AS
from windrow.tables.readers import ROWS, columns_in, read_file

BLOCK = 16 << 20
"""Bytes of a JSON file that are parsed at a time; no line may be longer."""

Numbered = tuple[pa.RecordBatch, Int64s]
"""Rows, and their numbers in the file, from 1."""
BEGINNING = 1 << 20
"""Bytes of a text file that are looked at."""


def files_of(names: Sequence[str]) -> list[Path]:
    """Files, those in directories, and those that match patterns; an error if there are none."""
    files = [path for name in names for path in find_files(FileSource(name, ""))]
    if not files:
        raise InputError(where=", ".join(names), expected="files of rows", found="none")
    return files


def schema_of(path: Path) -> pa.Schema:
    """The columns of a file in its own types, as an archive has them that is made like it."""
    match _format(path):
        case "arrow":
            with _explain(path), pa.memory_map(str(path)) as source:
                return _open_arrow(source).schema
        case "parquet":
            return infer_types(path)
        case "json":  # lists and records, which no stream has
            plain = arrow_schema(infer_declaration(path).schema)
            nested = {f.name: f for f in infer_types(path) if pa.types.is_nested(f.type)}
            return pa.schema([nested.get(field.name, field) for field in plain])
    return arrow_schema(infer_declaration(path).schema)


def unused_columns(files: Sequence[Path], wanted: Sequence[str]) -> list[str]:
    """Columns of the files, as their beginnings tell them, that are none of those wanted."""
    names: dict[str, None] = {}
    for path in files:
        try:
            found = (schema_of if _format(path) == "arrow" else infer_types)(path).names
        except InputError:  # a beginning that does not tell; whether it can be read is seen there
            continue
        used = set(wanted)  # a line of JSON is asked for these names as they are
        if _format(path) != "json":
            used = {match for name in wanted for match in columns_named(found, name)}
        names.update((name, None) for name in found if name not in used)
    return list(names)


def read_typed(path: Path, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows of a file in the types of the schema, a batch at a time."""
    for batch, numbers in _numbered_batches(path, schema):
        columns = []
        for values, field in zip(batch.columns, schema, strict=True):
            column = fit_column(values, field, str(path))
            for place in misfits(values, column)[:1]:
                raise InputError(
                    where=f"{path}, row {numbers[place]}",
                    expected=f"{field.type} in column {field.name}",
                    found=repr(plain_values(values.slice(place, 1))[0]),
                )
            columns.append(column)
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _numbered_batches(path: Path, schema: pa.Schema) -> Iterator[Numbered]:
    """The columns of the schema, in the types that the file has or that are nearest to them."""
    match _format(path):
        case "arrow":
            with _explain(path), pa.memory_map(str(path)) as source:
                reader = _open_arrow(source)
                yield from _columnar(_arrow_batches(reader), reader.schema, schema, path)
        case "parquet":
            with _explain(path), pa.parquet.ParquetFile(path) as file:
                names = resolve_names(file.schema_arrow.names, schema.names, str(path))
                found = pa.schema([file.schema_arrow.field(name) for name in names])
                read = file.iter_batches(batch_size=ROWS.value, columns=names)
                yield from _columnar(read, found, schema, path)
        case "json" if any(script_type(kind) is None for kind in schema.types):
            with _explain(path):
                yield from _columnar(_json_batches(path, schema), schema, schema, path)
        case _:
            yield from _texts(path, schema)


def _texts(path: Path, schema: pa.Schema) -> Iterator[Numbered]:
    """Rows of a text file; what no stream has is read as text first."""
    for field in schema:
        if pa.types.is_nested(field.type):
            raise InputError(
                where=f"{path}, column {field.name}",
                expected="a Parquet, Arrow or JSON file",
                found=f"a csv file, which cannot have {field.type}",
            )
    fields = tuple(Field(f.name, script_type(f.type) or Type.STRING) for f in schema)
    declared = StreamDeclaration(path.name, Schema(fields), NO_TIMESTAMP, Clock.INTEGER)
    if _format(path) == "csv":
        found = sorted(columns_in(path, declared))
        if found or not path.stat().st_size:  # else reading it will say what is wrong
            resolve_names(found, schema.names, str(path))
    for parsed in read_file(path, declared):
        for refused in parsed.rejected[:1]:
            raise InputError(
                where=f"{path}, row {refused.row}", expected="a readable row", found=refused.reason
            )
        yield parsed.rows, parsed.numbers


def _columnar(
    batches: Iterator[pa.RecordBatch], found: pa.Schema, schema: pa.Schema, path: Path
) -> Iterator[Numbered]:
    """Batches of a file that has types, their columns in the order of the schema."""
    names, before = resolve_names(found.names, schema.names, str(path)), 0
    for batch in batches:
        columns = [batch.column(name) for name in names]
        numbers = np.arange(before + 1, before + 1 + batch.num_rows, dtype=np.int64)
        yield pa.RecordBatch.from_arrays(columns, schema.names), numbers
        before += batch.num_rows


def _json_batches(path: Path, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Lists and the like are for Arrow's reader; what it does not take as we write it is text."""
    fields = [pa.field(f.name, _as_json(f.type)) for f in schema]
    options = pa.json.ParseOptions(
        explicit_schema=pa.schema(fields), unexpected_field_behavior="ignore"
    )
    with pa.input_stream(str(path), compression="detect") as stream:
        if not path.stat().st_size:
            return
        read = pa.json.ReadOptions(block_size=BLOCK)
        yield from pa.json.open_json(stream, read_options=read, parse_options=options)


def _as_json(kind: pa.DataType) -> pa.DataType:
    """The type in which Arrow's reader of JSON can have values of a type."""
    types = pa.types
    if is_written(kind):
        return pa.string()
    if types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return pa.list_(kind.value_type)
    known = script_type(kind)
    return kind if known is None else READ_AS[known]


def _open_arrow(source: pa.NativeFile) -> pa.RecordBatchFileReader | pa.RecordBatchStreamReader:
    """An Arrow file, of either kind."""
    if source.read(6) == b"ARROW1":
        return pa.ipc.open_file(source)
    source.seek(0)
    return pa.ipc.open_stream(source)


def _arrow_batches(
    reader: pa.RecordBatchFileReader | pa.RecordBatchStreamReader,
) -> Iterator[pa.RecordBatch]:
    if isinstance(reader, pa.RecordBatchStreamReader):
        yield from reader
    else:
        yield from (reader.get_batch(i) for i in range(reader.num_record_batches))


def _format(path: Path) -> str:
    if path.suffix.lower() in ARROW_SUFFIXES:
        return "arrow"
    return format_of_name(path)


def _explain(path: Path) -> AbstractContextManager[None]:
    return explain_unreadable(path, f"a readable {_format(path)} file")


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
