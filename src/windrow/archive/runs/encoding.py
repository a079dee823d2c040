"""Which columns of a run are dictionary-encoded, and how wide their codes are.

Arrow runs are read where they are mapped, so they cannot be compressed; what repeats is written
once instead. Whether a column repeats is decided from the data when a day comes: a sample first,
then the whole column. What was decided is kept in the manifest and only ever widens (not encoded,
8, 16, 32 bits), so that runs written under one decision have one type and are put together
without a copy; a run written under an earlier one is converted as it is read.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.archive.format.layout import Layout
from windrow.archive.format.run_ref import narrowest, widest
from windrow.archive.runs.sorting import map_columns
from windrow.core.thresholds import Threshold

_SAMPLE = Threshold(16_384, least=1)
_ENOUGH = Threshold(1_024, least=1)


def encode(
    layout: Layout, table: pa.Table, before: Mapping[str, str]
) -> tuple[dict[str, str], pa.Table]:
    """Encodings from now on, given those before and the entries that have come; and these so."""
    columns = map_columns(
        lambda field: _codes(table.column(field.name), field.name, layout, before),
        layout.entry_schema,
        len(table),
    )
    chosen = {
        field.name: widest(narrowest(len(codes.dictionary)), before.get(field.name, "int8"))
        for field, codes in zip(layout.entry_schema, columns, strict=True)
        if codes is not None
    }
    for index, codes in enumerate(columns):
        if codes is not None:
            table = table.set_column(index, layout.entry_schema.names[index], codes)
    return chosen, encode_columns(table, layout.stored_schema(chosen))


def _codes(
    column: pa.ChunkedArray, name: str, layout: Layout, before: Mapping[str, str]
) -> pa.DictionaryArray | None:
    """A column encoded, if it was before or if it pays now."""
    known = name in before or name in layout.key  # keys are looked at all anyway
    if not (known and _hashable(column.type)) and not _repeats(column):
        return None
    codes = column.combine_chunks().dictionary_encode()
    codes = codes.combine_chunks() if isinstance(codes, pa.ChunkedArray) else codes
    pays = len(column) >= _ENOUGH.value and _pays(len(codes.dictionary), column)
    return codes if pays or name in before else None


def _repeats(column: pa.ChunkedArray) -> bool:
    if (
        len(column) < _ENOUGH.value
        or pa.types.is_boolean(column.type)
        or not _hashable(column.type)
    ):
        return False
    step = max(1, len(column) // _SAMPLE.value)
    sample = column.take(pa.array(np.arange(0, len(column), step))) if step > 1 else column
    return len(sample.unique()) <= 0.8 * len(sample)


def _hashable(kind: pa.DataType) -> bool:
    none = pa.array([], kind)
    try:
        none.dictionary_encode()
        pc.index_in(none, value_set=none)  # as a merge will
    except pa.ArrowNotImplementedError:
        return False
    return True


def _pays(distinct: int, column: pa.ChunkedArray) -> bool:
    rows, plain = len(column), column.nbytes
    codes = rows * {"int8": 1, "int16": 2, "int32": 4}[narrowest(distinct)]
    return bool(distinct * plain / rows + codes < 0.8 * plain)


def encode_columns(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """A table's columns in the types of a stored schema, dictionaries built where it has them."""
    columns = [_as(table.column(f.name), f.type) for f in schema]
    return pa.table(columns, schema=schema)


def _as(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    if column.type == kind:
        return column
    if not pa.types.is_dictionary(kind):
        return column.cast(kind)
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    if column.type == kind:
        return column
    chunks = [
        pa.DictionaryArray.from_arrays(c.indices.cast(kind.index_type), c.dictionary)
        for c in column.chunks
    ]
    return pa.chunked_array(chunks, kind)


def decode(table: pa.Table) -> pa.Table:
    """A table with its dictionary-encoded columns in plain types, which costs a copy of them.

    >>> decode(pa.table({"k": pa.array(["a", "b", "a"]).dictionary_encode()})).schema
    k: string
    """
    for i, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            table = table.set_column(i, field.name, table.column(i).cast(field.type.value_type))
    return table
