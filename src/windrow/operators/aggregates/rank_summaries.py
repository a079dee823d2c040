"""APPROXIMATE MEDIAN and QUANTILE: of each sub-window and group at most ``RANKS`` values.

While a sub-window fills, its values are counted exactly. When it comes into the window, a group of
more than RANKS different values is cut, in the order of values, into blocks of b; the least and the
greatest value are blocks of their own. The middle value of each block stands for all of it, as
often as there are values in it. How many values are up to x is then wrong by at most b // 2, the
*error*, whatever x is, and over the sub-windows of a window errors add up (summaries of sorted
blocks: Arasu and Manku 2004). With E their sum, the value at place k is between those that the
summaries have at k - E and at k + E: a guarantee, not a probability.

What is kept depends on the values alone: not on their order, on how input was cut, on coins as in
sketches such as KLL, or on which groups are where. A group of few values is exact.

Cost: O(log) per row that comes; per sub-window and group a sort of its values, and an insertion
of at most RANKS into a tree and later a removal (``windrow.operators.aggregates.quantiles``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.columns.arrays import Int64s, order_keys, validity
from windrow.columns.interner import Interner
from windrow.columns.kernels import flags, int64, ints, ints_out, kernel
from windrow.operators.aggregates.counter_scans import (
    AskedWindows,
    ScannedWindows,
    scan_counters,
)
from windrow.operators.aggregates.events import ArgumentValues, Events
from windrow.operators.aggregates.quantiles import BoundedQuantile, quantiles_between
from windrow.operators.aggregates.value_counts import ValueCounts
from windrow.operators.base import Saved, below
from windrow.operators.state.sub_window_store import COMES, LEAVES, DueSummaries, SubWindows
from windrow.operators.sub_window_clocks import SubWindowClock
from windrow.plan.physical.sliding_state import RANKS

COUNT, ERROR = 0, 1
"""Columns of a summary's rows; the error is with the first row of a group and sub-window."""


