"""Several counts by group, of tuples that never leave: COUNT(*), and counts of some of the rows.

What is counted is a line of marks, one for each row. All lines of an interval are added up segment
by segment in one call.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from windrow.columns.arrays import Bools, Int64s
from windrow.columns.growable import fresh, grow_rows
from windrow.columns.kernels import flag_grid, grid_out, ints, kernel, void
from windrow.operators.aggregates.events import Events

Counts = tuple[Int64s, Int64s]
"""Before, per group that is touched, and after, per segment."""


@kernel(void, flag_grid, ints, ints, ints, ints, grid_out, grid_out, grid_out)
def _count_up(  # type: ignore[no-untyped-def]
    marks, position, last, group_of, groups, counts, before, after
):
    for k in range(len(marks)):
        i, total, group = 0, 0, -1
        for j in range(len(last)):
            if group_of[j] != group:
                group = group_of[j]
                total = counts[groups[group], k]
                before[k, group] = total
            while i <= last[j]:
                total += marks[k, position[i]]
                i += 1
            after[k, j] = total
            counts[groups[group], k] = total


class GroupCounters:
    """``width`` counts for each group."""

    def __init__(self, width: int) -> None:
        self.counts = fresh(0, width=width)

    def grow(self, size: int) -> None:
        self.counts = grow_rows(self.counts, size)

    def update(self, events: Events, marks: Bools) -> list[Counts]:
        """Count marked rows; a line of ``marks`` for each count, by the rows' positions."""
        width = self.counts.shape[1]
        before = np.empty((width, len(events.groups)), np.int64)
        after = np.empty((width, len(events.last)), np.int64)
        _count_up(
            marks, events.position, events.last, events.group_of, events.groups, self.counts,
            before, after,
        )  # fmt: skip
        return list(zip(before, after, strict=True))

    def dump(self, codes: Int64s) -> list[pa.Array]:
        return [pa.array(line) for line in np.ascontiguousarray(self.counts[codes].T)]

    def restore(self, codes: Int64s, columns: list[pa.Array]) -> None:
        for number, column in enumerate(columns):
            self.counts[codes, number] = column.to_numpy()
