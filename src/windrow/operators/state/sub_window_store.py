"""The sub-windows of ``[RANGE T SLIDE s]``: summaries by position (Golab 2006, 2.3.4).

A tuple that came at ``ts`` is in the window from up(ts) until up(ts + T), up(x) being the first
multiple of s not before x (``windrow.operators.snap``). Tuples that share both instants are a
*sub-window*: nobody ever sees some of them without the others, so a summary of each group is all
that is kept. If s divides T there is one sub-window between two multiples of s; if not, there are
two, since those of the first T mod s ticks before a multiple outlive the others by one slide. They
are told apart by the two instants alone, whatever T and s are.

A summary is a row of integers, and belongs to a *cell*: a group, or a finer part of one, by number.
The summaries of a sub-window lie next to each other. The last sub-window is *open* until its
instant has come: rows are folded into its summaries. Sub-windows come and go in the order of time,
so the summaries that are kept are a stretch of positions that grows at its end and is forgotten
from its start.

Saving writes each sub-window once, when no more rows can come to it; those that were closed between
two saves share a segment. The open one is written anew each time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.columns.arrays import Int64s
from windrow.columns.growable import Growable, fresh, grow
from windrow.columns.kernels import flags, int64, ints, ints_out, kernel
from windrow.core.time import BEGINNING
from windrow.operators.base import Saved
from windrow.operators.state.saved_segments import ROWS, Segments

COMES, LEAVES, FIRST = 0, 1, 2
"""Columns of a sub-window: its two instants, and the position of its first summary."""
OPEN = "o"
"""The kind of segment of the sub-window that may still change."""


@kernel(int64, ints, flags, int64, int64, ints_out, ints_out, ints_out, ints_out)
def _place(cells, opens, first, following, newest, positions, made, firsts):  # type: ignore[no-untyped-def]
    """The summary of each row; how many were made, for which cells, and where sub-windows begin.

    ``newest[c]`` is the position of the last summary of cell c, or -1.
    """
    start, sub_windows = following, 0
    for i in range(len(cells)):
        if opens[i]:
            first = following
            firsts[sub_windows] = first
            sub_windows += 1
        c = cells[i]
        if newest[c] < first:
            newest[c] = following
            made[following - start] = c
            following += 1
        positions[i] = newest[c]
    return following - start


@dataclass(frozen=True)
class DueSummaries:
    """Summaries that come and go, in the order of time; at one instant those that go are first."""

    position: Int64s
    time: Int64s
    sign: npt.NDArray[np.int8]


class SubWindows:
    """Summaries of ``width`` integers each. Cells are numbered by the owner."""

    def __init__(self, width: int) -> None:
        self.cells = Growable(np.int64)
        self.table = Growable(np.int64, width=width)
        self.windows = Growable(np.int64, width=3)
        self.newest = fresh(-1)
        self.now = BEGINNING
        self._come = 0  # the first sub-window whose instant has not come
        self._saved = 0
        self._segments = Segments()
        self._open: str | None = None  # the segment of the open sub-window
        self._changed = False  # whether it has changed since

    def __len__(self) -> int:
        """How many summaries there are."""
        return len(self.cells)

    def place(
        self, cells: Int64s, comes: Int64s, leaves: Int64s, count: int
    ) -> tuple[Int64s, Int64s]:
        """The position of each row's summary, and the cells of new summaries, which follow the old.

        Rows are in the order of time; cells are below ``count``.
        """
        self.newest = grow(self.newest, count, -1)
        opens = np.ones(len(cells), np.bool_)
        opens[1:] = (comes[1:] != comes[:-1]) | (leaves[1:] != leaves[:-1])
        first = self.cells.next
        if len(self.windows):
            last = self.windows.view[-1]
            opens[0] = last[COMES] != comes[0] or last[LEAVES] != leaves[0]
            first = int(last[FIRST])
        begin = np.flatnonzero(opens)
        positions, made = np.empty_like(cells), np.empty_like(cells)
        firsts = np.empty(len(begin), np.int64)
        new = _place(cells, opens, first, self.cells.next, self.newest, positions, made, firsts)
        self.windows.append(np.stack([comes[begin], leaves[begin], firsts], axis=1))
        self.cells.append(made[:new])
        self.table.extend(new, 0)
        self._changed = True
        return positions, made[:new]

    def advance(self, now: int) -> DueSummaries:
        """Those of sub-windows whose instants have come by ``now``."""
        self.now = now
        windows = self.windows
        ends = np.append(windows.view[1:, FIRST], self.cells.next)
        going = int(np.searchsorted(windows.view[:, LEAVES], now, side="right"))
        come = self._come - windows.base
        coming = int(np.searchsorted(windows.view[:, COMES], now, side="right"))
        which = np.concatenate([np.arange(going), np.arange(come, coming)])
        time = np.concatenate([windows.view[:going, LEAVES], windows.view[come:coming, COMES]])
        sign = np.ones(len(which), np.int8)
        sign[:going] = -1
        self._come = windows.base + coming
        order = np.argsort(time, kind="stable")
        which, time, sign = which[order], time[order], sign[order]
        lengths = ends[which] - windows.view[which, FIRST]
        offset = np.cumsum(lengths) - lengths
        position = np.arange(int(lengths.sum())) + np.repeat(
            windows.view[which, FIRST] - offset, lengths
        )
        return DueSummaries(position, np.repeat(time, lengths), np.repeat(sign, lengths))

    def instants_of(self, positions: Int64s) -> tuple[Int64s, Int64s]:
        """When the summaries at these positions come and leave."""
        of = self.windows.view
        of = of[np.searchsorted(of[:, FIRST], positions, side="right") - 1]
        return of[:, COMES], of[:, LEAVES]

    def forget(self, by: int = LEAVES, until: int | None = None) -> int:
        """Drop the sub-windows that have left or, ``by`` COMES, have come, those ``until`` then
        only if it is given; the position of the first summary that is kept.
        """
        windows = self.windows
        until = self.now if until is None else min(until, self.now)
        going = int(np.searchsorted(windows.view[:, by], until, side="right"))
        windows.drop_before(windows.base + going)
        first = int(windows.view[0, FIRST]) if len(windows) else self.cells.next
        self._changed |= first > self._saved  # what was saved as open is gone
        self.cells.drop_before(first)
        self.table.drop_before(first)
        return first

    def rows_of(self, positions: Int64s) -> Int64s:
        """Indexes of summaries in ``table.view``."""
        return positions - self.table.base

    @property
    def has_gone(self) -> bool:
        """Whether there are sub-windows that have left: also one that nobody ever saw."""
        return bool(len(self.windows)) and int(self.windows.view[0, LEAVES]) <= self.now

    def renumber(self, cells: Int64s, count: int) -> None:
        """All summaries that are kept get other cells, which are below ``count``."""
        base = self.cells.base
        self.cells.clear(base)
        self.cells.append(cells)
        self.newest = grow(fresh(-1), count, -1)
        self.newest[cells] = np.arange(base, base + len(cells))  # the last one of each cell wins

    def living(self) -> DueSummaries:
        """Those that are in the window at ``now``, as if they all came at one instant."""
        come = self._come - self.windows.base
        stop = self.windows.view[come, FIRST] if come < len(self.windows) else self.cells.next
        position = np.arange(self.cells.base, stop, dtype=np.int64)
        return DueSummaries(position, np.zeros_like(position), np.ones(len(position), np.int8))

    @property
    def closed_before(self) -> int:
        """Summaries before this position do not change any more."""
        if len(self.windows) and self.windows.view[-1, COMES] > self.now:
            return int(self.windows.view[-1, FIRST])
        return self.cells.next

    def save(self, describe: Callable[[Int64s], Sequence[pa.Array]]) -> Saved:
        """``describe`` says in columns whose the summaries at given positions are."""
        saved, closed = Saved(), self.closed_before
        first = max(self._saved, self.cells.base)
        if closed > first:
            earlier = self._segments.join(saved, closed - first)
            first = first if earlier is None else max(earlier, self.cells.base)
            self._segments.put(saved, ROWS, self._batch(first, closed, describe))
            self._changed = True  # the open one is another now
        if self._changed:
            if self._open is not None:
                self._segments.drop(saved, [self._open])
            self._open, self._changed = None, False
            if self.cells.next > closed:
                content = self._batch(closed, self.cells.next, describe)
                self._open = self._segments.put(saved, OPEN, content)
        self._saved = closed
        self._segments.drop_before(saved, self.cells.base)
        count = self._segments.counter
        stretch = {"base": self.cells.base, "next": self.cells.next}
        saved.meta = {"now": self.now, **stretch, "count": count}
        return saved

    def _batch(
        self, first: int, stop: int, describe: Callable[[Int64s], Sequence[pa.Array]]
    ) -> pa.RecordBatch:
        positions = np.arange(first, stop, dtype=np.int64)
        numbers = [positions, *self.instants_of(positions), *self.table.take(positions).T]
        arrays = [pa.array(np.ascontiguousarray(column)) for column in numbers]
        arrays += describe(positions)
        return pa.RecordBatch.from_arrays(arrays, [str(i) for i in range(len(arrays))])

    def load(
        self, segments: Mapping[str, pa.RecordBatch], meta: Mapping[str, Any]
    ) -> list[tuple[list[pa.Array], int]]:
        """Fill a fresh store. What ``describe`` said, and of how many summaries, in their order:
        the owner is to ``renumber`` their cells by it.
        """
        self.now, base, following = int(meta["now"]), int(meta["base"]), int(meta["next"])
        self._segments.counter = int(meta["count"])
        batches = sorted(segments.items(), key=lambda item: item[1].column(0)[0].as_py())
        for part in (self.cells, self.table):
            part.clear(base)
        width = self.table.view.shape[1]
        described: list[tuple[list[pa.Array], int]] = []
        for name, batch in batches:
            self._segments.remember(name, batch)
            if name.startswith(OPEN):
                self._open = name
            gone = max(base - batch.column(0)[0].as_py(), 0)
            kept = batch.slice(gone)
            numbers = np.stack([c.to_numpy() for c in kept.columns[: 3 + width]], axis=1)
            self._load_windows(numbers[:, :3])
            self.cells.extend(len(numbers), 0)
            self.table.append(numbers[:, 3:])
            described.append((kept.columns[3 + width :], len(numbers)))
        self._saved = self.closed_before if batches else following
        self._come = int(np.searchsorted(self.windows.view[:, COMES], self.now, side="right"))
        return described

    def _load_windows(self, numbers: Int64s) -> None:
        """The sub-windows of summaries, given as position and two instants each."""
        known = self.windows.view[-1:, :2] if len(self.windows) else np.full((1, 2), -1)
        before = np.concatenate([known, numbers[:-1, 1:]])
        opens = (numbers[:, 1:] != before).any(axis=1)
        opens[0] |= not len(self.windows)
        self.windows.append(numbers[opens][:, [1, 2, 0]])
