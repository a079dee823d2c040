"""A relation as a stream of its changes: ``+``/``-`` at every instant, ISTREAM, DSTREAM.

At each instant these speak of the *net* change of the bag (Golab 2006, 2.1.3): a tuple that
expires while an equal one comes has not changed. The operator turns expiries into explicit
changes, so it keeps the relation's live tuples by expiry, and cancels inside each instant.

The window of the NT strategy announces every expiry too, by a negative tuple (Golab 2006, 2.3.3),
but below other operators and without netting.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.columns.delta import Delta, concat, split_by_sign
from windrow.columns.interner import Interner
from windrow.columns.netting import surplus
from windrow.core.patterns import UpdatePattern
from windrow.core.time import FOREVER
from windrow.operators.base import Saved, below
from windrow.operators.cancellation import Cancellation, mixed_instants
from windrow.operators.state.buffer import StateBuffer
from windrow.plan.physical.state_kinds import Kept


class Changelog:
    """``signs`` says which changes come out: +1 (ISTREAM), -1 (DSTREAM), or both.

    The output's own ``exp`` is FOREVER: it is a stream. With both signs a row with sign -1 says
    that the tuple left the relation at ``ts``, for whatever reason. ISTREAM and DSTREAM bring
    insertions only.
    """

    def __init__(
        self,
        schema: pa.Schema,
        pattern: UpdatePattern,
        signs: tuple[int, ...],
        scan: bool = False,
    ) -> None:
        self.schema, self.pattern, self.signs = schema, pattern, signs
        self._nothing = Delta.empty(schema)
        self.buffer = StateBuffer(schema, pattern, scan)
        texts = [pa.types.is_string(kind) for kind in schema.types]
        self._cheapest_first = sorted(range(len(texts)), key=texts.__getitem__)

    @property
    def state(self) -> tuple[Kept, ...]:
        stays = self.pattern is UpdatePattern.MONOTONIC
        return ((),) if stays else ((self.buffer.kind,),)

    def process(self, inputs: Sequence[Delta], now: int) -> Delta:
        (delta,) = inputs
        if self.pattern is UpdatePattern.MONOTONIC:
            return delta if 1 in self.signs else self._nothing
        positive, negative = split_by_sign(delta)
        first = self.buffer.insert(positive)
        withdrawn = self.buffer.withdraw(negative)
        expired, expiry = self.buffer.expire(now)
        # Within an instant what goes stands before what comes, as a reader expects it.
        if not len(positive) + len(withdrawn) + len(expired):
            self.buffer.reclaim()
            return self._nothing
        came = np.arange(first, first + len(positive))
        positions = np.concatenate([withdrawn, expired, came]).astype(np.int64)
        times = np.concatenate([negative.ts, expiry, positive.ts])
        sign = np.full(len(times), -1, np.int8)
        sign[len(times) - len(positive) :] = 1
        order = np.argsort(times, kind="stable")
        positions, times, sign = positions[order], times[order], sign[order]
        kept = self._net(positions, times, sign)
        if len(self.signs) == 1:
            kept &= sign == self.signs[0]
        if not kept.all():
            positions, times, sign = positions[kept], times[kept], sign[kept]
        rows = self.buffer.rows.take(positions)
        self.buffer.reclaim()
        if len(self.signs) == 1:
            sign = np.ones(len(times), np.int8)
        return Delta(times, np.full(len(times), FOREVER, np.int64), sign, rows)

    def _net(self, positions: Any, times: Any, sign: Any) -> Any:
        """Which events are left after equal tuples of opposite sign cancelled in their instant."""
        kept = np.ones(len(times), np.bool_)
        kinds = mixed_instants(times, sign)
        if not kinds.any():
            return kept
        few = Cancellation(np.flatnonzero(kinds == 1), times, sign)
        others = np.flatnonzero(kinds == 2)
        if self._compare(few, positions):
            few.cancel(kept)
        else:
            others = np.union1d(others, few.events)
        if len(others):
            rows = self.buffer.rows.take(positions[others])
            interner = Interner([pa.int64(), *self.schema.types])
            codes = interner.codes([pa.array(times[others]), *rows.columns], len(others))
            kept[others] = surplus(codes, sign[others])
        return kept

    def _compare(self, few: Cancellation, positions: Any) -> bool:
        """Put events into classes by all columns; False if NULLs left it undecided."""
        decided = True
        for index in self._cheapest_first:
            if not len(few.events):
                return True
            column = self.buffer.rows.column(index, positions[few.events])
            if column.null_count:
                decided = False
            else:
                few.refine(column)
        return decided

    def live_rows(self) -> pa.RecordBatch:
        """The relation as it stands."""
        return self.buffer.rows.take(self.buffer.living())

    def size(self) -> int:
        return len(self.buffer)

    def save(self) -> Saved:
        saved = Saved()
        saved.add("live", self.buffer.save())
        return saved

    def load(self, segments: Mapping[str, pa.RecordBatch], meta: Mapping[str, Any]) -> None:
        self.buffer.load(below("live", segments), meta["live"])


class AnnounceExpiry:
    """NegativeTuples: what leaves the window goes out with sign -1 at the instant of leaving.

    Operators above never look at expiries; they process twice as many tuples instead. A tuple that
    lives for one interval only is announced twice in it.
    """

    def __init__(self, schema: pa.Schema, pattern: UpdatePattern) -> None:
        self.schema = schema
        self.buffer = StateBuffer(schema, pattern)

    @property
    def state(self) -> tuple[Kept, ...]:
        return ((self.buffer.kind,),)

    def process(self, inputs: Sequence[Delta], now: int) -> Delta:
        (delta,) = inputs
        self.buffer.insert(delta)
        expired, expiry = self.buffer.expire(now)
        leaving = Delta.withdrawals(expiry, self.buffer.rows.take(expired))
        self.buffer.reclaim()
        return concat([leaving, Delta.insertions(delta.ts, delta.rows)], self.schema)

    def size(self) -> int:
        return len(self.buffer)

    def save(self) -> Saved:
        saved = Saved()
        saved.add("window", self.buffer.save())
        return saved

    def load(self, segments: Mapping[str, pa.RecordBatch], meta: Mapping[str, Any]) -> None:
        self.buffer.load(below("window", segments), meta["window"])
