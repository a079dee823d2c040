"""Summaries made by senders, so that groups travel between tasks and not rows.

Of the rows that a sender has at once there is one summary for each sub-window and group, with the
instant of the last of its rows. Whoever merges them (``windrow.operators.sliding_group_by``) has
the same sums as if it had got the rows: nobody looks into a sub-window before it is closed, and all
instants of a sub-window are before that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from windrow.columns.delta import Delta, batch_of
from windrow.columns.evaluate import evaluate
from windrow.columns.interner import Interner
from windrow.operators.aggregates.group_summaries import GroupSummaries
from windrow.operators.sliding_group_by import Slot, Summarised, seen_in_window
from windrow.plan.expressions import Expression


class SummariseRows:
    """Rows to summaries: the keys, and then the integers of a summary. ``slots`` makes new ones."""

    def __init__(
        self,
        length: int,
        slide: int,
        keys: Sequence[Expression],
        arguments: Sequence[Expression],
        slots: Callable[[], Sequence[Slot]],
        schema: pa.Schema,
    ) -> None:
        self.length, self.slide, self.slots, self.schema = length, slide, slots, schema
        self.inputs, self.width = (*keys, *arguments), len(keys)

    def summarise(self, delta: Delta) -> Delta:
        """The summaries of rows that stand in any order; in the order of time."""
        delta, comes, leaves = seen_in_window(delta.sorted(), self.length, self.slide)
        if not len(delta):
            return Delta.empty(self.schema)
        columns = [evaluate(e, delta.rows) for e in self.inputs]
        groups = Interner([column.type for column in columns[: self.width]])
        codes = groups.codes(columns[: self.width], len(delta))
        slots = [slot for slot in self.slots() if isinstance(slot, Summarised)]
        summaries = GroupSummaries([(slot.summary, slot.argument) for slot in slots])
        positions = summaries.fold(codes, comes, leaves, columns[self.width :])
        table = summaries.store.table.view
        ts = np.empty(len(table), np.int64)
        ts[positions] = delta.ts  # the last one of each summary wins
        keys = groups.rows(summaries.held_groups())
        parts = [pa.array(np.ascontiguousarray(column)) for column in table.T]
        rows = batch_of([*keys, *parts], self.schema, len(table))
        return Delta.insertions(ts, rows).sorted()
