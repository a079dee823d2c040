"""What an entry looks like: the record's columns, the search key, and its stamps.

An *entry* is a record as the index holds it (Shivakumar, Garcia-Molina 1997, 2). Each entry is
stamped with its day, ``_day``; if records have lifetimes of their own, also with the first instant
at which it is no longer valid, ``_exp``. Entries with one key form a *bucket*; they stand in it in
the order of ``_exp`` if there is one, of ``_day`` otherwise, so that the live ones are next to each
other.

A key is never NULL to a probe: entries whose key is (or contains) NULL are only found by scans.
All NaNs are one key, above every number; 0.0 and -0.0 are one key.

A record whose search field is a list is one entry, found under each value of the list that is not
NULL. Such entries stand in the order in which they came: a directory says for each key in which
rows its records are. In archives of format version 1 (``each_value``) such a record has an entry
for each value, which stands in the place of the list, and one without a key if there is none.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.archive.errors import ArchiveError
from windrow.tables.fit import is_list_view, lists_of_views

DAY, EXPIRY = "_day", "_exp"
DAY_TYPE = pa.dictionary(pa.int16(), pa.int32())
MAX_DAYS = 30_000
_WHOLE = "whole"
_INDEX = {"int8": pa.int8(), "int16": pa.int16(), "int32": pa.int32()}


@dataclass(frozen=True)
class Layout:
    """The columns of an archive's entries; ``lifetimes`` says whether they carry an expiry, and
    ``each_value`` that a record has an entry for each value of a list in its key.
    """

    schema: pa.Schema
    key: tuple[str, ...]
    lifetimes: bool = False
    each_value: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "schema", _plain(self.schema, self.key))
        for stamp in (DAY, EXPIRY):
            if stamp in self.schema.names:
                raise ArchiveError(
                    where=f"column {stamp}",
                    expected="a name that the archive does not use itself",
                    found=stamp,
                    remedy="rename the column",
                )
        if not self.key or len(set(self.key)) != len(self.key):
            raise ArchiveError(
                where="key",
                expected="one or more different columns",
                found=", ".join(self.key) or "none",
            )
        if len(set(self.schema.names)) != len(self.schema.names):
            raise ArchiveError(
                where="schema",
                expected="column names that are all different",
                found=", ".join(self.schema.names),
                remedy="rename one of the columns",
            )
        lists = 0
        for name in self.key:
            if name not in self.schema.names:
                raise ArchiveError(
                    where="key",
                    expected=f"one of the columns {', '.join(self.schema.names)}",
                    found=name,
                )
            kind = self.schema.field(name).type
            if _is_list(kind):
                lists, kind = lists + 1, kind.value_type
            if not _sortable(kind):
                raise ArchiveError(
                    where=f"key column {name}",
                    expected="numbers, decimals, strings, bytes, booleans, dates, times or "
                    "durations, or lists of one of these",
                    found=str(kind),
                    remedy="convert the column, or choose another key",
                )
        object.__setattr__(self, "each_value", self.each_value and lists > 0)
        if lists > 1:
            raise ArchiveError(
                where="key",
                expected="at most one list among its columns",
                found=f"{lists} lists",
                remedy="choose one of them",
            )

    def require_names(self) -> None:
        """Refuse names for a new archive that SQL, which is blind to case, would mix up."""
        known = {DAY: DAY, EXPIRY: EXPIRY}
        for name in self.schema.names:
            other = known.setdefault(name.lower(), name)
            if other != name:
                raise ArchiveError(
                    where=f"column {name}",
                    expected=f"a name that differs from {other} by more than case",
                    found=name,
                    remedy="rename one of them: SQL ignores case",
                )

    @property
    def order(self) -> str:
        """The stamp by which the entries of a bucket are ordered."""
        return EXPIRY if self.lifetimes else DAY

    @cached_property
    def list_key(self) -> str | None:
        """The column of the key that is a list, if there is one and records are kept whole."""
        lists = [name for name in self.key if _is_list(self.schema.field(name).type)]
        return lists[0] if lists and not self.each_value else None

    @cached_property
    def key_types(self) -> tuple[pa.DataType, ...]:
        """The types of keys, column by column: of a list the type of its values."""
        return tuple(_value_type(self.schema.field(name).type) for name in self.key)

    @cached_property
    def entry_schema(self) -> pa.Schema:
        """The columns of an entry without its stamps."""
        values = self.key if self.each_value else ()
        return pa.schema(
            [(f.name, _value_type(f.type) if f.name in values else f.type) for f in self.schema]
        )

    @cached_property
    def stamps(self) -> tuple[pa.Field, ...]:
        day = pa.field(DAY, DAY_TYPE)
        return (day, pa.field(EXPIRY, pa.int64())) if self.lifetimes else (day,)

    def stored_schema(self, encodings: Mapping[str, str]) -> pa.Schema:
        """The columns as an Arrow run has them: those in ``encodings`` are dictionary-encoded."""
        fields = [
            pa.field(f.name, pa.dictionary(_INDEX[encodings[f.name]], f.type))
            if f.name in encodings
            else f
            for f in self.entry_schema
        ]
        return pa.schema([*fields, *self.stamps])

    def reader_schema(self, encodings: Mapping[str, str]) -> pa.Schema:
        """The columns as readers are given them, and as Parquet has them: the day is a number."""
        fields = list(self.stored_schema(encodings))
        place = len(self.entry_schema)
        return pa.schema([*fields[:place], pa.field(DAY, pa.int32()), *fields[place + 1 :]])

    def entries(self, records: pa.Table, day: int, expiries: pa.Array | None = None) -> pa.Table:
        """Records as entries of one day, stamped; in the order given."""
        table = cast_to_schema(records, self.schema)
        for name in self.key:
            if self.each_value and _is_list(table.schema.field(name).type):
                table, expiries = _each_value(table, name, expiries)
            if pa.types.is_floating(table.schema.field(name).type):
                table = table.set_column(
                    table.column_names.index(name), name, one_of_each(table.column(name))
                )
        stamp = pa.DictionaryArray.from_arrays(
            pa.array(np.zeros(len(table), np.int16)), pa.array([day], pa.int32())
        )
        table = table.append_column(self.stamps[0], stamp)
        if self.lifetimes:
            if expiries is None or expiries.null_count:
                raise ArchiveError(
                    where="expiries",
                    expected="an expiry for each record",
                    found="none" if expiries is None else f"{expiries.null_count} NULLs",
                    remedy="give each record an expiry, or leave it out",
                )
            table = table.append_column(self.stamps[1], expiries.cast(pa.int64()))
        return table.combine_chunks()

    def to_json(self) -> dict[str, Any]:
        """As the manifest has it: readable, and the exact schema beside it as Arrow writes it."""
        return {
            "columns": {f.name: str(f.type) for f in self.schema},
            "schema": base64.b64encode(self.schema.serialize().to_pybytes()).decode(),
            "key": list(self.key),
            "lifetimes": self.lifetimes,
            **({} if self.list_key is None else {"lists": _WHOLE}),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Layout:
        schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(value["schema"])))
        each = value.get("lists") != _WHOLE
        return cls(schema, tuple(value["key"]), bool(value["lifetimes"]), each_value=each)


def _plain(schema: pa.Schema, key: tuple[str, ...]) -> pa.Schema:
    """Names and types only: how values are encoded is the archive's own business."""
    return pa.schema(
        [(f.name, _plain_key(f.type) if f.name in key else _plain_type(f.type)) for f in schema]
    )


