"""Columns that are stored: appended at the end, fetched by position, forgotten from the start.

Of ARRAYs and STRUCTs what is inside is a column of its own. An ARRAY is where its values begin in
the column of all values, and how many they are; a STRUCT has a column for each field. Appending and
fetching cost the values that they touch, as for plain ones.

A `RowStore` has rows as such columns.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.columns.arrays import (
    Bools,
    Int64s,
    fixed_array,
    numbers,
    validity,
)
from windrow.columns.byte_forms import byte_parts, from_bytes, is_bytes
from windrow.columns.byte_order import Ties
from windrow.columns.copied_texts import gather_stretches
from windrow.columns.delta import batch_of, empty_batch
from windrow.columns.growable import Growable
from windrow.columns.nested_arrays import list_array, list_lengths, stretch_positions, struct_array

MakeArray = Callable[[], pa.Array]
"""Makes an Arrow array over values that were lent, at any time and in any thread."""


class Nulls:
    """Which values of a column are not NULL; costs nothing until the first NULL comes."""

    def __init__(self) -> None:
        self.valid: Growable | None = None

    def append(self, array: pa.Array, rows: Growable) -> None:
        """Note the NULLs of ``array``, whose values are about to be appended to ``rows``."""
        valid = validity(array)
        if self.valid is None:
            if valid is None:
                return
            self.valid = Growable(np.bool_)
            self.valid.clear(rows.base)
            self.valid.extend(len(rows), True)
        if valid is None:
            self.valid.extend(len(array), True)
        else:
            self.valid.append(valid)

    def take(self, positions: Int64s) -> npt.NDArray[np.bool_] | None:
        return None if self.valid is None else self.valid.take(positions)

    def lend(self) -> npt.NDArray[np.bool_] | None:
        return None if self.valid is None else self.valid.lend()

    def snapshot(self) -> Nulls:
        made = Nulls()
        made.valid = None if self.valid is None else self.valid.snapshot()
        return made

    def drop_before(self, position: int) -> None:
        if self.valid is not None:
            self.valid.drop_before(position)


class FixedColumn:
    """Numbers, timestamps, dates and booleans; decimals of few digits."""

    def __init__(self, kind: pa.DataType) -> None:
        self.kind = kind
        if pa.types.is_date32(kind):
            dtype: Any = np.int32
        elif pa.types.is_timestamp(kind) or pa.types.is_decimal(kind):
            dtype = np.int64
        else:
            dtype = kind.to_pandas_dtype()
        self.values, self.nulls = Growable(dtype), Nulls()

    def append(self, array: pa.Array) -> None:
        self.nulls.append(array, self.values)
        self.values.append(numbers(array))

    def take(self, positions: Int64s) -> pa.Array:
        return fixed_array(self.values.take(positions), self.nulls.take(positions), self.kind)

    def snapshot(self) -> FixedColumn:
        made = copy(self)
        made.values, made.nulls = self.values.snapshot(), self.nulls.snapshot()
        return made

    def lend(self) -> MakeArray:
        values, valid = self.values.lend(), self.nulls.lend()
        return lambda: fixed_array(values, valid, self.kind)

    def drop_before(self, position: int) -> None:
        self.values.drop_before(position)
        self.nulls.drop_before(position)

    def start_at(self, position: int) -> None:
        self.values.clear(position)


class Droppable(Protocol):
    """What forgets all that is before a position."""

    def drop_before(self, position: int) -> None: ...


class Stretches:
    """Values that are stretches of something else, one behind the other: where each begins there
    (a logical position), and how long it is.
    """

    def __init__(self, kind: pa.DataType, inside: Droppable) -> None:
        self.kind, self._inside = kind, inside
        self.starts, self.lengths, self.nulls = Growable(np.int64), Growable(np.int64), Nulls()

    def copy_stretches(self) -> None:
        """Become a snapshot of what this is a copy of."""
        self.starts, self.lengths = self.starts.snapshot(), self.lengths.snapshot()
        self.nulls = self.nulls.snapshot()

    def drop_before(self, position: int) -> None:
        dropped = min(position - self.starts.base, len(self.starts))
        if dropped > 0:
            first, count = self.starts.view[dropped - 1], self.lengths.view[dropped - 1]
            self._inside.drop_before(int(first + count))
        self.starts.drop_before(position)
        self.lengths.drop_before(position)
        self.nulls.drop_before(position)

    def start_at(self, position: int) -> None:
        self.starts.clear(position)
        self.lengths.clear(position)


class BytesColumn(Stretches):
    """Strings, and what else is bytes (``byte_forms``): stretches of bytes."""

    def __init__(self, kind: pa.DataType) -> None:
        self.data = Growable(np.uint8)
        super().__init__(kind, self.data)

    def append(self, array: pa.Array) -> None:
        offsets, data = byte_parts(array)
        first = self.data.append(data[offsets[0] : offsets[-1]])
        self.nulls.append(array, self.starts)
        self.starts.append(offsets[:-1] - offsets[0] + first)
        self.lengths.append(np.diff(offsets))

    def snapshot(self) -> BytesColumn:
        made = copy(self)
        made.data = self.data.snapshot()
        made.copy_stretches()
        return made

    def cut(self, position: int) -> None:
        """Forget the values from ``position`` on; only of a column without NULLs."""
        at = max(position - self.starts.base, 0)
        if at < len(self.starts):
            self.data.cut(int(self.starts.view[at]))
            self.starts.cut(position)
            self.lengths.cut(position)

    def ties(self, largest: bool) -> Ties:
        """Where the bytes are, for kernels."""
        views = (self.starts.view, self.lengths.view, self.data.view)
        return (True, largest, *views, self.starts.base, self.data.base)

    def take(self, positions: Int64s) -> pa.Array:
        stretches, bases = (self.starts.view, self.lengths.view), (self.starts.base, self.data.base)
        nulls = self.nulls.take(positions)
        return gather_stretches(self.data.view, stretches, positions, bases, nulls, self.kind)

    def lend(self) -> MakeArray:
        starts, lengths, valid = self.starts.lend(), self.lengths.lend(), self.nulls.lend()
        data, base = self.data.lend(), self.data.base

        def array() -> pa.Array:
            """Strings lie one behind the other, so where they begin says where they end."""
            offsets: npt.NDArray[Any] = np.zeros(len(starts) + 1, np.int64)
            offsets[:-1] = starts - base
            offsets[-1] = offsets[-2] + lengths[-1] if len(starts) else 0
            small = offsets[-1] < 2**31
            offsets = offsets.astype(np.int32) if small else offsets
            return from_bytes(offsets, data, valid, self.kind)

        return array


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

    def snapshot(self) -> ListColumn:
        made = copy(self)
        made.items = self.items.snapshot()
        made.copy_stretches()
        return made

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

    def snapshot(self) -> StructColumn:
        made = copy(self)
        made.valid = self.valid.snapshot()
        made.fields = [column.snapshot() for column in self.fields]
        return made

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


class RowStore:
    """Rows of one schema by logical position; appending and fetching cost what they touch."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema, self._nothing = schema, empty_batch(schema)
        self.columns = [column_store(f.type) for f in schema]
        self._base = self._next = 0

    def __len__(self) -> int:
        return self._next - self._base

    @property
    def base(self) -> int:
        return self._base

    @property
    def next(self) -> int:
        return self._next

    def append(self, rows: pa.RecordBatch) -> int:
        """Add rows at the end; the position of the first."""
        first = self._next
        if not rows.num_rows:
            return first
        for column, array in zip(self.columns, rows.columns, strict=True):
            column.append(array)
        self._next += rows.num_rows
        return first

    def take(self, positions: Int64s) -> pa.RecordBatch:
        if not len(positions):
            return self._nothing
        arrays = [column.take(positions) for column in self.columns]
        return batch_of(arrays, self.schema, len(positions))

    def column(self, index: int, positions: Int64s) -> pa.Array:
        return self.columns[index].take(positions)

    def snapshot(self) -> list[StoredColumn]:
        """The columns as they are now, to be taken from at any time; nothing is copied."""
        return [column.snapshot() for column in self.columns]

    def lend(self) -> Callable[[], pa.RecordBatch]:
        """What makes a batch of all rows as they are now; of the values nothing is copied."""
        columns, count = [column.lend() for column in self.columns], len(self)
        names = self.schema.names

        def rows() -> pa.RecordBatch:
            if not columns:
                return batch_of([], self.schema, count)
            return pa.RecordBatch.from_arrays([array() for array in columns], names)

        return rows

    def start_at(self, position: int) -> None:
        """Let an empty store begin at ``position``."""
        self._base = self._next = position
        for column in self.columns:
            column.start_at(position)

    def drop_before(self, position: int) -> None:
        if position > self._base:
            self._base = min(position, self._next)
            for column in self.columns:
                column.drop_before(self._base)
