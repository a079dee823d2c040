"""Summaries by sub-window and group, and the windows over them, for all aggregates of a GROUP BY.

Each summary begins with how many tuples it is of; the aggregates' columns follow. A group has one
summary in a sub-window, unless it has sums of doubles whose values lie far apart: then it has one
for each combination of tiers (``windrow.operators.aggregates.sum_summaries``).
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
from windrow.operators.aggregates.summaries import CountSummary, Summary
from windrow.operators.base import Saved
from windrow.operators.state.predicate_codes import GroupCodes
from windrow.operators.state.sub_window_store import DueSummaries, SubWindows
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
        self._start_over()

    def _start_over(self) -> None:
        self._tiers, self._cells = Interner([pa.int64()] * len(self._tiered)), IntTable()

    def __len__(self) -> int:
        return len(self.store)

    def fold(
        self, codes: Int64s, comes: Int64s, leaves: Int64s, arguments: Sequence[pa.Array]
    ) -> Int64s:
        """Take rows into the summaries of their sub-windows; the positions of these."""
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
        return rows + self.store.table.base

    def merge(self, codes: Int64s, comes: Int64s, leaves: Int64s, parts: Int64s) -> Int64s:
        """Take summaries, which are rows of ``parts``, into those of their sub-windows; the
        positions of these."""
        tiers = [np.ascontiguousarray(parts[:, place]) for place in self._tiered]
        rows = self._place(codes, tiers, comes, leaves)
        table = self.store.table.view
        self.members.merge(rows, parts, 0, table)
        for (summary, _), place in zip(self.aggregates, self.places, strict=True):
            summary.merge(rows, parts, place, table)
        return rows + self.store.table.base

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

    def forget(self) -> None:
        """Drop the sub-windows that have left."""
        first = self.store.forget()
        for summary, _ in self.aggregates:
            if isinstance(summary, ExtremeSummary):
                summary.drop_before(first)

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
            return groups.rows(self.groups_of(self.store.cells.take(positions)))

        return self.store.save(describe)

    def load(
        self, segments: Mapping[str, pa.RecordBatch], meta: Mapping[str, Any], groups: GroupCodes
    ) -> None:
        """Fill fresh summaries; groups get codes as they are met. ``living`` is to be replayed."""
        described = self.store.load(segments, meta)
        codes = [groups.codes(keys, count) for keys, count in described]
        self.renumber(np.concatenate([np.empty(0, np.int64), *codes]))
