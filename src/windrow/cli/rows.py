"""Rows of files that nobody has declared, in the types that they have.

A Parquet file says its own types, and they are kept as they are, decimals and nanoseconds too. A
text file has none: what its beginning suggests is taken (``windrow.tables.typed_files``), unless a
type is said for a column. The first file decides for all; a value of a later one that is none of
its types is an error in Parquet, and a row that cannot be read in a text file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from windrow.columns.types import ARROW, arrow_schema, readable
from windrow.core.errors import InputError
from windrow.core.file_formats import format_of_name
from windrow.core.schema import Field, Schema, Type
from windrow.subscriptions.predicates import plain_type
from windrow.subscriptions.values import exactly
from windrow.tables.file_part import explain_unreadable
from windrow.tables.fit_column import script_type
from windrow.tables.readers import ROWS, read_file
from windrow.tables.typed_files import infer_declaration

DECIMAL = re.compile(r"(?i:decimal|numeric)\s*\(\s*(\d{1,2})\s*(?:,\s*(\d{1,2})\s*)?\)")
MOST_DIGITS = 76


def type_named(text: str) -> pa.DataType:
    """The type that a user means: of CQL, ``decimal(20, 4)``, or as Arrow calls it.

    >>> type_named("decimal(20, 4)"), type_named("bigint"), type_named("timestamp[ns]")
    (Decimal128Type(decimal128(20, 4)), DataType(int64), TimestampType(timestamp[ns]))
    """
    if found := DECIMAL.fullmatch(text.strip()):
        digits, places = int(found[1]), int(found[2] or 0)
        if 1 <= digits <= MOST_DIGITS:
            return plain_type(pa.decimal256(digits, places))
    try:
        return ARROW[Type(text.strip().upper())]
    except ValueError:
        pass
    try:
        return plain_type(pa.type_for_alias(text.strip()))
    except ValueError as error:
        raise InputError(
            where="--type",
            expected="a type such as decimal(20,4), bigint, double, date or timestamp[ns]",
            found=text,
        ) from error


@dataclass(frozen=True)
class Rows:
    """The columns that files have."""

    schema: pa.Schema

    def of(self, path: Path) -> Iterator[tuple[pa.RecordBatch, int]]:
        """The rows of a file, a batch at a time, and how many beside them cannot be read."""
        if format_of_name(path) == "parquet":
            return ((batch, 0) for batch in self._of_parquet(path))
        return self._of_text(path)

    def _of_parquet(self, path: Path) -> Iterator[pa.RecordBatch]:
        with _open_parquet(path) as file:
            names = {name.strip().lower(): name for name in file.schema_arrow.names}
            wanted = [names.get(field.name.lower(), "") for field in self.schema]
            if "" in wanted:
                missing = self.schema.names[wanted.index("")]
                raise InputError(
                    where=str(path),
                    expected=f"a column {missing}, as in the first file",
                    found=", ".join(file.schema_arrow.names),
                )
            for batch in file.iter_batches(batch_size=ROWS.value, columns=wanted):
                columns = [
                    _cast(batch.column(name), field, path)
                    for name, field in zip(wanted, self.schema, strict=True)
                ]
                yield pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def _of_text(self, path: Path) -> Iterator[tuple[pa.RecordBatch, int]]:
        """Columns of other types than a script has are read as texts first."""
        declaration = replace(
            infer_declaration(path), schema=Schema(tuple(map(_field, self.schema)))
        )
        for parsed in read_file(path, declaration):
            columns, sound = [], np.ones(parsed.rows.num_rows, np.bool_)
            for texts, field in zip(parsed.rows.columns, self.schema, strict=True):
                column = _parse_texts(texts, field.type)
                columns.append(column)
                if column.null_count != texts.null_count:
                    lost = pc.and_(pc.is_null(column), pc.is_valid(texts))
                    sound &= ~lost.to_numpy(zero_copy_only=False)
            batch = pa.RecordBatch.from_arrays(columns, schema=self.schema)
            unreadable = len(parsed.rejected) + int((~sound).sum())
            yield batch if sound.all() else batch.filter(pa.array(sound)), unreadable


def rows_like(path: Path, told: Mapping[str, pa.DataType]) -> Rows:
    """Rows with the columns of this file, of its types or of those that are told."""
    if format_of_name(path) == "parquet":
        with _open_parquet(path) as file:
            found = file.schema_arrow
    else:
        found = arrow_schema(infer_declaration(path).schema)
    said = {name.lower(): kind for name, kind in told.items()}
    fields = [
        pa.field(n.strip(), said.pop(n.strip().lower(), plain_type(t)))
        for n, t in zip(found.names, found.types, strict=True)
    ]
    if said:
        raise InputError(
            where=str(path),
            expected=f"a column {next(iter(said))}, since --type names one",
            found=", ".join(found.names),
        )
    if format_of_name(path) == "json" and any(script_type(f.type) is None for f in fields):
        raise InputError(
            where="--type",
            expected="columns of csv or parquet files",
            found=f"{path}, whose numbers are floating point",
            remedy="write the file as Parquet with the types that are meant",
        )
    return Rows(pa.schema(fields))


def told_types(options: Sequence[str]) -> dict[str, pa.DataType]:
    """Types as ``--type`` says them, ``column=type`` each."""
    found = {}
    for option in options:
        name, equals, kind = option.partition("=")
        if not equals or not name.strip():
            raise InputError(
                where="--type", expected="column=type, as in price=decimal(20,4)", found=option
            )
        found[name.strip()] = type_named(kind)
    return found


def _open_parquet(path: Path) -> pq.ParquetFile:
    with explain_unreadable(path, "a readable csv, json or parquet file"):
        return pq.ParquetFile(path)


def _field(field: pa.Field) -> Field:
    return Field(field.name, script_type(field.type) or Type.STRING)


def _cast(column: pa.Array, field: pa.Field, path: Path) -> pa.Array:
    if column.type == field.type:
        return column
    try:
        return exactly(column, field.type, field.name).cast(field.type)
    except InputError as error:
        raise InputError(
            where=f"{path}, {error.where}",
            expected=error.expected,
            found=error.found,
            remedy="match files of different types separately, or set a type with --type",
        ) from error


def _parse_texts(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    """Texts as values of a type that no script has; NULL for those that say none."""
    if texts.type == kind:
        return texts
    trimmed = pc.utf8_trim_whitespace(texts)
    return readable(trimmed, lambda part: pc.cast(part, kind), kind)
