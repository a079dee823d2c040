"""Rows of many queries, told apart by the query's number; light, since sinks need little else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from windrow.columns.arrays import Int64s
from windrow.columns.delta import empty_batch


class OwnColumns(NamedTuple):
    """Which columns of the common rows are a query's own, and what it calls them."""

    places: tuple[int, ...]
    schema: pa.Schema

    def of(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        if len(self.places) == rows.num_columns and rows.schema.equals(self.schema):
            return rows
        return pa.RecordBatch.from_arrays([rows.column(i) for i in self.places], schema=self.schema)


class ByMember:
    """Rows and the queries that they belong to, put in order when they are first asked for.

    ``own`` says which columns are whose, of those that do not have all of them.
    """

    def __init__(
        self,
        member: Int64s,
        rows: pa.RecordBatch,
        own: Mapping[int, OwnColumns] | None = None,
    ) -> None:
        self._member, self._rows, self._own = member, rows, own

    @cached_property
    def _ordered(self) -> tuple[Int64s, Int64s, pa.RecordBatch]:
        """Which queries have rows, where those of each begin, and the rows; ties as they stood."""
        order = np.argsort(self._member, kind="stable")
        members, starts = np.unique(self._member[order], return_index=True)
        ends = np.append(starts, len(order)).astype(np.int64)
        rows = self._rows.take(pa.array(order)) if self._rows.num_columns else self._rows
        self._rows = rows.slice(0, 0)
        return members, ends, rows

    def part(self, member: int) -> pa.RecordBatch:
        """The rows of one query."""
        members, starts, rows = self._ordered
        at = int(np.searchsorted(members, member))
        if at == len(members) or members[at] != member:
            own = None if self._own is None else self._own.get(member)
            return rows.slice(0, 0) if own is None else empty_batch(own.schema)
        return self._own_columns(member, rows.slice(starts[at], starts[at + 1] - starts[at]))

    def _own_columns(self, member: int, rows: pa.RecordBatch) -> pa.RecordBatch:
        own = None if self._own is None else self._own.get(member)
        return rows if own is None else own.of(rows)

    def parts(self) -> Iterator[tuple[int, pa.RecordBatch]]:
        """All queries that have rows, with them."""
        members, starts, rows = self._ordered
        for member, (start, end) in zip(members, pairwise(starts), strict=True):
            yield int(member), self._own_columns(int(member), rows.slice(start, end - start))


class OfOne:
    """Rows of a query that runs alone, in the form of those of many."""

    def __init__(self, rows: pa.RecordBatch) -> None:
        self._rows = rows

    def part(self, member: int) -> pa.RecordBatch:
        """All of them if it is the one; others may have joined it since."""
        return self._rows if member == 0 else self._rows.slice(0, 0)

    def parts(self) -> Iterator[tuple[int, pa.RecordBatch]]:
        yield 0, self._rows