def _plain_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(kind):
        return _plain_type(kind.value_type)
    if pa.types.is_string_view(kind):
        return pa.string()
    return pa.binary() if pa.types.is_binary_view(kind) else kind


def _plain_key(kind: pa.DataType) -> pa.DataType:
    """The values of a list in the key are the keys, so it does not matter how it holds them."""
    types = pa.types
    plain = _plain_type(kind)
    if types.is_fixed_size_list(plain):
        return pa.list_(_plain_values(plain), plain.list_size)
    if types.is_list(plain) or types.is_list_view(plain):
        return pa.list_(_plain_values(plain))
    if types.is_large_list(plain) or types.is_large_list_view(plain):
        return pa.large_list(_plain_values(plain))
    return plain


def _plain_values(kind: pa.DataType) -> pa.Field:
    return kind.value_field.with_type(_plain_type(kind.value_type))


def _is_list(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def _value_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if _is_list(kind) else kind


def _sortable(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(
        types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_decimal(kind)
        or types.is_boolean(kind)
        or types.is_string(kind)
        or types.is_large_string(kind)
        or types.is_binary(kind)
        or types.is_large_binary(kind)
        or types.is_fixed_size_binary(kind)
        or (types.is_temporal(kind) and not types.is_interval(kind))
    )


def one_of_each(column: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray | pa.Array:
    """Floats with one zero and one NaN."""
    if pa.types.is_float16(column.type):  # with which Arrow does not calculate
        return one_of_each(column.cast(pa.float32())).cast(column.type)
    nan = pa.scalar(math.nan, column.type)
    return pc.if_else(pc.is_nan(column), nan, pc.add(column, pa.scalar(0, column.type)))


def one_array(column: pa.ChunkedArray) -> pa.Array:
    """The values of a column that is not too long for one array."""
    found = column.combine_chunks()
    return found if isinstance(found, pa.Array) else pa.concat_arrays(found.chunks)


def _each_value(
    table: pa.Table, name: str, expiries: pa.Array | None
) -> tuple[pa.Table, pa.Array | None]:
    """A row for each value of a list column, the rest of the row repeated; without values, NULL."""
    lists = one_array(table.column(name))
    lengths = np.asarray(pc.fill_null(pc.list_value_length(lists), 0))
    parents = np.repeat(np.arange(len(lists)), np.maximum(lengths, 1))
    has_none = np.repeat(lengths == 0, np.maximum(lengths, 1))
    places = pa.array(np.cumsum(~has_none) - 1, mask=has_none)
    repeated = table.take(pa.array(parents))
    index = table.column_names.index(name)
    repeated = repeated.set_column(index, name, pc.list_flatten(lists).take(places))
    return repeated, None if expiries is None else expiries.take(pa.array(parents))


def cast_to_schema(data: pa.Table | pa.RecordBatch, schema: pa.Schema, *others: str) -> pa.Table:
    """The columns of a schema in its types, and some others in their own."""
    table = pa.Table.from_batches([data]) if isinstance(data, pa.RecordBatch) else data
    wanted = [*schema.names, *others]
    missing = [name for name in wanted if table.column_names.count(name) != 1]
    if missing:
        raise ArchiveError(
            where="data",
            expected=f"the columns {', '.join(wanted)}, each once",
            found=f"no {', '.join(missing)}"
            if not set(missing) & set(table.column_names)
            else f"the columns {', '.join(table.column_names)}",
        )
    columns = [_cast(table.column(field.name), field) for field in schema]
    rest = table.select(list(others))
    return pa.table([*columns, *rest.columns], schema=pa.schema([*schema, *rest.schema]))


def _cast(column: pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray:
    if column.type.equals(field.type):
        return column
    if is_list_view(column.type):
        lists = [lists_of_views(chunk) for chunk in column.chunks]
        column = pa.chunked_array(lists, None if lists else field.type)
    try:
        return column.cast(field.type)
    except (pa.ArrowException, ValueError) as error:
        raise ArchiveError(
            where=f"data, column {field.name}",
            expected=f"values of the type {field.type}",
            found=f"{column.type}: {str(error).splitlines()[0]}",
            remedy="convert the column first",
        ) from error
