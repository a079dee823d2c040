"""Columns of ARRAYs and STRUCTs: what is inside is a column of its own.

An ARRAY is where its values begin in the column of all values, and how many they are; a STRUCT has
a column for each field. Appending and fetching cost the values that they touch, as for plain ones.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import pyarrow as pa

from windrow.columns.arrays import Bools, Int64s, validity
from windrow.columns.byte_forms import is_bytes
from windrow.columns.growable import Growable
from windrow.columns.nested_arrays import list_array, list_lengths, stretch_positions, struct_array
from windrow.columns.plain_columns import BytesColumn, FixedColumn, MakeArray, Stretches


class ListColumn(Stretches):
    """ARRAYs; values of one behind those of the other, so positions of values are contiguous."""

    def __init__(self, kind: pa.DataType) -> None:
        self.items, self._next = column_store(kind.value_type), 0
        super().__init__(kind, self.items)

    def append(self, array: pa.Array) -> None:
        lengths, items = list_lengths(array), array.flatten()
        self.nulls.append(array, self.starts)
        self.starts.append(self._next + np.cumsum(lengths) - lengths)
        self.lengths.append(lengths)
        if len(items):
            self.items.append(items)
            self._next += len(items)

    def take(self, positions: Int64s) -> pa.Array:
        starts, lengths = self.starts.take(positions), self.lengths.take(positions)
        places = stretch_positions(starts, lengths)
        items = self.items.take(places) if len(places) else pa.array([], self.kind.value_type)
        return list_array(lengths, items, self.nulls.take(positions), self.kind)

    def lend(self) -> MakeArray:
        lengths, valid, items = self.lengths.lend(), self.nulls.lend(), self.items.lend()
        empty = not len(lengths) or not lengths.any()

        def array() -> pa.Array:
            inside = pa.array([], self.kind.value_type) if empty else items()
            return list_array(lengths, inside, valid, self.kind)

        return array


class StructColumn:
    """STRUCTs; of one that is NULL the fields are NULL too."""

    def __init__(self, kind: pa.DataType) -> None:
        self.kind = kind
        self.fields = [column_store(kind.field(i).type) for i in range(kind.num_fields)]
        self.valid = Growable(np.bool_)

    def append(self, array: pa.Array) -> None:
        valid = validity(array)
        if valid is None:
            self.valid.extend(len(array), True)
        else:
            self.valid.append(valid)
        for column, field in zip(self.fields, array.flatten(), strict=True):
            column.append(field)

    def take(self, positions: Int64s) -> pa.Array:
        fields = [column.take(positions) for column in self.fields]
        return struct_array(fields, self.valid.take(positions), self.kind)

    def lend(self) -> MakeArray:
        valid: Bools = self.valid.lend()
        fields = [column.lend() for column in self.fields]
        return lambda: struct_array([field() for field in fields], valid, self.kind)

    def drop_before(self, position: int) -> None:
        self.valid.drop_before(position)
        for column in self.fields:
            column.drop_before(position)

    def start_at(self, position: int) -> None:
        self.valid.clear(position)
        for column in self.fields:
            column.start_at(position)


StoredColumn: TypeAlias = FixedColumn | BytesColumn | ListColumn | StructColumn


def column_store(kind: pa.DataType) -> StoredColumn:
    """An empty column for values of a type."""
    if pa.types.is_list(kind):
        return ListColumn(kind)
    if pa.types.is_struct(kind):
        return StructColumn(kind)
    return BytesColumn(kind) if is_bytes(kind) else FixedColumn(kind)
