"""Summaries by sub-window and group, and the windows over them, for all aggregates of a GROUP BY.

Each summary begins with how many tuples it is of; the aggregates' columns follow. A group has one
summary in a sub-window, unless it has sums of doubles whose values lie far apart: then it has one
for each combination of tiers (``windrow.operators.aggregates.sum_summaries``).

Extreme texts lie beside the summaries (``windrow.operators.aggregates.long_extreme_summaries``).
What goes elsewhere, to another task or to a file, has them in columns of its own, in their order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.columns.arrays import Int64s
from windrow.columns.interner import Interner, IntTable
from windrow.operators.aggregates.events import Events
from windrow.operators.aggregates.extreme_summaries import ExtremeSummary
from windrow.operators.aggregates.long_extreme_summaries import LongExtremeSummary
from windrow.operators.aggregates.summaries import CountSummary, Summary
from windrow.operators.base import Saved
from windrow.operators.state.predicate_codes import GroupCodes
from windrow.operators.state.sub_window_store import COMES, FIRST, DueSummaries, SubWindows
from windrow.operators.sub_window_clocks import SubWindowClock

Sizes = tuple[Int64s, Int64s]


class GroupSummaries:
    """``aggregates`` are pairs of a summary and the number of the argument that it is of."""

    def __init__(self, aggregates: Sequence[tuple[Summary, int]]) -> None:
        self.members = CountSummary()
        self.aggregates = tuple(aggregates)
        self.places: list[int] = []
        width = self.members.width
        for summary, _ in self.aggregates:
            self.places.append(width)
            width += summary.width
        self.width = width
        self.store = SubWindows(width)
        self._tiered = [
            place
            for (summary, _), place in zip(self.aggregates, self.places, strict=True)
            if summary.tiers(pa.array([], pa.float64())) is not None
        ]
        self.long = tuple(
            (summary, argument, place)
            for (summary, argument), place in zip(self.aggregates, self.places, strict=True)
            if isinstance(summary, LongExtremeSummary)
        )
        self._start_over()

    def _start_over(self) -> None:
        self._tiers, self._cells = Interner([pa.int64()] * len(self._tiered)), IntTable()

    def __len__(self) -> int:
        return len(self.store)

    def fold(
        self, codes: Int64s, comes: Int64s, leaves: Int64s, arguments: Sequence[pa.Array]
    ) -> Int64s:
        """Take rows into the summaries of their sub-windows; the positions of these."""
        self.close(int(comes[-1]) - 1 if len(comes) else self.store.now)
        tiers = [
            found
            for summary, argument in self.aggregates
            if (found := summary.tiers(arguments[argument])) is not None
        ]
        rows = self._place(codes, tiers, comes, leaves)
        table = self.store.table.view
        self.members.fold(rows, None, 0, table)
        for (summary, argument), place in zip(self.aggregates, self.places, strict=True):
            summary.fold(rows, arguments[argument], place, table)
        self._write_anew()
        return rows + self.store.table.base

    def merge(
        self,
        codes: Int64s,
        comes: Int64s,
        leaves: Int64s,
        parts: Int64s,
        long: Sequence[pa.Array] | None = None,
    ) -> Int64s:
        """Take summaries, which are rows of ``parts``, into those of their sub-windows; the
        positions of these. Those from elsewhere have the values of ``long`` aggregates with them.
        """
        self.close(int(comes[-1]) - 1 if len(comes) else self.store.now)
        tiers = [np.ascontiguousarray(parts[:, place]) for place in self._tiered]
        rows = self._place(codes, tiers, comes, leaves)
        table = self.store.table.view
        self.members.merge(rows, parts, 0, table)
        for (summary, _), place in zip(self.aggregates, self.places, strict=True):
            if long is None or not isinstance(summary, LongExtremeSummary):
                summary.merge(rows, parts, place, table)
        if long is not None:
            for (summary, _, place), values in zip(self.long, long, strict=True):
                summary.fold(rows, values, place, table)
            self._write_anew()
        return rows + self.store.table.base

    def close(self, now: int) -> None:
        """No more rows come to sub-windows up to ``now``; before they come into the window."""
        windows = self.store.windows
        if self.long and len(windows) and self.store.now < windows.view[-1, COMES] <= now:
            self._write_anew(closing=True)

    def _write_anew(self, closing: bool = False) -> None:
        store = self.store
        for summary, _, place in self.long if len(store.windows) else ():
            first = int(store.windows.view[-1, FIRST])
            rows = store.table.view[first - store.table.base :]
            summary.write_anew(first, place, rows, closing)

    def for_others(self) -> tuple[Int64s, list[pa.Array]]:
        """All summaries, and the values of ``long`` aggregates, in place of which are zeros."""
        table = self.store.table.view
        if self.long:
            table = table.copy()
        for summary, _, place in self.long:
            table[:, place : place + summary.width] = 0
        return table, self.long_values()

    def long_values(self, positions: Int64s | None = None) -> list[pa.Array]:
        """The values of ``long`` aggregates of all summaries, or of those at these positions."""
        table = self.store.table
        parts = table.view if positions is None else table.take(positions)
        return [summary.values_of(parts, place) for summary, _, place in self.long]

    def _place(
        self, codes: Int64s, tiers: Sequence[Int64s], comes: Int64s, leaves: Int64s
    ) -> Int64s:
        cells, count = self._number(codes, tiers)
        positions, _ = self.store.place(cells, comes, leaves, count)
        return self.store.rows_of(positions)

    def _number(self, codes: Int64s, tiers: Sequence[Int64s]) -> tuple[Int64s, int]:
        """The cells of rows by group and tiers, and the number that all of them are below."""
        if not tiers:
            return codes, int(codes.max(initial=-1)) + 1
        together = self._tiers.codes([pa.array(t) for t in tiers], len(codes))
        cells = self._cells.codes((codes << 32) | together)
        return cells, self._cells.count

    def groups_of(self, cells: Int64s) -> Int64s:
        """The groups that cells belong to."""
        return self._cells.keys[cells] >> 32 if self._tiered else cells

    def cell_owners(self) -> Int64s | None:
        """The group of each cell; None if cells are groups."""
        return self._cells.keys >> 32 if self._tiered else None

    def cell_tiers(self, cells: Int64s) -> dict[int, Int64s]:
        """The tiers of cells, by the columns that summaries have them in."""
        if not self._tiered:
            return {}
        together = self._cells.keys[cells] & ((1 << 32) - 1)
        tiers = self._tiers.rows(together)
        return {at: t.to_numpy() for at, t in zip(self._tiered, tiers, strict=True)}

    def held_groups(self) -> Int64s:
        """Those of all summaries, in turn."""
        return self.groups_of(self.store.cells.view)

    def advance(self, clock: SubWindowClock, codes: int) -> Events | None:
        """The summaries that come and go by now, if any; groups are below ``codes``."""
        self.close(clock.now)
        return self._events(clock.translate(self.store.advance(clock.now)), codes)

    def living(self, codes: int) -> Events | None:
        """What is in the window, as if it all came now; None if nothing is."""
        return self._events(self.store.living(), codes)

    def _events(self, due: DueSummaries, codes: int) -> Events | None:
        if not len(due.position):
            return None
        self.members.grow(codes)
        for summary, _ in self.aggregates:
            summary.grow(codes)
        groups = self.groups_of(self.store.cells.take(due.position))
        return Events.sort_by_code(groups, due.time, due.position, due.sign, codes)

    def update(self, events: Events) -> tuple[Sizes, list[tuple[pa.Array, pa.Array]]]:
        """The sizes of groups before and after, and the values of the aggregates."""
        parts = self.store.table.take(events.position)
        sizes = self.members.counts(events, parts)
        values = []
        for (summary, _), place in zip(self.aggregates, self.places, strict=True):
            own = np.ascontiguousarray(parts[:, place : place + summary.width])
            values.append(summary.update(events, own))
        return sizes, values

    def forget(self, until: int | None = None) -> int:
        """Drop the sub-windows that have left, those ``until`` then only if it is given; the
        position of the first summary that is kept.
        """
        before = self.store.cells.base
        first = self.store.forget(until=until)
        for summary, _ in self.aggregates:
            if isinstance(summary, ExtremeSummary):
                summary.drop_before(first)
        for summary, _, place in self.long:
            summary.forget(first - before, place, self.store.table.view)
        return first

    def regroup(self, live: Int64s, remap: Int64s) -> None:
        """Groups got new codes; only ``live`` (old ones) are in use."""
        self.members.regroup(live, remap)
        for summary, _ in self.aggregates:
            summary.regroup(live, remap)
        self.renumber(remap[self.held_groups()])

    def renumber(self, groups: Int64s) -> None:
        """All summaries belong to groups of other codes."""
        self._start_over()
        table = self.store.table.view
        tiers = [np.ascontiguousarray(table[:, place]) for place in self._tiered]
        self.store.renumber(*self._number(groups, tiers))

    def save(self, groups: GroupCodes) -> Saved:
        def describe(positions: Int64s) -> list[pa.Array]:
            keys = groups.rows(self.groups_of(self.store.cells.take(positions)))
            return [*keys, *self.long_values(positions)]

        return self.store.save(describe)

    def load(
        self, segments: Mapping[str, pa.RecordBatch], meta: Mapping[str, Any], groups: GroupCodes
    ) -> None:
        """Fill fresh summaries; groups get codes as they are met. ``living`` is to be replayed."""
        described = self.store.load(segments, meta)
        keys = [columns[: len(columns) - len(self.long)] for columns, _ in described]
        codes = [groups.codes(own, count) for own, (_, count) in zip(keys, described, strict=True)]
        self.renumber(np.concatenate([np.empty(0, np.int64), *codes]))
        for number, (summary, _, place) in enumerate(self.long if described else ()):
            values = [columns[number - len(self.long)] for columns, _ in described]
            summary.load(pa.concat_arrays(values), place, self.store.table.view)
