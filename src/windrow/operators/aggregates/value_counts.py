"""The different values of an argument by sub-window and group, each with how often it occurs.

MEDIAN, QUANTILE and what is DISTINCT cannot be had from a summary of fixed size (they are holistic:
Golab 2006, 2.3.4); exact counters of values can stand in for the tuples. For an aggregate a counter
is a tuple that comes and goes with its sub-window; a quantile also asks how often. MIN and MAX of
strings are kept so too.

State: the different values of each sub-window and group.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.columns.arrays import Int64s
from windrow.columns.growable import Growable
from windrow.columns.interner import Crowding, Interner
from windrow.columns.stored_columns import RowStore
from windrow.operators.aggregates.concatenation import Concatenation
from windrow.operators.aggregates.events import Accumulator, ArgumentValues, Events
from windrow.operators.aggregates.quantiles import Quantile
from windrow.operators.aggregates.summaries import CountSummary, add_columns
from windrow.operators.base import Saved
from windrow.operators.state.sub_window_store import LEAVES, DueSummaries, SubWindows
from windrow.operators.sub_window_clocks import SubWindowClock


class ValueCounts:
    """Counters of one argument, and the ``accumulators`` over them.

    A counter is a row of ``width`` integers, of which the first says how often its value occurs.
    """

    def __init__(
        self, kind: pa.DataType, accumulators: Sequence[Accumulator], width: int = 1
    ) -> None:
        self.kind, self.accumulators, self.width = kind, tuple(accumulators), width
        self.store, self._counting = SubWindows(width), CountSummary()
        self.groups = Growable(np.int64)
        self.values = RowStore(pa.schema([("value", kind)]))
        self.crowding = Crowding()
        self._start_over()

    def _start_over(self) -> None:
        self._pairs = Interner([pa.int64(), self.kind])

    def __len__(self) -> int:
        return len(self.store)

    def fold(self, codes: Int64s, comes: Int64s, leaves: Int64s, argument: pa.Array) -> Int64s:
        """Count values in their sub-windows; NULLs too, so that each group has a counter. The
        positions of the counters.
        """
        rows = self._place(codes, comes, leaves, argument)
        self._counting.fold(rows, None, 0, self.store.table.view)
        return rows + self.store.table.base

    def merge(
        self, codes: Int64s, comes: Int64s, leaves: Int64s, argument: pa.Array, parts: Int64s
    ) -> None:
        """Take counters, which are rows of ``parts``, into those of their sub-windows."""
        rows = self._place(codes, comes, leaves, argument)
        add_columns(rows, parts, 0, self.width, self.store.table.view)

    def _place(self, codes: Int64s, comes: Int64s, leaves: Int64s, argument: pa.Array) -> Int64s:
        cells = self._pairs.codes([pa.array(codes), argument], len(codes))
        positions, made = self.store.place(cells, comes, leaves, len(self._pairs))
        self._describe(*self._pairs.rows(made))
        return self.store.rows_of(positions)

    def _describe(self, groups: pa.Array, values: pa.Array) -> None:
        """Keep what new counters are of."""
        self.groups.append(groups.to_numpy())
        self.values.append(pa.RecordBatch.from_arrays([values], schema=self.values.schema))

    def advance(self, clock: SubWindowClock, codes: int) -> list[tuple[pa.Array, pa.Array]]:
        """What the accumulators answer after what comes and goes by now, if anything does."""
        due = clock.translate(self.store.advance(clock.now))
        return self._update(due, codes) if len(due.position) else []

    def replay(self, codes: int) -> None:
        """Let the accumulators take in what is in the window."""
        due = self.store.living()
        if len(due.position):
            self._update(due, codes)

    def _update(self, due: DueSummaries, codes: int) -> list[tuple[pa.Array, pa.Array]]:
        groups = self.groups.take(due.position)
        events = Events.sort_by_code(groups, due.time, due.position, due.sign, codes)
        values = ArgumentValues(self.values.columns[0])
        found = []
        for accumulator in self.accumulators:
            accumulator.grow(codes)
            if isinstance(accumulator, Quantile | Concatenation):
                counts = self.store.table.take(events.position)[:, 0]
                weight = counts * events.sign.astype(np.int64)
                found.append(accumulator.weigh(events, values(events.position), weight))
            else:
                found.append(accumulator.update(events, values))
        return found

    @property
    def stores(self) -> tuple[SubWindows, ...]:
        return (self.store,)

    def close(self, now: int) -> None:
        """Every row up to ``now`` has come."""
        self.store.now = now

    def forget(self, by: int = LEAVES, until: int | None = None) -> None:
        """Drop the sub-windows that have left (or, by COMES, that have come), those ``until`` then
        only if it is given, and pairs that nothing counts, if they are many.
        """
        first = self.store.forget(by, until)
        self.groups.drop_before(first)
        self.values.drop_before(first)
        for accumulator in self.accumulators:
            accumulator.drop_before(first)
        size = len(self._pairs)
        if self.crowding.is_due(size):
            used = len(np.unique(self.store.cells.view))
            if self.crowding.renewal_pays(size, used):
                self._renumber()

    def _renumber(self) -> None:
        """New cells for all counters."""
        self._start_over()
        kept = np.arange(self.groups.base, self.groups.next, dtype=np.int64)
        columns = [pa.array(self.groups.view), self.values.take(kept).column(0)]
        self.store.renumber(self._pairs.codes(columns, len(kept)), len(self._pairs))

    def regroup(self, live: Int64s, remap: Int64s) -> None:
        """Groups got new codes; only ``live`` (old ones) are in use."""
        for accumulator in self.accumulators:
            accumulator.regroup(live, remap)
        self.groups.view[:] = remap[self.groups.view]
        self._renumber()

    def save(self, groups: Interner) -> Saved:
        def describe(positions: Int64s) -> list[pa.Array]:
            keys = groups.rows(self.groups.take(positions))
            return [self.values.take(positions).column(0), *keys]

        return self.store.save(describe)

    def load(
        self, segments: Mapping[str, pa.RecordBatch], meta: Mapping[str, Any], groups: Interner
    ) -> None:
        """Fill fresh counters; groups get codes as they are met. ``replay`` is to follow."""
        described = self.store.load(segments, meta)
        base = self.store.cells.base
        self.groups.clear(base)
        self.values.start_at(base)
        for (values, *keys), count in described:
            self._describe(pa.array(groups.codes(keys, count)), values)
        self._renumber()
