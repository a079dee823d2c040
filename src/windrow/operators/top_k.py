"""TOP k (ORDER BY ... LIMIT k): the first k rows of a relation in an order, at every instant.

The live rows are kept with their rank. In each interval the rows that came are ranked among those
that lived; then the changes are carried out in order of time on a counting tree over ranks, and
wherever the first k differ from what they were, the difference goes out. Rows that tie on the
order's keys are told apart by their other columns, so the answer does not depend on arrival.

Cost per interval: ranking what lives and what came, then O(k log n) per instant that changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from windrow.columns.arrays import order_keys
from windrow.columns.delta import Delta
from windrow.columns.evaluate import evaluate
from windrow.columns.kernels import int64, ints, ints_out, kernel, signs
from windrow.core.patterns import UpdatePattern
from windrow.core.time import FOREVER
from windrow.operators.base import Saved, below
from windrow.operators.state.buffer import StateBuffer
from windrow.plan.nodes import OrderKey

Int64s = npt.NDArray[np.int64]


@kernel(ints_out, ints)
def _fenwick(held):  # type: ignore[no-untyped-def]
    """A tree over prefix counts of ``held``, index 0 unused."""
    tree = np.zeros(len(held) + 1, np.int64)
    for i in range(1, len(tree)):
        tree[i] += held[i - 1]
        parent = i + (i & -i)
        if parent < len(tree):
            tree[parent] += tree[i]
    return tree


@kernel(int64, ints_out, int64)
def _first_of(tree, k):  # type: ignore[no-untyped-def]
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
def _first_k(rank, time, sign, count, tree, held, shown, out_rank, out_time, out_sign):  # type: ignore[no-untyped-def]
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
            fresh[j] = _first_of(tree, j + 1) if j < present else -1
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


class FirstK:
    """See the module. Announced rows live for ever until they are withdrawn."""

    def __init__(
        self,
        schema: pa.Schema,
        pattern: UpdatePattern,
        keys: Sequence[OrderKey],
        count: int,
        scan: bool = False,
    ) -> None:
        self.schema, self.keys, self.count = schema, tuple(keys), count
        self.buffer = StateBuffer(schema, pattern, scan)

    def process(self, inputs: Sequence[Delta], now: int) -> Delta:
        (delta,) = inputs
        buffer = self.buffer
        living = buffer.living()
        plus = delta.sign > 0
        positive, negative = delta.filter(plus), delta.filter(~plus)
        first = buffer.insert(positive)
        gone = buffer.withdraw(negative)
        expired, expiry = buffer.expire(now)
        came = np.arange(first, buffer.next, dtype=np.int64)
        if not len(came) and not len(gone) and not len(expired):
            return Delta.empty(self.schema)
        answer = self._play(
            np.concatenate([living, came]), len(living),
            np.concatenate([came, gone, expired]).astype(np.int64),
            np.concatenate([positive.ts, negative.ts, expiry]), len(came),
        )  # fmt: skip
        buffer.reclaim()
        return answer

    def _play(
        self, everything: Int64s, before: int, position: Int64s, time: Int64s, came: int
    ) -> Delta:
        rows = self.buffer.rows.take(everything)
        order = self._order(rows)
        rank = np.empty(len(everything), np.int64)
        rank[order] = np.arange(len(everything))
        sign = np.full(len(position), -1, np.int8)
        sign[:came] = 1
        at = np.searchsorted(everything, position)
        by_time = np.argsort(time, kind="stable")
        held = np.zeros(len(everything), np.int64)
        held[rank[:before]] = 1
        tree = _fenwick(held)
        count = min(self.count, len(everything))
        shown = np.full(count, -1, np.int64)
        present = np.flatnonzero(held)[:count]
        shown[: len(present)] = present
        events = (rank[at][by_time], time[by_time], sign[by_time])
        room = 4 * len(position) + 64
        while True:
            state = tree.copy(), held.copy(), shown.copy()
            out = [np.empty(room, np.int64) for _ in range(3)]
            changes = _first_k(*events, count, *state, *out)
            if changes <= room:
                break
            room = changes
        ranks, times, signs_out = (a[:changes] for a in out)
        taken = self.buffer.rows.take(everything[order[ranks]])
        exp = np.full(changes, FOREVER, np.int64)
        return Delta(times, exp, signs_out.astype(np.int8), taken)

    def _order(self, rows: pa.RecordBatch) -> Int64s:
        """The rows' positions in the order asked for, NULLs last, ties by all columns."""
        keys = [(evaluate(k.expression, rows), k.descending) for k in self.keys]
        keys += [(column, False) for column in rows.columns]
        columns: list[Int64s] = []
        for column, descending in keys:
            values = _sortable(column)
            columns.append(~values if descending else values)
            if column.null_count:
                nulls = column.is_null().to_numpy(zero_copy_only=False)
                columns[-1] = np.where(nulls, np.iinfo(np.int64).max, columns[-1])
        return np.lexsort(columns[::-1])

    def size(self) -> int:
        return len(self.buffer)

    def save(self) -> Saved:
        saved = Saved()
        saved.add("live", self.buffer.save())
        return saved

    def load(self, segments: Mapping[str, pa.RecordBatch], meta: Mapping[str, Any]) -> None:
        self.buffer.load(below("live", segments), meta["live"])


def _sortable(column: pa.Array) -> Int64s:
    """Integers in the order of the values."""
    if not pa.types.is_string(column.type):
        return order_keys(column)
    ranks: Int64s = pc.rank(column, sort_keys="ascending", tiebreaker="dense").to_numpy()
    return ranks.astype(np.int64)
