"""Summaries made by senders, so that groups travel between tasks and not rows.

Of the rows that a sender has at once there is one summary for each sub-window and group, with the
instant of the last of its rows. Whoever merges them (``windrow.operators.sliding_group_by``) has
the same sums as if it had got the rows: nobody looks into a sub-window before it is closed, and all
instants of a sub-window are before that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np
import pyarrow as pa

from windrow.columns.arrays import Int64s
from windrow.columns.delta import Delta, batch_of, concat
from windrow.columns.evaluate import evaluate, selection_mask
from windrow.columns.interner import Interner
from windrow.operators.aggregates.group_summaries import GroupSummaries
from windrow.operators.sliding_group_by import Slot, Summarised
from windrow.operators.state.predicate_store import PredicateStore
from windrow.operators.sub_window_clocks import seen_in_window
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


class SummariseForMany:
    """Rows to summaries for queries that share synopses: the keys, the number of the store, and the
    integers of its summary, zeros behind them. ``stores`` makes new ones.

    A counter of a value is a row too: how often there is the value, and the value in the column of
    its argument, which are the last ones. The number of the store is raised by that of all stores,
    once for the first of the store's arguments, twice for the second, and so on.
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
        self.counted = tuple(counted)
        self.predicates, self.stores, self.schema = tuple(predicates), stores, schema

    def summarise(self, delta: Delta) -> Delta:
        """The summaries of rows that stand in any order; in the order of time."""
        delta = delta.sorted()
        if not len(delta):
            return Delta.empty(self.schema)
        keys = [evaluate(key, delta.rows) for key in self.keys]
        groups = Interner([key.type for key in keys])
        codes = groups.codes(keys, len(delta))
        values = [evaluate(argument, delta.rows) for argument in self.arguments]
        parts = []
        for number, (predicate, store) in enumerate(
            zip(self.predicates, self.stores(), strict=True)
        ):
            rows = np.arange(len(delta))
            if predicate is not None:
                rows = np.flatnonzero(selection_mask(predicate, delta.rows))
            if not len(rows):
                continue
            chosen = pa.array(rows)
            ts, own = delta.ts[rows], [v.take(chosen) for v in values]
            positions, counted = store.fold(codes[rows], ts, own)
            keys_of = groups.rows(store.held_groups())
            table = store.summaries.store.table.view
            parts.append(self._rows(number, keys_of, table, positions, ts))
            for place, (argument, at) in enumerate(counted.items(), 1):
                counter = store.counters[argument]
                keys_of = groups.rows(counter.groups.view)
                found = counter.values.column(0, np.arange(len(counter)))
                which, values_of = number + place * len(self.predicates), {argument: found}
                table = counter.store.table.view
                parts.append(self._rows(which, keys_of, table, at, ts, values_of))
        return concat(parts, self.schema)

    def _rows(
        self,
        number: int,
        keys: Sequence[pa.Array],
        table: Int64s,
        positions: Int64s,
        ts: Int64s,
        values: Mapping[int, pa.Array] = MappingProxyType({}),
    ) -> Delta:
        last = np.empty(len(table), np.int64)
        last[positions] = ts  # the last one of each summary wins
        columns = [pa.array(np.ascontiguousarray(column)) for column in table.T]
        zeros = pa.array(np.zeros(len(table), np.int64))
        behind = len(self.schema) - len(self.counted)
        columns += [zeros] * (behind - len(self.keys) - 1 - len(columns))
        for argument, kind in zip(self.counted, self.schema.types[behind:], strict=True):
            columns.append(values.get(argument, pa.nulls(len(table), kind)))
        which = pa.array(np.full(len(table), number, np.int64))
        rows = batch_of([*keys, which, *columns], self.schema, len(table))
        return Delta.insertions(last, rows).sorted()
