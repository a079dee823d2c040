"""Summaries made by senders, so that groups travel between tasks and not rows.

Of the rows that a sender has at once there is one summary for each sub-window and group, with the
instant of the last of its rows. Whoever merges them (``windrow.operators.sliding_group_by``) has
the same sums as if it had got the rows: nobody looks into a sub-window before it is closed, and all
instants of a sub-window are before that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.columns.arrays import Int64s
from windrow.columns.delta import Delta, batch_of, concat
from windrow.columns.evaluate import SelectionMasks, evaluate
from windrow.columns.interner import Interner
from windrow.operators.aggregates.group_summaries import GroupSummaries
from windrow.operators.aggregates.value_counts import ValueCounts
from windrow.operators.sliding_group_by import Slot, Summarised
from windrow.operators.state.predicate_store import COUNTERS, PredicateStore
from windrow.operators.sub_window_clocks import seen_in_window
from windrow.operators.summary_bundles import SummaryBundle, Wanted, bundles_of
from windrow.plan.expressions import Expression

Groups = Callable[[pa.RecordBatch], npt.NDArray[np.bool_]]
"""Says of groups, given as rows of their keys, which it wants."""


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

    def summarise(self, delta: Delta, mine: Groups | None = None) -> Delta:
        """The summaries of rows that stand in any order, of ``mine`` only; in the order of time.

        All rows are evaluated nevertheless, so that everybody counts the same.
        """
        delta, comes, leaves = seen_in_window(delta.sorted(), self.length, self.slide)
        if not len(delta):
            return Delta.empty(self.schema)
        columns = [evaluate(e, delta.rows) for e in self.inputs]
        groups = Interner([column.type for column in columns[: self.width]])
        codes = groups.codes(columns[: self.width], len(delta))
        ts = delta.ts
        if mine is not None:
            rows = np.flatnonzero(_groups_among(groups, mine)[codes])
            codes, ts, comes, leaves = codes[rows], ts[rows], comes[rows], leaves[rows]
            columns = [column.take(pa.array(rows)) for column in columns]
        slots = [slot for slot in self.slots() if isinstance(slot, Summarised)]
        summaries = GroupSummaries([(slot.summary, slot.argument) for slot in slots])
        positions = summaries.fold(codes, comes, leaves, columns[self.width :])
        table = summaries.store.table.view
        last = np.empty(len(table), np.int64)
        last[positions] = ts  # the last one of each summary wins
        keys = groups.rows(summaries.held_groups())
        parts = [pa.array(np.ascontiguousarray(column)) for column in table.T]
        rows = batch_of([*keys, *parts], self.schema, len(table))
        return Delta.insertions(last, rows).sorted()


class SummariseForMany:
    """Rows to summaries for queries that share synopses: the keys, the number of the store, and the
    integers of its summary, zeros behind them. ``stores`` makes new ones.

    A counter of a value is a row too: how often there is the value, and the value in the column of
    its argument, which are the last ones. The number of the store is raised by ``COUNTERS``, once
    for the first of the store's arguments, twice for the second, and so on.
    """

    def __init__(
        self,
        keys: Sequence[Expression],
        arguments: Sequence[Expression],
        predicates: Sequence[Expression | None],
        stores: Callable[[], Sequence[PredicateStore]],
        counted: Sequence[int],
        schema: pa.Schema,
    ) -> None:
        self.keys, self.arguments = tuple(keys), tuple(arguments)
        self.counted, self.stores, self.schema = tuple(counted), stores, schema
        self._masks = SelectionMasks(predicates)

    def summarise(self, delta: Delta, mine: Groups | None = None) -> Delta:
        """The summaries of rows that stand in any order, of ``mine`` only; in the order of time.

        All rows are evaluated nevertheless, so that everybody counts the same.
        """
        delta = delta.sorted()
        if not len(delta):
            return Delta.empty(self.schema)
        keys = [evaluate(key, delta.rows) for key in self.keys]
        groups = Interner([key.type for key in keys])
        codes = groups.codes(keys, len(delta))
        values = [evaluate(argument, delta.rows) for argument in self.arguments]
        wanted = self._masks.evaluate(delta.rows)
        ts = delta.ts
        if mine is not None:
            rows = np.flatnonzero(_groups_among(groups, mine)[codes])
            codes, ts, wanted = codes[rows], ts[rows], wanted[:, rows]
            values = [value.take(pa.array(rows)) for value in values]
        parts = [
            self._rows(part.store, groups.rows(part.group), part.last, part.table)
            for bundle in self._bundles
            for part in bundle.summarise(codes, ts, values, wanted, len(groups))
        ]
        if self.counted:
            parts += self._counters(codes, ts, values, wanted, groups)
        return concat(parts, self.schema)

    @cached_property
    def _bundles(self) -> list[SummaryBundle]:
        return bundles_of(self.stores(), self._behind - len(self.keys) - 1)

    @property
    def _behind(self) -> int:
        """Where the columns of counted values begin."""
        return len(self.schema) - len(self.counted)

    def _counters(
        self,
        codes: Int64s,
        ts: Int64s,
        values: Sequence[pa.Array],
        wanted: Wanted,
        groups: Interner,
    ) -> Iterator[Delta]:
        """The counters of each store that has some."""
        stores = self.stores()
        for number, store in enumerate(stores):
            rows = np.flatnonzero(wanted[number]) if store.by_value else ()
            if not len(rows):
                continue
            own = [value.take(pa.array(rows)) for value in values]
            counted = store.fold_values(codes[rows], ts[rows], own)
            for place, (cells, at) in enumerate(counted.items(), 1):
                counter = store.by_value[cells]
                assert isinstance(counter, ValueCounts)  # whatever becomes of them where they go
                table = counter.store.table.view
                last = np.empty(len(table), np.int64)
                last[at] = ts[rows]  # the last one of each counter wins
                which = np.full(len(table), number + place * COUNTERS)
                keys = groups.rows(counter.groups.view)
                found = counter.values.column(0, np.arange(len(counter)))
                yield self._rows(which, keys, last, table, {cells[1]: found})

    def _rows(
        self,
        which: Int64s,
        keys: Sequence[pa.Array],
        last: Int64s,
        table: Int64s,
        values: Mapping[int, pa.Array] = MappingProxyType({}),
    ) -> Delta:
        columns = [pa.array(np.ascontiguousarray(column)) for column in table.T]
        zeros = pa.array(np.zeros(len(table), np.int64))
        columns += [zeros] * (self._behind - len(self.keys) - 1 - len(columns))
        for argument, kind in zip(self.counted, self.schema.types[self._behind :], strict=True):
            columns.append(values.get(argument, pa.nulls(len(table), kind)))
        rows = batch_of([*keys, pa.array(which), *columns], self.schema, len(table))
        return Delta.insertions(last, rows).sorted()


def _groups_among(groups: Interner, mine: Groups) -> npt.NDArray[np.bool_]:
    """Which of the groups so far are ``mine``, by code."""
    keys = groups.rows(np.arange(len(groups)))
    return mine(pa.RecordBatch.from_arrays(keys, [str(i) for i in range(len(keys))]))
