"""Join of n windows on a common key (Golab 2006, ch. 5): one operator, any probing order.

Every branch keeps its live tuples, found by key as in the two-way join (``join_side``). The new
tuples of one branch probe the others in the global join order, those of one value together
(``join_combinations``): the first branch's chain, for each partner the second's, and so on; a
combination lives where all its tuples do, and is given up as soon as its life is empty. Within an
interval each combination is found once: the new tuples of branch i meet the old and new tuples of
earlier branches and the old ones of later branches.

So this is Algorithm 2 when an interval is an instant, with expired tuples dropped at its end;
Algorithm 3 if they are dropped later, since lives are compared anyway; and for a longer interval
Algorithm 5, because a combination that came and went inside it is found as well. Algorithm 4 is
the same over windows that slide, where short lives are empty. STRICT inputs need nothing more:
a negative tuple sets the END of its counterpart, as 5.2.2 suggests for restore semantics.

Changing the order costs nothing: the state is the branches' windows, whatever the order. So the
rates and numbers of values that are observed are looked at again whenever about a window's worth
of tuples has come, and the ordering heuristic (5.3.2) is applied to them. The order is saved, and
with it what has been observed since it was chosen: whoever goes on from saved state probes as the
uninterrupted run does, whatever the plan says.

Cost: per value of an interval, the partial combinations that the order makes it form; per tuple,
its results.
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
from windrow.columns.time_order import time_order
from windrow.core.patterns import UpdatePattern
from windrow.core.thresholds import Threshold
from windrow.core.time import BEGINNING
from windrow.operators.base import Saved, below
from windrow.operators.join_combinations import CombinationProbe, Combinations
from windrow.operators.join_side import JoinSide, renew_coding
from windrow.operators.state.held_tuples import HeldInput
from windrow.operators.state.tuple_index import END, EXP, TS
from windrow.plan.costs.join_order import WindowedStream, best_order, order_cost
from windrow.plan.expressions import Expression
from windrow.plan.physical.state_kinds import Kept

REVIEW_AFTER = Threshold(1024)
"""The join order is not looked at again before so many tuples have come."""
WORTH = 0.9
"""An order that is expected to save less than a tenth is not worth a change."""


class MultiwayJoin:
    """New tuples of each input probe the others in the global order; nothing is kept of pairs.

    ``buckets`` are those of a hash table on each input; none means a chain for each value.
    """

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
        buckets: int = 0,
    ) -> None:
        self.schema, self.residual, self.kinds = schema, residual, tuple(kinds)
        self.order, self.buckets = tuple(order), buckets
        self.interner = Interner(self.kinds)
        self.sides = [
            JoinSide(*parts, scan, buckets) for parts in zip(schemas, patterns, keys, strict=True)
        ]
        self._finder = CombinationProbe(self.sides, buckets)
        self.now = BEGINNING
        self._since, self._came = BEGINNING, np.zeros(len(self.sides), np.int64)

    @property
    def state(self) -> tuple[Kept, ...]:
        return tuple(side.kept for side in self.sides)

    @property
    def visits(self) -> int:
        """How many tuples probes have looked at in chains."""
        return self._finder.visits

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
            buckets = self.buckets or values
            observed.append(WindowedStream(float(rate), size / rate, values, buckets))
        best = best_order(observed)
        if order_cost(observed, best) < WORTH * order_cost(observed, self.order):
            self.order = best
        self._since, self._came = now, np.zeros(len(self.sides), np.int64)

    def _probe(self, me: int, at: Int64s, whole_before: int) -> Combinations:
        """Withdrawn partners count, but not those of branches before ``whole_before``."""
        found = self._finder.find(me, at, self.order, self.now, whole_before, len(self.interner))
        if self.residual is None or not len(found):
            return found
        return found.at(np.flatnonzero(selection_mask(self.residual, self._rows(found.places))))

    def _rows(self, places: Int64s) -> pa.RecordBatch:
        columns: list[pa.Array] = []
        for side, positions in zip(self.sides, places, strict=True):
            columns += side.buffer.rows.take(positions).columns
        return batch_of(columns, self.schema, places.shape[1])

    def _emit(self, fresh: Sequence[Combinations], cut: Sequence[Combinations]) -> Delta:
        found = Combinations.concatenate([*fresh, *cut])
        if not len(found):
            return Delta.empty(self.schema)
        lives, coming = found.lives, sum(map(len, fresh))
        short = np.flatnonzero(lives[END] < lives[EXP])
        times = np.concatenate([lives[TS, :coming], lives[END, short]])
        order = time_order(times)
        at = np.concatenate([np.arange(coming), short])[order]
        sign = np.where(order < coming, 1, -1).astype(np.int8)
        return Delta(times[order], lives[EXP, at], sign, self._rows(np.take(found.places, at, 1)))

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
        order = {"order": list(self.order), "since": self._since, "came": self._came.tolist()}
        saved = Saved(meta={"now": self.now, **order})
        for number, side in enumerate(self.sides):
            saved.add(str(number), side.buffer.save())
        return saved

    def load(self, segments: Mapping[str, pa.RecordBatch], meta: Mapping[str, Any]) -> None:
        self.now = int(meta["now"])
        if "order" in meta:  # which older state has not
            self.order = tuple(map(int, meta["order"]))
            self._since, self._came = int(meta["since"]), np.array(meta["came"], np.int64)
        for number, side in enumerate(self.sides):
            side.buffer.load(below(str(number), segments), meta[str(number)])
            side.restart(self.interner)
