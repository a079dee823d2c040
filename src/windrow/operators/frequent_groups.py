"""FREQUENT: the frequent groups of a window that slides, in bounded memory (Golab 2006, 6.2).

Algorithm 6. The groups of the open sub-window are counted exactly by *local counters*; when it
comes into the window a list of its k most frequent groups stays, and their counts are added to
*global counters*, from which they are subtracted when it leaves. *delta* is the sum of the counts
of the k-th groups of all lists, since a group that is on no list can be as frequent. So, of the
true count of a group in the window,

    counter <= count <= counter + delta

and a group with a counter above delta, or above a threshold, really is: there are no false
positives, and no count is too large. Groups may be missed that are mostly off the lists. Where
every sub-window has fewer than k groups, delta is 0 and the answer is exact.

Of groups that tie for the last place of a list the one with the lesser keys is taken, so the same
rows give the same answer however they were cut.

Cost: O(1) per row; per slide a sort of the keys of the sub-window that comes, and O(k T/s). State:
k counters for each sub-window, a global one for each group on a list, and the local counters.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from windrow.columns.arrays import Int64s
from windrow.columns.delta import Delta, batch_of
from windrow.columns.evaluate import evaluate
from windrow.columns.growable import fresh, grow
from windrow.columns.interner import Crowding, Interner
from windrow.columns.value_order import comparable_column
from windrow.core.time import FOREVER
from windrow.operators.aggregates.summaries import CountSummary, add_columns
from windrow.operators.base import Saved, below
from windrow.operators.sliding_group_by import choose_rows
from windrow.operators.state.sub_window_store import COMES, DueSummaries, SubWindows
from windrow.operators.sub_window_clocks import SubWindowClock
from windrow.plan.expressions import Expression
from windrow.plan.physical.state_kinds import Kept
from windrow.synopses.frequent_lists import top_lists

COUNT, LAST = 0, 1
"""Columns of a list: a group's count and, with the k-th of them, the same again."""
Shown = tuple[Int64s, Int64s, Int64s]
"""The groups of an answer, by code, with the least and the greatest count of each."""


