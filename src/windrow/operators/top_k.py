"""TOP k (ORDER BY ... LIMIT k): the first k rows of a relation in an order, at every instant.

Only the *front* is ranked: some more than k rows, such that no live row outside comes before
any of them. Rows that come are compared with the last one of the front, the *bound*. In each
interval the front's changes are carried out in order of time on a counting tree over ranks, and
wherever the first k differ from what they were, the difference goes out. When the front has
shrunk below k the whole relation is ranked once, and a new front chosen; that takes k and more
departures from the front, so it is rare. Rows that tie on the order's keys are told apart by
their other columns, so the answer does not depend on arrival.

Cost per interval: ranking the front and what came, then O(k log k) per instant that changes the
front; and ranking all w rows once per k departures from the front. State: the live input.

Which of ranked rows are the first k present, as rows come and go, is known from a Fenwick tree: it
counts the rows present by rank, so the n-th of them is one descent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.columns.arrays import Int64s
from windrow.columns.delta import Delta, concat_rows, split_by_sign, take
from windrow.columns.evaluate import evaluate
from windrow.columns.kernels import int64, ints, ints_out, kernel, likely_room, signs
from windrow.columns.value_order import sorted_positions
from windrow.core.patterns import UpdatePattern
from windrow.core.thresholds import Threshold
from windrow.core.time import FOREVER
from windrow.operators.base import Saved, below
from windrow.operators.state.buffer import StateBuffer
from windrow.operators.state.tuple_index import END
from windrow.plan.nodes import OrderKey
from windrow.plan.physical.state_kinds import BufferKind, Kept


@kernel(ints_out, ints)
def counting_tree(held):  # type: ignore[no-untyped-def]
    """A tree over prefix counts of ``held``, index 0 unused."""
    tree = np.zeros(len(held) + 1, np.int64)
    for i in range(1, len(tree)):
        tree[i] += held[i - 1]
        parent = i + (i & -i)
        if parent < len(tree):
            tree[parent] += tree[i]
    return tree


@kernel(int64, ints_out, int64)
def nth_present(tree, k):  # type: ignore[no-untyped-def]
    """The rank of the k-th row present (from 1), by descending a Fenwick tree."""
    at, step = 0, 1
    while step * 2 < len(tree):
        step *= 2
    while step:
        if at + step < len(tree) and tree[at + step] < k:
            at += step
            k -= tree[at]
        step //= 2
    return at


@kernel(int64, ints, ints, signs, int64, ints_out, ints_out, ints_out, *[ints_out] * 3)
def changes_of_first(rank, time, sign, count, tree, held, shown, out_rank, out_time, out_sign):  # type: ignore[no-untyped-def]
    """Play events in order of time; how many changes of the first ``count`` rows there are.

    ``held[r]`` says whether the row of rank r is present; ``shown`` are the ranks of the first
    rows as last announced, -1 where there are fewer than ``count``.
    """
    changes, present, i = 0, 0, 0
    for r in range(len(held)):
        present += held[r]
    fresh = np.empty(count, np.int64)
    while i < len(rank):
        now = time[i]
        while i < len(rank) and time[i] == now:
            r = rank[i]
            held[r] += sign[i]
            present += sign[i]
            at = r + 1
            while at < len(tree):
                tree[at] += sign[i]
                at += at & -at
            i += 1
        for j in range(count):
            fresh[j] = nth_present(tree, j + 1) if j < present else -1
        # Both lists ascend, so one pass finds what left and what came.
        a, b = 0, 0
        while True:
            old = shown[a] if a < count else -1
            new = fresh[b] if b < count else -1
            if old < 0 and new < 0:
                break
            if old == new:
                a += 1
                b += 1
                continue
            leaves = new < 0 or (old >= 0 and old < new)
            if changes < len(out_rank):
                out_rank[changes] = old if leaves else new
                out_time[changes] = now
                out_sign[changes] = -1 if leaves else 1
            changes += 1
            if leaves:
                a += 1
            else:
                b += 1
        for j in range(count):
            shown[j] = fresh[j]
    return changes


NONE = np.empty(0, np.int64)
SPARE = Threshold(256)
"""Rows that a new front has beyond twice as many as are asked for. If none, it has just those."""


class FirstK:
    """The first k rows of a relation. Announced rows live for ever until they are withdrawn."""

    def __init__(
        self,
        schema: pa.Schema,
        pattern: UpdatePattern,
        keys: Sequence[OrderKey],
        count: int,
        kind: BufferKind | None = None,
    ) -> None:
        self.schema, self.keys, self.count = schema, tuple(keys), count
        self.buffer = StateBuffer(schema, pattern, kind)
        self.keep = 2 * count + SPARE.value if SPARE.value else count
        self.most = 2 * self.keep if SPARE.value else count
        self._start(NONE)

    def _start(self, living: Int64s) -> None:
        """Begin with everything in the front."""
        self.front = living
        self.bound: pa.RecordBatch | None = None  # its last row; None if no row is outside

    @property
    def state(self) -> tuple[Kept, ...]:
        return ((self.buffer.kind,),)

    def process(self, inputs: Sequence[Delta], now: int) -> Delta:
        (delta,) = inputs
        buffer, earlier = self.buffer, self.buffer.now
        positive, negative = split_by_sign(delta)
        first = buffer.insert(positive)
        gone = buffer.withdraw(negative)
        expired, expiry = buffer.expire(now)
        if not len(positive) and not len(gone) and not len(expired):
            return Delta.empty(self.schema)
        came = np.arange(first, buffer.next, dtype=np.int64)
        left = np.concatenate([gone, expired]).astype(np.int64)
        times = np.concatenate([negative.ts, expiry])
        inside = self._within_bound(positive.rows)
        rare = self.bound is not None and self._may_run_short(left)
        if rare:
            ends = buffer.life.view[: first - buffer.base, END]
            self.front = np.flatnonzero(ends > earlier) + buffer.base
            inside[:] = True
        ranked = np.concatenate([self.front, came[inside]])
        touched = np.isin(left, ranked)
        answer = Delta.empty(self.schema)
        if inside.any() or touched.any():
            answer = self._play(
                ranked, len(self.front),
                np.concatenate([came[inside], left[touched]]),
                np.concatenate([positive.ts[inside], times[touched]]), int(inside.sum()),
            )  # fmt: skip
        self._choose_front(ranked, now, rare)
        self._reclaim()
        return answer

    def _within_bound(self, rows: pa.RecordBatch) -> npt.NDArray[np.bool_]:
        """Which rows come before the bound."""
        count = rows.num_rows
        if self.bound is None or not count:
            return np.ones(count, np.bool_)
        order = self.order_of(concat_rows([self.bound, rows], self.schema))
        rank = np.empty(count + 1, np.int64)
        rank[order] = np.arange(count + 1)
        before: npt.NDArray[np.bool_] = rank[1:] < rank[0]
        return before

    def _may_run_short(self, left: Int64s) -> bool:
        """Whether a row outside the front could be needed at some instant."""
        return len(self.front) - int(np.isin(self.front, left).sum()) < self.count

    def _choose_front(self, ranked: Int64s, now: int, rare: bool) -> None:
        """What lives of the ranked rows; the first of them, if they are many."""
        ends = self.buffer.life.take(ranked)[:, END]
        self.front = ranked[ends > now]
        if rare:
            self.bound = None
        if len(self.front) > (self.keep if rare else self.most):
            rows = self.buffer.rows.take(self.front)
            order = self.order_of(rows)[: self.keep]
            self.bound = take(rows, order[-1:])
            self.front = np.sort(self.front[order])

    def _reclaim(self) -> None:
        move = self.buffer.reclaim()
        if move is not None:
            self.front = move.follow(self.front)

    def _play(
        self, everything: Int64s, before: int, position: Int64s, time: Int64s, came: int
    ) -> Delta:
        rows = self.buffer.rows.take(everything)
        order = self.order_of(rows)
        rank = np.empty(len(everything), np.int64)
        rank[order] = np.arange(len(everything))
        sign = np.full(len(position), -1, np.int8)
        sign[:came] = 1
        at = np.searchsorted(everything, position)
        by_time = np.argsort(time, kind="stable")
        held = np.zeros(len(everything), np.int64)
        held[rank[:before]] = 1
        tree = counting_tree(held)
        count = min(self.count, len(everything))
        shown = np.full(count, -1, np.int64)
        present = np.flatnonzero(held)[:count]
        shown[: len(present)] = present
        events = (rank[at][by_time], time[by_time], sign[by_time])
        room = likely_room(4 * len(position) + 64)
        while True:
            state = tree.copy(), held.copy(), shown.copy()
            out = [np.empty(room, np.int64) for _ in range(3)]
            changes = changes_of_first(*events, count, *state, *out)
            if changes <= room:
                break
            room = changes
        ranks, times, signs_out = (a[:changes] for a in out)
        taken = take(rows, order[ranks])
        exp = np.full(changes, FOREVER, np.int64)
        return Delta(times, exp, signs_out.astype(np.int8), taken)

    def order_of(self, rows: pa.RecordBatch) -> Int64s:
        """The rows' positions in the order asked for, NULLs last, ties by all columns."""
        keys = [(evaluate(k.expression, rows), k.descending) for k in self.keys]
        return sorted_positions(keys, rows.columns)

    def size(self) -> int:
        return len(self.buffer)

    def save(self) -> Saved:
        saved = Saved()
        saved.add("live", self.buffer.save())
        return saved

    def load(self, segments: Mapping[str, pa.RecordBatch], meta: Mapping[str, Any]) -> None:
        self.buffer.load(below("live", segments), meta["live"])
        self._start(self.buffer.living())
