"""Summaries made by senders, so that groups travel between tasks and not rows.

Of the rows that a sender has at once there is one summary for each sub-window and group, with the
instant of the last of its rows. Whoever merges them (``windrow.operators.sliding_group_by``) has
the same sums as if it had got the rows: nobody looks into a sub-window before it is closed, and all
instants of a sub-window are before that.

Where many stores want summaries, a row is looked at once and not by every store. Stores with
sub-windows of one length are a *bundle*. Rows that the same stores of a bundle want are of one
kind. They are folded by sub-window, group and kind into summaries of all that any store keeps, and
those are merged for each store that wants their kind; a store's own columns are chosen at the end.
What comes out is what every store would have made of its rows.

Cost of that: one fold of the rows for each bundle, and then a merge of each kind and group for each
store that wants it. Nothing is called for each store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from windrow.columns.arrays import Int64s
from windrow.columns.delta import Delta, batch_of, concat
from windrow.columns.evaluate import evaluate
from windrow.columns.interner import Interner, IntTable
from windrow.core.thresholds import Threshold
from windrow.core.time import BEGINNING
from windrow.operators.aggregates.group_summaries import GroupSummaries
from windrow.operators.aggregates.long_extreme_summaries import LongExtremeSummary
from windrow.operators.aggregates.summaries import Summary
from windrow.operators.aggregates.value_counts import ValueCounts
from windrow.operators.row_selections import RowSelections, SelectedRows, Wanted
from windrow.operators.sliding_group_by import Slot, Summarised
from windrow.operators.snap import round_up
from windrow.operators.state.predicate_store import COUNTERS, PredicateStore
from windrow.operators.sub_window_clocks import seen_in_window
from windrow.plan.expressions import Expression

LongExtreme = tuple[bool, int]
"""The greatest (True) or the least of an argument, by number."""
Beside = int | LongExtreme
"""What has a column behind the summaries: an argument whose values are counted, or an extreme."""
Groups = Callable[[pa.RecordBatch], npt.NDArray[np.bool_]]
"""Says of groups, given as rows of their keys, which it wants."""


class SummariseRows:
    """Rows to summaries: the keys, and then the integers of a summary and the values of its long
    aggregates. ``slots`` makes new ones.
    """

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
        table, long = summaries.for_others()
        last = np.empty(len(table), np.int64)
        last[positions] = ts  # the last one of each summary wins
        keys = groups.rows(summaries.held_groups())
        parts = [pa.array(np.ascontiguousarray(column)) for column in table.T]
        rows = batch_of([*keys, *parts, *long], self.schema, len(table))
        return Delta.insertions(last, rows).sorted()


class SummariseForMany:
    """Rows to summaries for queries that share synopses: the keys, the number of the store, and the
    integers of its summary, zeros behind them. ``stores`` makes new ones.

    A counter of a value is a row too: how often there is the value, and the value in the column of
    its argument, behind the summaries. The number of the store is raised by ``COUNTERS``, once
    for the first of the store's arguments, twice for the second, and so on. The last columns are
    those of ``long`` extremes.
    """

    def __init__(
        self,
        keys: Sequence[Expression],
        arguments: Sequence[Expression],
        predicates: Sequence[Expression | None],
        stores: Callable[[], Sequence[PredicateStore]],
        counted: Sequence[int],
        schema: pa.Schema,
        long: Sequence[LongExtreme] = (),
    ) -> None:
        self.keys, self.arguments = tuple(keys), tuple(arguments)
        self.long = tuple(long)
        self.counted, self.stores, self.schema = tuple(counted), stores, schema
        self._selections = RowSelections(predicates)

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
        selected = self._selections.select(delta.rows)
        ts = delta.ts
        if mine is not None:
            rows = np.flatnonzero(_groups_among(groups, mine)[codes])
            codes, ts, selected = codes[rows], ts[rows], selected.take(rows)
            values = [value.take(pa.array(rows)) for value in values]
        parts = [
            self.rows_of(part.store, groups.rows(part.group), part.last, part.table, part.long)
            for bundle in self._bundles
            for part in bundle.summarise(codes, ts, values, selected, len(groups))
        ]
        if self.counted:
            parts += self._counters(codes, ts, values, selected, groups)
        return concat(parts, self.schema)

    @cached_property
    def _bundles(self) -> list[SummaryBundle]:
        stores = dict(enumerate(self.stores()))
        return bundles_of(stores, self._behind - len(self.keys) - 1)

    @property
    def _behind(self) -> int:
        """Where the columns of counted values begin, and of long extremes."""
        return len(self.schema) - len(self.counted) - len(self.long)

    def _counters(
        self,
        codes: Int64s,
        ts: Int64s,
        values: Sequence[pa.Array],
        selected: SelectedRows,
        groups: Interner,
    ) -> Iterator[Delta]:
        """The counters of each store that has some."""
        stores = self.stores()
        for number, store in enumerate(stores):
            rows = np.flatnonzero(selected.of(number)) if store.by_value else ()
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
                yield self.rows_of(which, keys, last, table, {cells[1]: found})

    def rows_of(
        self,
        which: Int64s,
        keys: Sequence[pa.Array],
        last: Int64s,
        table: Int64s,
        values: Mapping[Beside, pa.Array] = MappingProxyType({}),
    ) -> Delta:
        """Summaries of the stores ``which``, or counters, as rows with the instants ``last``."""
        columns = [pa.array(np.ascontiguousarray(column)) for column in table.T]
        zeros = pa.array(np.zeros(len(table), np.int64))
        columns += [zeros] * (self._behind - len(self.keys) - 1 - len(columns))
        others: tuple[Beside, ...] = (*self.counted, *self.long)
        for other, kind in zip(others, self.schema.types[self._behind :], strict=True):
            columns.append(values[other] if other in values else pa.nulls(len(table), kind))
        rows = batch_of([*keys, pa.array(which), *columns], self.schema, len(table))
        return Delta.insertions(last, rows).sorted()


def _groups_among(groups: Interner, mine: Groups) -> npt.NDArray[np.bool_]:
    """Which of the groups so far are ``mine``, by code."""
    keys = groups.rows(np.arange(len(groups)))
    return mine(pa.RecordBatch.from_arrays(keys, [str(i) for i in range(len(keys))]))


AT_ONCE = Threshold(1 << 20, least=1)
"""Summaries that are merged at a time, unless one store has more: stores times groups or kinds."""


@dataclass(frozen=True)
class StoreSummaries:
    """Summaries of several stores: the ``store`` and the ``group`` of each, the instant of the last
    row that is in it, its integers, with zeros behind them, and the values of long extremes."""

    store: Int64s
    group: Int64s
    last: Int64s
    table: Int64s
    long: Mapping[Beside, pa.Array]


class SummaryBundle:
    """The stores of one bundle, by number; see the module."""

    def __init__(self, stores: Mapping[int, PredicateStore], width: int) -> None:
        """``width`` is that of the tables that are given."""
        self._numbers, self._width = np.array([*stores], np.int64), width
        self._s = next(iter(stores.values())).s
        kept = {_content(*each): each for s in stores.values() for each in s.summaries.aggregates}
        self._aggregates = tuple(kept.values())
        places = dict(zip(kept, GroupSummaries(self._aggregates).places, strict=True))
        layouts: dict[tuple[int, ...], list[int]] = {}
        for place, store in enumerate(stores.values()):
            own = [0]
            for summary, argument in store.summaries.aggregates:
                first = places[_content(summary, argument)]
                own.extend(range(first, first + summary.width))
            layouts.setdefault(tuple(own), []).append(place)
        self._layouts = [np.array(columns, np.int64) for columns in layouts]
        self._extremes = [
            {(s.largest, a) for s, a, _ in stores[int(self._numbers[same[0]])].summaries.long}
            for same in layouts.values()
        ]
        self._layout_of = np.empty(len(stores), np.int64)
        for number, same in enumerate(layouts.values()):
            self._layout_of[same] = number

    def summarise(
        self,
        codes: Int64s,
        ts: Int64s,
        arguments: Sequence[pa.Array],
        selected: SelectedRows,
        groups: int,
    ) -> list[StoreSummaries]:
        """What the stores make of rows, in the order of time, which are ``selected`` for each store
        that there is; codes are below ``groups``."""
        own, combinations = selected.wanted[self._numbers], selected.combinations
        comes, kinds = round_up(ts, self._s), _kinds(own)[combinations]
        aggregates = [(_fresh(summary), argument) for summary, argument in self._aggregates]
        folded = GroupSummaries(aggregates)
        cells = IntTable().codes((kinds << 32) | codes)
        positions = folded.fold(cells, comes, comes, arguments)
        parts = folded.store.table.view
        row = np.empty(len(parts), np.int64)
        row[positions] = np.arange(len(codes))  # the last one of each summary wins
        own, codes, comes, ts = own[:, combinations[row]], codes[row], comes[row], ts[row]
        step = max(AT_ONCE.value // max(groups, len(row), 1), 1)
        return [
            self._merge(
                GroupSummaries(aggregates),
                first,
                own[first : first + step],
                codes,
                comes,
                ts,
                parts,
                groups,
            )
            for first in range(0, len(own), step)
        ]

    def _merge(
        self,
        merged: GroupSummaries,
        first: int,
        wanted: Wanted,
        codes: Int64s,
        comes: Int64s,
        last: Int64s,
        parts: Int64s,
        groups: int,
    ) -> StoreSummaries:
        """Summaries by kind as those of stores, of which these are the ones from ``first`` on."""
        part, store = np.nonzero(np.ascontiguousarray(wanted.T))
        at = comes[part]
        positions = merged.merge(store * groups + codes[part], at, at, parts[part])
        latest = np.full(len(merged), BEGINNING, np.int64)
        np.maximum.at(latest, positions, last[part])
        store, group = np.divmod(merged.held_groups(), max(groups, 1))
        store += first
        table = np.zeros((len(merged), self._width), np.int64)
        layouts, (whole, found) = self._layout_of[store], merged.for_others()
        for number, columns in enumerate(self._layouts):
            mine = np.flatnonzero(layouts == number)
            table[mine, : len(columns)] = whole[np.ix_(mine, columns)]
        long = dict[Beside, pa.Array]()
        for (summary, argument, _), values in zip(merged.long, found, strict=True):
            extreme = (summary.largest, argument)
            has = np.array([extreme in own for own in self._extremes], np.bool_)[layouts]
            long[extreme] = pc.if_else(pa.array(has), values, pa.scalar(None, values.type))
        return StoreSummaries(self._numbers[store], group, latest, table, long)


def _fresh(summary: Summary) -> Summary:
    """One that holds no values of earlier rows."""
    return summary.start_over() if isinstance(summary, LongExtremeSummary) else summary


def bundles_of(stores: Mapping[int, PredicateStore], width: int) -> list[SummaryBundle]:
    """Stores by the length of their sub-windows, and by what tells summaries of a group apart."""
    found: dict[object, dict[int, PredicateStore]] = {}
    for number, store in stores.items():
        tiers = {_content(*each) for each in store.summaries.aggregates if has_tiers(each[0])}
        found.setdefault((store.s, frozenset(tiers)), {})[number] = store
    return [SummaryBundle(same, width) for same in found.values()]


def has_tiers(summary: Summary) -> bool:
    """Whether a group has several summaries of a sub-window for it."""
    return summary.tiers(pa.array([], pa.float64())) is not None


def _content(summary: Summary, argument: int) -> tuple[type[Summary], int, bool, int]:
    """Summaries of rows with equal contents are equal."""
    return type(summary), summary.width, bool(getattr(summary, "largest", False)), argument


def _kinds(wanted: Wanted) -> Int64s:
    """A number for each combination of values, the same for those that the same stores want."""
    stores, rows = wanted.shape
    packed = np.packbits(wanted, axis=0)
    words = np.zeros((rows, -(-stores // 64) * 8), np.uint8)
    words[:, : len(packed)] = packed.T
    columns = [pa.array(np.ascontiguousarray(word)) for word in words.view(np.int64).T]
    return Interner([pa.int64()] * len(columns)).codes(columns, rows)