class FrequentGroups:
    """One row per group that is certainly frequent: its keys, and the bounds of its count.

    ``certain`` asks for more than delta; without it all groups on lists are put out, for a
    threshold above to choose from.
    """

    def __init__(
        self,
        clock: SubWindowClock,
        keys: Sequence[Expression],
        size: int,
        certain: bool,
        stored: pa.Schema,
        schema: pa.Schema,
        kept: Kept,
        every_time: bool = False,
        where: Expression | None = None,
    ) -> None:
        self.clock, self.keys, self.k, self.certain = clock, tuple(keys), size, certain
        self.schema, self.kept, self.every_time, self.where = schema, kept, every_time, where
        self.groups, self.crowding = Interner(stored.types), Crowding()
        self.local, self.lists = SubWindows(1), SubWindows(2)
        self._counting = CountSummary()
        self._counters, self.delta = fresh(0), 0
        self._shown: Shown = _nothing()

    @property
    def state(self) -> tuple[Kept, ...]:
        return (self.kept,)

    def process(self, inputs: Sequence[Delta], now: int) -> Delta:
        (delta,) = inputs
        self._count(*choose_rows(delta, now, self.clock, self.where))
        self._close()
        due = self.clock.translate(self.lists.advance(self.clock.now))
        if not len(due.position) and not self.lists.has_gone:
            return Delta.empty(self.schema)
        # If nothing is due, all that came has left at the same instant.
        answer = self._changes(due) if len(due.position) else Delta.empty(self.schema)
        self.lists.forget()
        self._forget_groups()
        return answer

    def _count(self, delta: Delta, comes: Int64s, leaves: Int64s) -> None:
        """Lines 2 to 6: the local counters."""
        if len(delta):
            codes = self.groups.codes([evaluate(e, delta.rows) for e in self.keys], len(delta))
            positions, _ = self.local.place(codes, comes, leaves, len(self.groups))
            self._counting.fold(self.local.rows_of(positions), None, 0, self.local.table.view)

    def _close(self) -> None:
        """Lines 7 to 10: lists of the sub-windows that have come."""
        due = self.local.advance(self.clock.now)
        positions = due.position[due.sign > 0]
        if len(positions):
            comes, leaves = self.local.instants_of(positions)
            new = np.append(True, (comes[1:] != comes[:-1]) | (leaves[1:] != leaves[:-1]))
            starts = np.flatnonzero(new)
            codes, places = np.unique(self.local.cells.take(positions), return_inverse=True)
            counts = np.ascontiguousarray(self.local.table.take(positions)[:, 0])
            width, windows = min(self.k, len(codes)), len(starts)
            best, often = (np.empty((windows, width), np.int64) for _ in range(2))
            lengths = np.empty(windows, np.int64)
            cuts = np.append(starts, len(positions)).astype(np.int64)
            places = np.ascontiguousarray(places, np.int64)
            top_lists(places, counts, cuts, self._ranks(codes), width, best, often, lengths)
            listed = np.arange(width) < lengths[:, None]
            parts = np.zeros((int(listed.sum()), 2), np.int64)
            parts[:, COUNT] = often[listed]
            ends, full = np.cumsum(lengths) - 1, lengths == self.k
            parts[ends[full], LAST] = parts[ends[full], COUNT]
            of = np.repeat(starts, lengths)
            at, _ = self.lists.place(codes[best[listed]], comes[of], leaves[of], len(self.groups))
            add_columns(self.lists.rows_of(at), parts, 0, 2, self.lists.table.view)
        self.local.forget(COMES)

    def _ranks(self, codes: Int64s) -> Int64s:
        """Places of groups in the order of their keys."""
        columns = list(map(comparable_column, self.groups.rows(codes)))
        names = [str(i) for i in range(len(columns))]
        table = pa.RecordBatch.from_arrays(columns, names)
        order = pc.sort_indices(table, sort_keys=[(name, "ascending") for name in names])
        ranks = np.empty(len(codes), np.int64)
        ranks[order.to_numpy().astype(np.int64)] = np.arange(len(codes))
        return ranks

    def _changes(self, due: DueSummaries) -> Delta:
        """Lines 11 to 28: lists come and leave, and after each slide the answer is another."""
        codes, ts, sign, low, high = ([] for _ in range(5))
        for time, shown in self._slides(due):
            gone, come = self._shown, shown
            if not self.every_time:
                gone, come = _without(gone, come), _without(come, gone)
            for way, rows in ((-1, gone), (1, come)):
                codes.append(rows[0])
                low.append(rows[1])
                high.append(rows[2])
                ts.append(np.full(len(rows[0]), time))
                sign.append(np.full(len(rows[0]), way, np.int8))
            self._shown = shown
        count = sum(map(len, codes))
        keys = self.groups.rows(np.concatenate(codes))
        counts = (pa.array(np.concatenate(each)) for each in (low, high))
        typed = [a.cast(k) for a, k in zip((*keys, *counts), self.schema.types, strict=True)]
        rows = batch_of(typed, self.schema, count)
        exp = np.full(count, FOREVER, np.int64)
        return Delta(np.concatenate(ts), exp, np.concatenate(sign), rows)

    def _slides(self, due: DueSummaries) -> Iterator[tuple[int, Shown]]:
        """The answer after each of the instants at which lists come or leave."""
        self._counters = grow(self._counters, len(self.groups), 0)
        cells = self.lists.cells.take(due.position)
        parts = self.lists.table.take(due.position) * due.sign[:, None].astype(np.int64)
        listed = np.unique(self.lists.cells.view)
        starts = np.flatnonzero(np.append(True, due.time[1:] != due.time[:-1]))
        for first, stop in zip(starts, [*starts[1:], len(cells)], strict=True):
            np.add.at(self._counters, cells[first:stop], parts[first:stop, COUNT])
            self.delta += int(parts[first:stop, LAST].sum())
            yield int(due.time[first]), self._frequent(listed)

    def _frequent(self, listed: Int64s) -> Shown:
        counts = self._counters[listed]
        chosen = counts > (self.delta if self.certain else 0)
        return listed[chosen], counts[chosen], counts[chosen] + self.delta

    def _forget_groups(self) -> None:
        """Give groups that are counted new codes, once most groups are not."""
        size = len(self.groups)
        if not self.crowding.is_due(size):
            return
        live = np.unique(
            np.concatenate([self.local.cells.view, self.lists.cells.view, self._shown[0]])
        )
        if not self.crowding.renewal_pays(size, len(live)):
            return
        remap = self.groups.compact(live)
        counters = grow(fresh(0), len(self.groups), 0)
        counters[remap[live]] = grow(self._counters, size, 0)[live]  # some are in no answer yet
        self._counters = counters
        for store in (self.local, self.lists):
            store.renumber(remap[store.cells.view], len(self.groups))
        order = np.argsort(remap[self._shown[0]])
        codes, low, high = self._shown
        self._shown = remap[codes][order], low[order], high[order]

    def size(self) -> int:
        return len(self.local) + len(self.lists) + len(self.groups)

    def save(self) -> Saved:
        def describe(store: SubWindows) -> Any:
            return lambda positions: self.groups.rows(store.cells.take(positions))

        saved = Saved()
        saved.meta["clock"] = self.clock.save()
        saved.add("local", self.local.save(describe(self.local)))
        saved.add("lists", self.lists.save(describe(self.lists)))
        return saved

    def load(self, segments: Mapping[str, pa.RecordBatch], meta: Mapping[str, Any]) -> None:
        self.clock.load(meta["clock"])
        for name, store in (("local", self.local), ("lists", self.lists)):
            described = store.load(below(name, segments), meta[name])
            codes = [self.groups.codes(keys, count) for keys, count in described]
            store.renumber(np.concatenate([np.empty(0, np.int64), *codes]), len(self.groups))
        due = self.lists.living()
        if len(due.position):
            ((_, self._shown),) = self._slides(due)


def _nothing() -> Shown:
    return tuple(np.empty(0, np.int64) for _ in range(3))  # type: ignore[return-value]


def _without(rows: Shown, others: Shown) -> Shown:
    """The rows that are not among the others as well, with the same counts."""
    at = np.searchsorted(others[0], rows[0])
    known: npt.NDArray[np.bool_] = at < len(others[0])
    at = np.minimum(at, max(len(others[0]) - 1, 0))
    if len(others[0]):
        for mine, theirs in zip(rows, others, strict=True):
            known &= theirs[at] == mine
    return tuple(each[~known] for each in rows)  # type: ignore[return-value]
