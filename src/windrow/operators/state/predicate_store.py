"""The tuples of predicates in sub-windows of s ticks, and the synopses over them.

Rows are folded into the summary of their group in the open sub-window
(``windrow.operators.state.sub_window_store``), whoever will ask. When a sub-window is closed its
summaries become cells, and the synopses that the rules of sharing chose take them in
(``windrow.synopses.grouped_synopses``): running sums of counts and sums, intervals or plain cells
of minima and maxima. Summaries alone are saved; the synopses are computed from them again. Counters
of values are beside them, or ranks or sketches of values, as basic interval synopses (``windrow
.operators.aggregates.counter_scans`` reads them).

A store is of one predicate or of several. In one of several what stands for groups are pairs of a
predicate and a group (``windrow.operators.state.predicate_codes``), each predicate has its own
columns of the summaries, and sub-windows are kept as long as one of the predicates needs them. So
what is done with a micro-batch is done once, and not once for each predicate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from windrow.columns.arrays import Int64s
from windrow.columns.growable import Growable
from windrow.columns.interner import Interner
from windrow.core.time import FOREVER
from windrow.operators.aggregates.extreme_summaries import ExtremeSummary
from windrow.operators.aggregates.group_summaries import GroupSummaries
from windrow.operators.aggregates.shared_reads import ByValue, Executions
from windrow.operators.aggregates.summaries import Summary
from windrow.operators.base import Saved, below
from windrow.operators.snap import end_after, round_up
from windrow.operators.state.predicate_codes import GroupCodes, PredicateCodes, SavedPairs
from windrow.operators.state.sub_window_store import COMES, FIRST, LEAVES, SubWindows
from windrow.operators.state.touched_groups import Touched, find_touched
from windrow.synopses.base import Work
from windrow.synopses.grouped_synopses import (
    HELD,
    VALUE,
    BasicColumns,
    GroupChains,
    IntervalColumns,
    RunningColumns,
)

COUNTERS = 1 << 32
"""What raises the number of a store in what is sent to it, if that are counters."""
VALUES = "values"
"""With a number, what is called so that is saved by value."""
NO_CODES = np.empty(0, np.int64)


class CellsByValue(Protocol):
    """What is kept of an argument's values by sub-window and group: counters, ranks, sketches."""

    def __len__(self) -> int: ...

    @property
    def stores(self) -> tuple[SubWindows, ...]: ...

    def fold(self, codes: Int64s, comes: Int64s, leaves: Int64s, argument: pa.Array) -> Int64s:
        """Take values in; in which of the cells each is."""
        ...

    def merge(
        self, codes: Int64s, comes: Int64s, leaves: Int64s, argument: pa.Array, parts: Int64s
    ) -> None:
        """Take in values that senders have counted; ``parts`` is a column of counts."""
        ...

    def close(self, now: int) -> None: ...

    def forget(self, by: int = LEAVES, until: int | None = None) -> None: ...

    def regroup(self, live: Int64s, remap: Int64s) -> None: ...

    def save(self, groups: Interner) -> Saved: ...

    def load(
        self, segments: Mapping[str, pa.RecordBatch], meta: Mapping[str, Any], groups: Interner
    ) -> None: ...


