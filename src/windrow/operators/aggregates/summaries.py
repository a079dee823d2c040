"""Summaries of sub-windows: what the tuples of one sub-window and group come to.

A summary is a few integers in a row of a table (``windrow.operators.state.sub_window_store``), and
begins as zeros. Rows are *folded* into it while their sub-window is open (the buffer of Golab 2006,
2.3.4), two summaries of one sub-window and group are *merged*, and the window takes whole ones in
and out: it is given them as events sorted by group and time, and answers as an accumulator does
(``windrow.operators.aggregates.events``).

What can be subtracted is (COUNT here; sums in ``sum_summaries``, variances in
``variance_summaries``); of MIN and MAX each group keeps a chain of the summaries that can still
become extreme (``extreme_summaries``).
"""

from __future__ import annotations

from typing import Protocol

import pyarrow as pa

from windrow.columns.arrays import Int64s, validity
from windrow.columns.kernels import flags, grid, grid_out, int64, ints, kernel, void
from windrow.operators.aggregates.count_sum_avg import Count
from windrow.operators.aggregates.events import Events


class Summary(Protocol):
    """One aggregate: its part of each summary, and the window over them, by group.

    ``at`` is the first of its ``width`` columns in the table, ``rows`` are indexes into it.
    """

    width: int

    def tiers(self, argument: pa.Array) -> Int64s | None:
        """Summaries hold values of one tier only; None if all values are of one."""
        ...

    def fold(self, rows: Int64s, argument: pa.Array | None, at: int, table: Int64s) -> None:
        """Take values into the summaries of their sub-windows."""
        ...

    def merge(self, rows: Int64s, parts: Int64s, at: int, table: Int64s) -> None:
        """Take summaries (``parts`` has the columns of ``table``) into others of the same tier."""
        ...

    def grow(self, size: int) -> None:
        """Make room for group codes below ``size``."""
        ...

    def update(self, events: Events, parts: Int64s) -> tuple[pa.Array, pa.Array]:
        """Values before the events (per group touched) and after each segment.

        ``parts`` has the summary's columns for each event.
        """
        ...

    def regroup(self, codes: Int64s, remap: Int64s) -> None:
        """Groups got new codes: ``remap[old]``; only ``codes`` (old ones) are still in use."""
        ...


@kernel(void, ints, int64, grid_out)
def _count(rows, at, table):  # type: ignore[no-untyped-def]
    for i in range(len(rows)):
        table[rows[i], at] += 1


@kernel(void, ints, flags, int64, grid_out)
def _count_some(rows, counted, at, table):  # type: ignore[no-untyped-def]
    for i in range(len(rows)):
        if counted[i]:
            table[rows[i], at] += 1


@kernel(void, ints, grid, int64, int64, grid_out)
def add_columns(rows, parts, at, width, table):  # type: ignore[no-untyped-def]
    """Add ``width`` columns of each part to those of its row."""
    for i in range(len(rows)):
        for j in range(at, at + width):
            table[rows[i], j] += parts[i, j]


class CountSummary:
    """COUNT(*), or how many values are not NULL."""

    width = 1

    def __init__(self) -> None:
        self.window = Count()

    def tiers(self, argument: pa.Array) -> Int64s | None:
        return None

    def fold(self, rows: Int64s, argument: pa.Array | None, at: int, table: Int64s) -> None:
        valid = None if argument is None else validity(argument)
        if valid is None:
            _count(rows, at, table)
        else:
            _count_some(rows, valid, at, table)

    def merge(self, rows: Int64s, parts: Int64s, at: int, table: Int64s) -> None:
        add_columns(rows, parts, at, self.width, table)

    def grow(self, size: int) -> None:
        self.window.grow(size)

    def counts(self, events: Events, parts: Int64s) -> tuple[Int64s, Int64s]:
        """As ``update``, in plain integers."""
        return self.window.shift(events, parts[:, 0] * events.sign)

    def update(self, events: Events, parts: Int64s) -> tuple[pa.Array, pa.Array]:
        before, after = self.counts(events, parts)
        return pa.array(before), pa.array(after)

    def regroup(self, codes: Int64s, remap: Int64s) -> None:
        self.window.regroup(codes, remap)