@kernel(int64, ints, flags, ints, int64, ints_out, ints_out, ints_out)
def thin_ranks(starts, valid, counts, most, kept, weights, errors):  # type: ignore[no-untyped-def]
    """Which rows stay of each group's, which begin at ``starts`` and are sorted, NULLs last.

    The number of rows that stay, their indexes, how often each counts, and errors.
    """
    out = 0
    for g in range(len(starts) - 1):
        first, stop = starts[g], starts[g + 1]
        different, total = 0, 0
        for i in range(first, stop):
            if valid[i]:
                different += 1
                total += counts[i]
        opening = out
        if different <= most:
            for i in range(first, stop):
                kept[out], weights[out], errors[out] = i, counts[i], 0
                out += 1
            continue
        block = -(-(total - 2) // (most - 2))
        upto, row, start = counts[first], first, 0  # values up to ``row``; where the block starts
        while start < total:
            size = 1 if start == 0 or start == total - 1 else min(block, total - 1 - start)
            middle = start + (size - 1) // 2
            while upto <= middle:
                row += 1
                upto += counts[row]
            if out > opening and kept[out - 1] == row:
                weights[out - 1] += size
            else:
                kept[out], weights[out], errors[out] = row, size, 0
                out += 1
            start += size
        errors[opening] = block // 2
    return out


class RankSummaries:
    """Summaries of one argument, and ``quantiles`` over them; see the module."""

    def __init__(
        self, kind: pa.DataType, quantiles: Sequence[BoundedQuantile], most: int = RANKS
    ) -> None:
        self.quantiles, self.most = tuple(quantiles), most
        self.open = ValueCounts(kind, ())
        self.closed = ValueCounts(kind, (), width=2)

    def __len__(self) -> int:
        return len(self.open) + len(self.closed)

    @property
    def stores(self) -> tuple[SubWindows, ...]:
        return self.open.store, self.closed.store

    def fold(self, codes: Int64s, comes: Int64s, leaves: Int64s, argument: pa.Array) -> Int64s:
        return self.open.fold(codes, comes, leaves, argument)

    def merge(
        self, codes: Int64s, comes: Int64s, leaves: Int64s, argument: pa.Array, counts: Int64s
    ) -> None:
        """Take values in that senders have counted."""
        self.open.merge(codes, comes, leaves, argument, counts)

    def advance(self, clock: SubWindowClock, codes: int) -> list[tuple[pa.Array, pa.Array]]:
        """What the quantiles answer, each its estimate and its bounds."""
        self.close(clock.now)
        store = self.closed.store
        return self._update(clock.translate(store.advance(clock.now)), codes)

    def close(self, reached: int) -> None:
        """Every row up to ``reached`` has come: summarise the sub-windows that have."""
        counts = self.open
        due = counts.store.advance(reached)
        positions = due.position[due.sign > 0]
        if len(positions):
            values = counts.values.take(positions).column(0)
            comes, leaves = counts.store.instants_of(positions)
            groups = counts.groups.take(positions)
            often = counts.store.table.take(positions)[:, 0]
            valid = validity(values)
            valid = np.ones(len(positions), np.bool_) if valid is None else valid
            order = np.lexsort((order_keys(values), ~valid, groups, leaves, comes))
            of = np.stack([comes, leaves, groups], axis=1)[order]
            new = np.append(True, (of[1:] != of[:-1]).any(axis=1))
            starts = np.append(np.flatnonzero(new), len(order)).astype(np.int64)
            kept, weights, errors = (np.empty(len(order), np.int64) for _ in range(3))
            count = thin_ranks(starts, valid[order], often[order], self.most, kept, weights, errors)
            at = order[kept[:count]]
            parts = np.stack([weights[:count], errors[:count]], axis=1)
            self.closed.merge(groups[at], comes[at], leaves[at], values.take(pa.array(at)), parts)
        counts.forget(COMES)
        self.closed.store.now = reached

    def _update(self, due: DueSummaries, codes: int) -> list[tuple[pa.Array, pa.Array]]:
        groups = self.closed.groups.take(due.position)
        events = Events.sort_by_code(groups, due.time, due.position, due.sign, codes)
        values = ArgumentValues(self.closed.values.columns[0])(events.position)
        parts = self.closed.store.table.take(events.position) * events.sign[:, None].astype(
            np.int64
        )
        weight, error = (np.ascontiguousarray(parts[:, i]) for i in (COUNT, ERROR))
        found = []
        for quantile in self.quantiles:
            quantile.grow(codes)
            found += quantile.weigh(events, values, weight, error)
        return found

    def replay(self, codes: int) -> None:
        """Let the quantiles take in what is in the window."""
        due = self.closed.store.living()
        if len(due.position):
            self._update(due, codes)

    def forget(self, by: int = LEAVES, until: int | None = None) -> None:
        """Drop the sub-windows that have left, those ``until`` then only if it is given."""
        self.closed.forget(by, until)

    def regroup(self, live: Int64s, remap: Int64s) -> None:
        """Groups got new codes; only ``live`` (old ones) are in use."""
        for quantile in self.quantiles:
            quantile.regroup(live, remap)
        self.open.regroup(live, remap)
        self.closed.regroup(live, remap)

    def save(self, groups: Interner) -> Saved:
        saved = Saved()
        saved.add("open", self.open.save(groups))
        saved.add("closed", self.closed.save(groups))
        return saved

    def load(
        self, segments: Mapping[str, pa.RecordBatch], meta: Mapping[str, Any], groups: Interner
    ) -> None:
        """Fill fresh summaries; groups get codes as they are met. ``replay`` is to follow."""
        self.open.load(below("open", segments), meta["open"], groups)
        self.closed.load(below("closed", segments), meta["closed"], groups)


class RankValue:
    """QUANTILE of many windows by summaries: the estimate or, at ``place`` 1 and 2, its bounds."""

    def __init__(self, kind: pa.DataType, fraction: float, place: int) -> None:
        self.kind, self.fraction, self.place = kind, fraction, place

    def scan(
        self, parts: Sequence[RankSummaries], asked: AskedWindows
    ) -> tuple[ScannedWindows, int]:
        return scan_counters([part.closed for part in parts], asked)

    def read(self, scanned: ScannedWindows) -> pa.Array:
        low, high, share = scanned.low, scanned.high, scanned.share
        if self.place:
            end, wrong = (scanned.least, scanned.most)[self.place - 1], scanned.wrong > 0
            low, high = np.where(wrong, end, low), np.where(wrong, end, high)
            share = np.where(wrong, np.minimum(share, 0.0), share)
        return quantiles_between(low, high, share, self.kind)