class PredicateStore:
    """``sums`` are the summaries of counts and sums, ``extremes`` those of minima and maxima, each
    with the number of its argument. ``synopses`` are those over the latter: the number of the
    extreme, and whether it is scanned, not probed. ``by_value`` has what is kept of values of
    arguments, if there is one predicate. Those of several are known by their places.
    """

    def __init__(
        self,
        s: int,
        keep: int,
        sums: Sequence[tuple[Summary, int]],
        extremes: Sequence[tuple[Summary, int]],
        synopses: Sequence[tuple[int, bool]],
        by_value: Mapping[ByValue, CellsByValue] = MappingProxyType({}),
        *,
        several: bool = False,
    ) -> None:
        self.s, self.keep, self.by_value = s, min(keep, FOREVER), by_value
        self.pairs = PredicateCodes() if several else None
        self.summaries = GroupSummaries([*sums, *extremes])
        self._sums, self._synopses = len(sums), tuple(synopses)
        places = [*self.summaries.places, self.summaries.width]
        self._running_width = places[self._sums]
        self.sum_places, self.extreme_places = places[: self._sums], places[self._sums : -1]
        self.work = [Work() for _ in range(1 + len(synopses))]
        """Of the running synopses, and of each of those of extremes."""
        self.scans = {cells: Work() for cells in by_value}
        self._build()

    def _build(self) -> None:
        """The synopses of the closed sub-windows, anew."""
        base = self.summaries.store.cells.base
        self.chains = GroupChains(base)
        running, *others = self.work
        self.running = RunningColumns(self._running_width, base, running)
        self.extremes: list[IntervalColumns | BasicColumns] = []
        for (of, scanned), work in zip(self._synopses, others, strict=True):
            at, ties = self.extreme_places[of], self._extreme(of).ties
            self.extremes.append(
                BasicColumns(at, work, ties) if scanned else IntervalColumns(at, base, work, ties)
            )
        self._by_place = Growable(np.int64, width=2)  # of closed cells: predicate and group
        self._by_place.clear(base)
        self._take_in()

    def _extreme(self, of: int) -> ExtremeSummary:
        summary, _ = self.summaries.aggregates[self._sums + of]
        assert isinstance(summary, ExtremeSummary)
        return summary

    def __len__(self) -> int:
        return len(self.summaries) + sum(map(len, self.by_value.values()))

    def serve(self, other: PredicateStore) -> None:
        """Keep sub-windows as long as another store of the same contents, as the same kinds."""
        self.keep = other.keep
        self._set_leaves()
        if self._synopses != other._synopses:  # one kind is made from the other at once
            self._synopses = other._synopses
            self.work = [self.work[0], *(Work() for _ in self._synopses)]
            self._build()

    def codes_of(self, places: Int64s, groups: Int64s) -> Int64s:
        """What stands for groups of the predicates at ``places`` here."""
        return groups if self.pairs is None else self.pairs.codes(places, groups)

    def _codes_saved(self, groups: Interner) -> GroupCodes:
        return groups if self.pairs is None else SavedPairs(self.pairs, groups)

    # --- updates

    def _set_leaves(self) -> None:
        beside = (store for cells in self.by_value.values() for store in cells.stores)
        for store in (self.summaries.store, *beside):
            store.windows.view[:, LEAVES] = end_after(store.windows.view[:, COMES], self.keep)

    def fold(self, codes: Int64s, ts: Int64s, arguments: Sequence[pa.Array]) -> Int64s:
        """Take rows, in the order of time, into the open sub-windows; in which summary each is."""
        self.fold_values(codes, ts, arguments)
        comes = round_up(ts, self.s)
        return self.summaries.fold(codes, comes, end_after(comes, self.keep), arguments)

    def fold_values(
        self, codes: Int64s, ts: Int64s, arguments: Sequence[pa.Array]
    ) -> dict[ByValue, Int64s]:
        """The same for what is kept by value alone."""
        if not self.by_value:
            return {}
        comes = round_up(ts, self.s)
        return {
            (kept, argument): cells.fold(
                codes, comes, end_after(comes, self.keep), arguments[argument]
            )
            for (kept, argument), cells in self.by_value.items()
        }

    def merge(
        self, codes: Int64s, ts: Int64s, parts: Int64s, long: Sequence[pa.Array] = ()
    ) -> None:
        """Take summaries in that senders have made, in the order of time, and the values of those
        of its aggregates that are ``long``.
        """
        comes = round_up(ts, self.s)
        self.summaries.merge(codes, comes, end_after(comes, self.keep), parts, long)

    def merge_values(
        self, cells: ByValue, codes: Int64s, ts: Int64s, values: pa.Array, counts: Int64s
    ) -> None:
        """The same for values, which they have counted."""
        comes = round_up(ts, self.s)
        held = self.by_value[cells]
        held.merge(codes, comes, end_after(comes, self.keep), values, counts[:, np.newaxis])

    def close(self, now: int) -> None:
        """Every row up to ``now`` has come: update the synopses."""
        self.summaries.close(now)
        self.summaries.store.now = now
        for cells in self.by_value.values():
            cells.close(now)
        self._take_in()

    def _take_in(self) -> None:
        store, chains = self.summaries.store, self.chains
        first, stop = chains.links.next, store.closed_before
        if stop <= first:
            return
        at, end = first - store.cells.base, stop - store.cells.base
        codes = store.cells.view[at:end]
        starts = store.windows.view[:, FIRST]
        which = np.searchsorted(starts, np.arange(first, stop), side="right") - 1
        chains.extend(codes, store.windows.view[which, COMES])
        if self.pairs is not None:
            places, groups = self.pairs.split(self.summaries.groups_of(codes))
            order = np.lexsort((places, which))
            self._by_place.append(np.stack([places[order], groups[order]], axis=1))
        self.running.extend(codes, store.table.view[at:end, : self._running_width])
        for column in self.extremes:
            column.extend(chains, store.table.view)

    # --- probes

    def due(
        self, windows: Int64s, places: Int64s, executions: Executions, now: int, codes: int
    ) -> Touched | None:
        """What may change in the windows over predicates at ``places``, at their executions until
        ``now``."""
        store = self.summaries.store
        sub_windows = store.windows.view
        sub_windows = sub_windows[sub_windows[:, COMES] <= now]
        if not len(sub_windows):
            return None
        ends = np.ascontiguousarray(sub_windows[:, COMES])
        firsts = np.append(sub_windows[:, FIRST], store.closed_before) - store.cells.base
        of, groups = self._closed_groups()
        marks = np.zeros(max(codes, 1), np.int64)
        room = 2 * len(groups) + 64
        while True:
            probe, time, group = (np.empty(room, np.int64) for _ in range(3))
            found = find_touched(
                windows, places, executions.slides, executions.answered, executions.first,
                executions.offsets, executions.instants, ends, firsts, of, groups, now, room,
                marks, probe, time, group,
            )  # fmt: skip
            if found <= room:
                return Touched(probe[:found], time[:found], group[:found]) if found else None
            marks[:] = 0
            room = found

    def _closed_groups(self) -> tuple[Int64s, Int64s]:
        """The predicates, if there are several, and the groups of the cells of each sub-window."""
        if self.pairs is None:
            return NO_CODES, self.summaries.groups_of(self.summaries.store.cells.view)
        places, groups = np.ascontiguousarray(self._by_place.view.T)
        return places, groups

    def cells_of(self, groups: Int64s) -> tuple[Int64s | None, Int64s]:
        """The cell codes of groups, or of what stands for them: for each the place of its group in
        ``groups``, and the code; None: each group has one.

        A group has several if sums of doubles lie far apart (``GroupSummaries``).
        """
        owners = self.summaries.cell_owners()
        if owners is None:
            return None, groups
        order = np.argsort(owners, kind="stable").astype(np.int64)
        ordered = owners[order]
        start = np.searchsorted(ordered, groups, side="left")
        count = np.searchsorted(ordered, groups, side="right") - start
        place = np.repeat(np.arange(len(groups)), count)
        offset = np.arange(len(place)) - np.repeat(np.cumsum(count) - count, count)
        return place, order[np.repeat(start, count) + offset]

    def grow(self, codes: int) -> None:
        """Make room for cell codes below this, which may have no cell yet."""
        self.chains.grow(codes)
        self.running.grow(codes)

    def probe_sums(self, codes: Int64s, windows: Int64s, until: Int64s, earlier: Int64s) -> Int64s:
        """The number of tuples and the sums over windows that end at ``earlier``, and then over
        those that end at ``until``.
        """
        self.grow(int(codes.max(initial=-1)) + 1)
        words = self.running.probe(self.chains, codes, windows, until, earlier)
        for at, tiers in self.summaries.cell_tiers(codes).items():
            words[:, at] = np.tile(tiers, 2)
        return words

    def probe_extreme(self, number: int, codes: Int64s, after: Int64s, until: Int64s) -> Int64s:
        """What a synopsis of extremes says of ``(after, until]``, as HELD, KEY and VALUE."""
        self.grow(int(codes.max(initial=-1)) + 1)
        table = self.summaries.store.table.view
        return self.extremes[number].probe(self.chains, table, codes, after, until)

    def values_of(self, number: int, found: Int64s) -> pa.Array:
        """What extremes are that were probed, NULL where there is none."""
        values = np.ascontiguousarray(found[:, VALUE])
        of, _ = self._synopses[number]
        return self._extreme(of).to_array(values, found[:, HELD] > 0)

    # --- state

    def forget(self, needed: int | None = None) -> None:
        """Drop sub-windows that nobody will ask for again: of those that were kept for their time
        the ones that end up to ``needed``, if that is given.
        """
        until = None if needed is None else min(needed + self.keep, FOREVER)
        for cells in self.by_value.values():
            cells.forget(until=until)
        first = self.summaries.forget(until)
        self.chains.forget(first)
        self.running.forget(first)
        self._by_place.drop_before(first)
        for column in self.extremes:
            column.forget(first)

    def held_groups(self, place: int | None = None) -> Int64s:
        """Those of all summaries, or of those of the predicate at a place."""
        held = self.summaries.held_groups()
        if self.pairs is None:
            return held
        places, groups = self.pairs.split(held)
        return groups if place is None else groups[places == place]

    def regroup(self, remap: Int64s) -> None:
        """Groups got new codes."""
        if self.pairs is None:
            self.summaries.renumber(remap[self.held_groups()])
        else:
            places, groups = self.pairs.split(self.summaries.held_groups())
            self.pairs = PredicateCodes()
            self.summaries.renumber(self.pairs.codes(places, remap[groups]))
        for cells in self.by_value.values():
            cells.regroup(NO_CODES, remap)
        self._build()

    def save(self, groups: Interner) -> Saved:
        saved = self.summaries.save(self._codes_saved(groups))
        for number, cells in enumerate(self.by_value.values()):
            saved.add(f"{VALUES}{number}", cells.save(groups))
        return saved

    def load(
        self, segments: Mapping[str, pa.RecordBatch], meta: Mapping[str, Any], groups: Interner
    ) -> None:
        own = {name: batch for name, batch in segments.items() if not name.startswith(VALUES)}
        self.summaries.load(own, meta, self._codes_saved(groups))
        for number, cells in enumerate(self.by_value.values()):
            name = f"{VALUES}{number}"
            cells.load(below(name, segments), meta[name], groups)
        self._set_leaves()
        self._build()
