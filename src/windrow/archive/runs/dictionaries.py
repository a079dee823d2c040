"""The dictionaries of several runs as one.

Only values that count are in it: a run whose entries all count has no others, and of the rest
the codes are looked at. So what has expired does not live on in dictionaries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from windrow.archive.format.code_widths import narrowest, widest
from windrow.archive.runs.run import ALL, Only, Run
from windrow.columns.arrays import Int64s

Inputs = Sequence[tuple[Run, Only]]


@dataclass(frozen=True)
class Values:
    """The merged dictionary of a column, and each input's codes in it (None: it has no codes)."""

    values: pa.Array
    codes: tuple[Int64s | None, ...]

    @classmethod
    def of(cls, name: str, inputs: Inputs) -> Values:
        found = [_dictionary(run, name, only) for run, only in inputs]
        values = pa.concat_arrays([used for used, _ in found]).unique().drop_null()
        codes = tuple(
            None
            if known is None
            else pc.fill_null(pc.index_in(known, value_set=values), -1).cast(pa.int64()).to_numpy()
            for _, known in found
        )
        return cls(values, codes)

    def width(self, before: str) -> str:
        return widest(before, narrowest(len(self.values)))

    def encode(self, column: pa.ChunkedArray, source: int, kind: pa.DataType) -> pa.Array:
        codes = self.codes[source]
        if codes is None:
            indices = pc.index_in(column, value_set=self.values).combine_chunks()
        else:
            own = pa.chunked_array([c.indices for c in column.chunks], column.type.index_type)
            missing = None
            if own.null_count:
                missing = own.is_null().to_numpy()
                own = own.fill_null(0)
            indices = pa.array(codes[own.to_numpy()], mask=missing)
        if isinstance(indices, pa.ChunkedArray):
            indices = pa.concat_arrays(indices.chunks)
        return pa.DictionaryArray.from_arrays(indices.cast(kind.index_type), self.values)


def _dictionary(run: Run, name: str, only: Only) -> tuple[pa.Array, pa.Array | None]:
    """The values of a column that count, and all values its codes stand for, if it has codes."""
    stored = run.entries.plain(0, 1).schema.field(name).type
    if not pa.types.is_dictionary(stored):
        schema = pa.schema([pa.field(name, stored)])
        column = _read_column(run, schema, only).column(0)
        return column.unique(), None
    known = run.entries.plain(0, 1).column(name).chunk(0).dictionary
    if only is ALL:
        return known, known
    used = _read_column(run, pa.schema([pa.field(name, stored)]), only).column(0)
    codes = pa.chunked_array([c.indices for c in used.chunks], stored.index_type)
    return known.take(codes.unique().drop_null()), known


def _read_column(run: Run, schema: pa.Schema, only: Only) -> pa.Table:
    return pa.Table.from_batches(run.entries.rows(0, run.ref.rows, schema, only), schema)
