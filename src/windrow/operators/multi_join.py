"""Join of n windows on a common key (Golab 2006, ch. 5): one operator, any probing order.

Every branch keeps its live tuples, found by key as in the two-way join (``join_side``). The new
tuples of one branch probe the others in the global join order, those of one value together
(``join_combinations``): the first branch's chain, for each partner the second's, and so on; a
combination lives where all its tuples do, and is given up as soon as its life is empty. Within an
interval each combination is found once: the new tuples of branch i meet the old and new tuples of
earlier branches and the old ones of later branches.

So this is Algorithm 2 when an interval is an instant, with expired tuples dropped at its end;
Algorithm 3 if they are dropped later, since lives are compared anyway; and for a longer interval
Algorithm 5, because a combination that came and went inside it is found as well. Over windows that
slide it is Algorithm 4: short lives are empty there, and what expires before the next evaluation is
dropped at once (``windrow.plan.physical.evaluation_period``). STRICT inputs need nothing more:
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
from windrow.operators.join_combinations import CombinationProbe
from windrow.operators.join_side import JoinSide, renew_coding
from windrow.operators.state.held_tuples import HeldInput
from windrow.operators.state.tuple_index import END, EXP, TS
from windrow.plan.costs.join_order import WindowedStream, best_order, order_cost
from windrow.plan.expressions import Expression
from windrow.plan.physical.state_kinds import BufferKind, Kept

REVIEW_AFTER = Threshold(1024)
"""The join order is not looked at again before so many tuples have come."""
WORTH = 0.9
"""An order that is expected to save less than a tenth is not worth a change."""


class MultiwayJoin:
    """New tuples of each input probe the others in the global order; nothing is kept of pairs.

    ``buckets`` are those of a hash table on each input; none means a chain for each value. With a
    ``period`` tuples come and go at its multiples only, and those that go at the next are dropped.
    What has expired is dropped after every evaluation, or when ``expiry`` ticks have passed since
    it was the last time (Algorithm 3); only evaluations of one tuple gain by it; no plan has it.
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
        buffers: Sequence[BufferKind] | None = None,
        buckets: int = 0,
        period: int = 0,
        expiry: int = 0,
    ) -> None:
        self.schema, self.residual, self.kinds = schema, residual, tuple(kinds)
        self.order, self.buckets = tuple(order), buckets
        self.interner = Interner(self.kinds)
        kept: Sequence[BufferKind | None] = buffers or [None] * len(schemas)
        each = zip(schemas, patterns, keys, kept, strict=True)
        self.sides = [JoinSide(*parts, buckets, period) for parts in each]
        self._finder = CombinationProbe(self.sides, buckets)
        self.now = BEGINNING
        self.expiry, self._dropped = expiry, BEGINNING
        self._since, self._came = BEGINNING, [0] * len(self.sides)

    @property
    def state(self) -> tuple[Kept, ...]:
        return tuple(side.state for side in self.sides)

    @property
    def visits(self) -> int:
        """How many tuples probes have looked at in chains."""
        return self._finder.visits

    def process(self, inputs: Sequence[Delta], now: int) -> Delta:
        added = [s.add(d, self.interner) for s, d in zip(self.sides, inputs, strict=True)]
        for side in self.sides:
            side.rings.reserve(len(self.interner))
        found = self._finder
        found.start(len(self.interner))
        # Until the new ones are linked, chains lead to old tuples only.
        for number, (_, gone) in enumerate(added):
            found.find(number, gone, self.order, self.now, whole_before=number)
        going = len(found)
        for number, (new, _) in enumerate(added):
            found.find(number, new, self.order, self.now, whole_before=0)
            self.sides[number].link(new, len(self.interner))
        answer = self._emit(going)
        self._forget(now)
        self._review([len(new) for new, _ in added], now)
        return answer

    def _review(self, came: Sequence[int], now: int) -> None:
        """Choose the join order anew, once enough tuples have come since it was last chosen."""
        if self._since == BEGINNING:
            self._since = now
            return
        self._came = [before + new for before, new in zip(self._came, came, strict=True)]
        if sum(self._came) < max(self.size(), REVIEW_AFTER.value) or now == self._since:
            return
        observed = []
        for side, number in zip(self.sides, self._came, strict=True):
            rate = max(number / (now - self._since), 1e-9)
            size = max(len(side.buffer), 1)
            values = max(len(np.unique(side.codes.view)), 1)
            buckets = self.buckets or values
            observed.append(WindowedStream(rate, size / rate, values, buckets))
        best = best_order(observed)
        if order_cost(observed, best) < WORTH * order_cost(observed, self.order):
            self.order = best
        self._since, self._came = now, [0] * len(self.sides)

    def _emit(self, going: int) -> Delta:
        """The combinations that came, and as withdrawn those cut short.

        The first ``going`` have come earlier; of these some may expire when they are withdrawn.
        """
        found = self._finder
        if len(found) and self.residual is not None:
            places, _, _ = found.arrange(np.arange(len(found)))
            kept = np.flatnonzero(selection_mask(self.residual, self._rows(places)))
            found.keep(kept)
            going = int(np.searchsorted(kept, going))
        if not len(found):
            return Delta.empty(self.schema)
        if not (going or found.short):
            order = time_order(found.life(TS))
            places, ts, exp = found.arrange(order)
            return Delta(ts, exp, np.ones(len(order), np.int8), self._rows(places))
        short = np.flatnonzero(found.life(END) < found.life(EXP))
        times = np.concatenate([found.life(TS)[going:], found.life(END)[short]])
        order, coming = time_order(times), len(found) - going
        places, _, exp = found.arrange(np.concatenate([np.arange(going, len(found)), short])[order])
        sign = np.where(order < coming, np.int8(1), np.int8(-1))
        return Delta(times[order], exp, sign, self._rows(places))

    def _rows(self, places: Int64s) -> pa.RecordBatch:
        columns: list[pa.Array] = []
        for side, positions in zip(self.sides, places, strict=True):
            columns += side.buffer.rows.take(positions).columns
        return batch_of(columns, self.schema, places.shape[1])

    def _forget(self, now: int) -> None:
        self.now = now
        if self._dropped + self.expiry > now:
            return
        self._dropped = now
        for side in self.sides:
            side.forget(now)
        self.interner = renew_coding(self.interner, self.sides)

    def held_inputs(self) -> Mapping[str, HeldInput]:
        sides = enumerate(self.sides)
        return {str(n): HeldInput(n, side.buffer, period=side.period) for n, side in sides}

    def size(self) -> int:
        return sum(len(side.buffer) for side in self.sides)

    def save(self) -> Saved:
        order = {"order": list(self.order), "since": self._since, "came": self._came}
        saved = Saved(meta={"now": self.now, **order})
        for number, side in enumerate(self.sides):
            saved.add(str(number), side.buffer.save())
        return saved

    def load(self, segments: Mapping[str, pa.RecordBatch], meta: Mapping[str, Any]) -> None:
        self.now = int(meta["now"])
        if "order" in meta:  # which older state has not
            self.order = tuple(map(int, meta["order"]))
            self._since, self._came = int(meta["since"]), list(map(int, meta["came"]))
        for number, side in enumerate(self.sides):
            side.buffer.load(below(str(number), segments), meta[str(number)])
            side.restart(self.interner)
