"""The rows of a key where they lie: an answer that nothing has been copied for.

They were found, and what they are read from was compared with its sums; they are had as Arrow
slices of the files, as a table in plain types that is the caller's own, or as Python tuples. The
files stay mapped as long as the answer is held.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from windrow.archive.format.kernel_use import Kernels
from windrow.archive.runs.encoding import decode

if TYPE_CHECKING:
    from windrow.archive.runs.probe_plan import ProbePlan

_kernels = Kernels("windrow.archive.runs.probe_kernels")
_SPAN = 3


class StoredRows:
    """What a plan has found: ``count`` spans of rows, and after them how many rows that are.

    ``len`` is the number of rows, unless some run has to be asked for them first.
    """

    __slots__ = ("_count", "_key", "_plan", "_spans")

    def __init__(self, plan: ProbePlan, spans: array[int], count: int, key: Any) -> None:
        self._plan, self._spans, self._count, self._key = plan, spans, count, key

    def __len__(self) -> int:
        if self._plan.complete:
            return self._spans[_SPAN * self._count]
        return sum(batch.num_rows for batch in self.batches())

    def pieces(self) -> Iterator[tuple[pa.RecordBatch, int, int]]:
        """Record batches as they are mapped, and the rows [start, stop) of each that count."""
        spans = self._spans
        for i in range(0, _SPAN * self._count, _SPAN):
            mapped = self._plan.mapped[spans[i]]
            if mapped is not None:
                yield mapped.batch, spans[i + 1], spans[i + 2]
            else:
                for batch in self._plan.batches(spans[i : i + _SPAN]):
                    yield batch, 0, batch.num_rows

    def batches(self) -> list[pa.RecordBatch]:
        """Slices of the files."""
        return self._plan.batches(self._spans[: _SPAN * self._count])

    def table(self) -> pa.Table:
        """A view in the types in which the rows are stored."""
        return pa.Table.from_batches(self.batches(), self._plan.schema)

    def plain(self) -> pa.Table:
        """A copy in plain types."""
        if not self._count:
            return self._plan.plain.empty_table()
        batch = self._plan.copy(self._spans[: _SPAN * self._count])
        if batch is None:
            return decode(self.table())
        return pa.Table.from_batches([batch], self._plan.plain)

    def rows(self) -> list[tuple[Any, ...]]:
        """Tuples of Python values: what ``plain().to_pylist()`` has, by columns' order."""
        plan = self._plan
        if not plan.complete:
            return rows_of(self.table())
        lines, count = plan.objects, self._spans[_SPAN * self._count]
        lists_at = lines.no_lists_at
        if lines.listed:
            table, lists = self.table(), array("q", bytes(8 * lines.columns))
            made = [table.column(i).to_pylist() for i in lines.listed]
            for i, values in zip(lines.listed, made, strict=True):
                lists[i] = id(values)
            lists_at = lists.buffer_info()[0]
        out: list[Any] = [None] * count
        done = _kernels.make_rows(
            lines.at, lines.columns, self._spans.buffer_info()[0], self._count, id(self._key),
            lists_at, id(out),
        )  # fmt: skip
        return out if done else rows_of(self.table())


class StoredTable:
    """The same of rows that no plan has found: several keys, ranges, Parquet."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __len__(self) -> int:
        return len(self._table)

    def pieces(self) -> Iterator[tuple[pa.RecordBatch, int, int]]:
        for batch in self.batches():
            yield batch, 0, batch.num_rows

    def batches(self) -> list[pa.RecordBatch]:
        batches: list[pa.RecordBatch] = self._table.to_batches()
        return batches

    def table(self) -> pa.Table:
        return self._table

    def plain(self) -> pa.Table:
        return decode(self._table)

    def rows(self) -> list[tuple[Any, ...]]:
        return rows_of(self._table)


def rows_of(table: pa.Table) -> list[tuple[Any, ...]]:
    """The rows of any table as tuples of Python values."""
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))
