"""Rows of stored tuples that are copied column by column, each when it is first looked at.

A join finds many pairs of which an operator above keeps few, and decides so by few columns. Until
then a pair is two positions. What the positions lead to is a snapshot of the stores, which stays as
it is whatever the join goes on to do; so rows may be looked at late, but should not be kept as they
are: a snapshot may be all that holds a store's earlier memory.

A ``pa.RecordBatch`` has the methods of the same names, so that ``columns.evaluate`` reads either.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeAlias

import pyarrow as pa

from windrow.columns.arrays import Int64s


class Takes(Protocol):
    """A snapshot of a stored column."""

    def take(self, positions: Int64s) -> pa.Array: ...


LazyColumn: TypeAlias = tuple[int, Takes]
"""Which of the positions it is looked up at, and in what."""


class LazyRows:
    """See the module. Each of ``positions`` has one for every row."""

    def __init__(
        self,
        positions: Sequence[Int64s],
        columns: Sequence[LazyColumn],
        schema: pa.Schema,
        length: int,
    ) -> None:
        self.schema, self.num_rows = schema, length
        self._positions, self._columns = tuple(positions), tuple(columns)
        self._copied: dict[int, pa.Array] = {}

    def column(self, index: int) -> pa.Array:
        if index not in self._copied:
            of, store = self._columns[index]
            self._copied[index] = store.take(self._positions[of])
        return self._copied[index]

    def take(self, indices: Int64s) -> LazyRows:
        positions = [at[indices] for at in self._positions]
        return LazyRows(positions, self._columns, self.schema, len(indices))

    def slice(self, start: int, length: int) -> LazyRows:
        positions = [at[start : start + length] for at in self._positions]
        length = max(min(length, self.num_rows - start), 0)
        return LazyRows(positions, self._columns, self.schema, length)

    def select(self, columns: Sequence[int], schema: pa.Schema) -> LazyRows:
        """Some of the columns, which ``schema`` names."""
        made = LazyRows(self._positions, [self._columns[i] for i in columns], schema, self.num_rows)
        made._copied = {
            place: self._copied[i] for place, i in enumerate(columns) if i in self._copied
        }
        return made

    def arrays(self) -> list[pa.Array]:
        """All columns."""
        return [self.column(i) for i in range(len(self._columns))]
