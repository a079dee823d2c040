"""Join of n windows on a common key (Golab 2006, ch. 5): one operator, any probing order.

Every branch keeps its live tuples, chained by key from new to old as in the two-way join. A new
tuple of one branch probes the others in the global join order: the first branch's chain, for
each partner the second's, and so on; a combination lives where all its tuples do, and is given
up as soon as its life is empty. Within an interval each combination is found once: the new
tuples of branch i meet the old and new tuples of earlier branches and the old ones of later
branches.

So this is Algorithm 2 when an interval is an instant, with expired tuples dropped at its end;
Algorithm 3 if they are dropped later, since lives are compared anyway; and for a longer interval
Algorithm 5, because a combination that came and went inside it is found as well. Algorithm 4 is
the same over windows that slide, where short lives are empty. STRICT inputs need nothing more:
a negative tuple sets the END of its counterpart, as 5.2.2 suggests for restore semantics.

Changing the order costs nothing: the state is the branches' windows, whatever the order. So the
rates and numbers of values that are observed are looked at again whenever about a window's worth
of tuples has come, and the ordering heuristic (5.3.2) is applied to them.

Cost: per new tuple, the partial combinations that the order makes it form.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.columns.arrays import Int64s
from windrow.columns.delta import Delta, batch_of
from windrow.columns.evaluate import selection_mask
from windrow.columns.interner import Interner
from windrow.columns.kernels import helper, likely_room
from windrow.core.patterns import UpdatePattern
from windrow.core.thresholds import Threshold
from windrow.core.time import BEGINNING
from windrow.operators.base import Saved, below
from windrow.operators.join_pairs import JoinSide, renew_coding
from windrow.operators.state.held_tuples import HeldInput
from windrow.operators.state.tuple_index import END, EXP, LINK, TS
from windrow.plan.costs.join_order import WindowedStream, best_order, order_cost
from windrow.plan.expressions import Expression
from windrow.plan.physical.state_kinds import Kept
from windrow.windows.chains import older

REVIEW_AFTER = Threshold(1024)
"""The join order is not looked at again before so many tuples have come."""
WORTH = 0.9
"""An order that is expected to save less than a tenth is not worth a change."""


@helper
def _combine(  # type: ignore[no-untyped-def]
    at, me, codes, order, heads, lives, bases, whole, since, out, lifetimes
):
    """All combinations of the tuples ``at`` of branch ``me`` with one of each other branch.

    ``order`` are the other branches in probing order. ``whole[b]`` leaves out partners of branch
    b that were withdrawn; only combinations that end after ``since`` count. Compiled once for
    each number of branches. The answer is how many there are, also beyond the room in ``out``.
    """
    depth, count = len(order), 0
    place = np.empty(depth, np.int64)
    start, end = np.empty(depth + 1, np.int64), np.empty(depth + 1, np.int64)
    exp = np.empty(depth + 1, np.int64)
    for i in range(len(at)):
        mine = at[i] - bases[me]
        code = codes[mine]
        start[0], end[0], exp[0] = (
            lives[me][mine, TS],
            lives[me][mine, END],
            lives[me][mine, EXP],
        )
        level = 0
        place[0] = heads[order[0]][code]
        while level >= 0:
            b = order[level]
            p = place[level]
            if p < bases[b]:
                level -= 1
                continue
            row = p - bases[b]
            place[level] = older(p, bases[b], LINK, lives[b])
            s = max(start[level], lives[b][row, TS])
            e = min(end[level], lives[b][row, END])
            if s >= e or e <= since:
                continue
            if whole[b] and lives[b][row, END] != lives[b][row, EXP]:
                continue
            x = min(exp[level], lives[b][row, EXP])
            if level + 1 < depth:
                start[level + 1], end[level + 1], exp[level + 1] = s, e, x
                if count < len(out):
                    out[count, b] = p
                level += 1
                place[level] = heads[order[level]][code]
                continue
            if count < len(out):
                out[count, b] = p
                out[count, me] = at[i]
                lifetimes[count, TS], lifetimes[count, END], lifetimes[count, EXP] = s, e, x
                if count + 1 < len(out):
                    for c in range(out.shape[1]):
                        out[count + 1, c] = out[count, c]
            count += 1
    return count


class MultiwayJoin:
    """New tuples of each input probe the others in the global order; nothing is kept of pairs."""

    def __init__(
        self,
        schemas: Sequence[pa.Schema],
        patterns: Sequence[UpdatePattern],
        keys: Sequence[Sequence[Expression]],
        kinds: Sequence[pa.DataType],
        residual: Expression | None,
        order: Sequence[int],
        schema: pa.Schema,
        scan: bool = False,
    ) -> None:
        self.schema, self.residual, self.kinds = schema, residual, tuple(kinds)
        self.order = tuple(order)
        self.interner = Interner(self.kinds)
        self.sides = [JoinSide(*parts, scan) for parts in zip(schemas, patterns, keys, strict=True)]
        self.now = BEGINNING
        self._since, self._came = BEGINNING, np.zeros(len(self.sides), np.int64)

    @property
    def state(self) -> tuple[Kept, ...]:
        return tuple((side.buffer.kind,) for side in self.sides)

    def process(self, inputs: Sequence[Delta], now: int) -> Delta:
        added = [s.add(d, self.interner) for s, d in zip(self.sides, inputs, strict=True)]
        for side in self.sides:
            side.rings.reserve(len(self.interner))
        # Until the new ones are linked, chains lead to old tuples only.
        cut = [
            self._probe(number, gone, whole_before=number) for number, (_, gone) in enumerate(added)
        ]
        fresh = []
        for number, (new, _) in enumerate(added):
            fresh.append(self._probe(number, new, whole_before=0))
            self.sides[number].link(new, len(self.interner))
        answer = self._emit(fresh, cut)
        self._forget(now)
        self._review(np.array([len(new) for new, _ in added]), now)
        return answer

    def _review(self, came: Int64s, now: int) -> None:
        """Choose the join order anew, once enough tuples have come since it was last chosen."""
        if self._since == BEGINNING:
            self._since = now
            return
        self._came += came
        held = sum(len(side.buffer) for side in self.sides)
        if int(self._came.sum()) < max(held, REVIEW_AFTER.value) or now == self._since:
            return
        rates = np.maximum(self._came / (now - self._since), 1e-9)
        observed = []
        for side, rate in zip(self.sides, rates, strict=True):
            size = max(len(side.buffer), 1)
            values = max(len(np.unique(side.codes.view)), 1)
            observed.append(WindowedStream(float(rate), size / rate, values, values))
        best = best_order(observed)
        if order_cost(observed, best) < WORTH * order_cost(observed, self.order):
            self.order = best
        self._since, self._came = now, np.zeros(len(self.sides), np.int64)

    def _probe(self, me: int, at: Int64s, whole_before: int) -> tuple[Int64s, Int64s]:
        """Combinations as positions per branch, and their lives; all withdrawn partners count
        but those of branches before ``whole_before``."""
        width = len(self.sides)
        if not len(at):
            return np.empty((0, width), np.int64), np.empty((0, 4), np.int64)
        order = np.array([b for b in self.order if b != me], np.int64)
        whole = np.arange(width) < whole_before
        heads = tuple(side.heads for side in self.sides)
        lives = tuple(side.buffer.life.view for side in self.sides)
        bases = np.array([side.buffer.base for side in self.sides], np.int64)
        room = likely_room(2 * len(at) + 64)
        while True:
            out, lifetimes = np.empty((room, width), np.int64), np.empty((room, 4), np.int64)
            codes = self.sides[me].codes.view
            count = _combine(
                at, me, codes, order, heads, lives, bases, whole, self.now, out, lifetimes
            )
            if count <= room:
                return self._matching(out[:count], lifetimes[:count])
            room = count

    def _matching(self, found: Int64s, lifetimes: Int64s) -> tuple[Int64s, Int64s]:
        if self.residual is None or not len(found):
            return found, lifetimes
        kept = selection_mask(self.residual, self._rows(found))
        return found[kept], lifetimes[kept]

    def _rows(self, found: Int64s) -> pa.RecordBatch:
        columns: list[pa.Array] = []
        for number, side in enumerate(self.sides):
            columns += side.buffer.rows.take(np.ascontiguousarray(found[:, number])).columns
        return batch_of(columns, self.schema, len(found))

    def _emit(
        self, fresh: Sequence[tuple[Int64s, Int64s]], cut: Sequence[tuple[Int64s, Int64s]]
    ) -> Delta:
        found = np.concatenate([f for f, _ in [*fresh, *cut]])
        lives = np.concatenate([n for _, n in [*fresh, *cut]])
        coming = sum(len(f) for f, _ in fresh)
        short = np.flatnonzero(lives[:, END] < lives[:, EXP])
        at = np.concatenate([np.arange(coming), short])
        times = np.concatenate([lives[:coming, TS], lives[short, END]])
        order = np.argsort(times, kind="stable")
        at = at[order]
        sign = np.where(order < coming, 1, -1).astype(np.int8)
        exp = np.ascontiguousarray(lives[at, EXP])
        return Delta(times[order], exp, sign, self._rows(found[at]))

    def _forget(self, now: int) -> None:
        self.now = now
        for side in self.sides:
            side.forget(now)
        self.interner = renew_coding(self.interner, self.sides)

    def held_inputs(self) -> Mapping[str, HeldInput]:
        return {str(n): HeldInput(n, side.buffer) for n, side in enumerate(self.sides)}

    def size(self) -> int:
        return sum(len(side.buffer) for side in self.sides)

    def save(self) -> Saved:
        saved = Saved(meta={"now": self.now})
        for number, side in enumerate(self.sides):
            saved.add(str(number), side.buffer.save())
        return saved

    def load(self, segments: Mapping[str, pa.RecordBatch], meta: Mapping[str, Any]) -> None:
        self.now = int(meta["now"])
        for number, side in enumerate(self.sides):
            side.buffer.load(below(str(number), segments), meta[str(number)])
            side.restart(self.interner)
