"""``[ROWS n]``: the last n tuples. A tuple leaves when the n-th one after it comes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.columns.delta import Delta, concat
from windrow.core.patterns import UpdatePattern
from windrow.operators.base import Saved, below
from windrow.operators.state.buffer import StateBuffer
from windrow.operators.state.tuple_index import TS
from windrow.plan.physical.state_kinds import Kept, Structure


class LastRows:
    """Expiry depends on what comes, so it is told by negative tuples (Golab 2006, 2.3.2).

    Of a tuple that is pushed out at the instant at which it came, nothing is said.
    """

    def __init__(self, schema: pa.Schema, count: int) -> None:
        self.schema, self.count = schema, count
        self.buffer = StateBuffer(schema, UpdatePattern.MONOTONIC)

    @property
    def state(self) -> tuple[Kept, ...]:
        return ((Structure.LAST_ROWS,),)

    def process(self, inputs: Sequence[Delta], now: int) -> Delta:
        (delta,) = inputs
        if not len(delta):
            return delta
        buffer = self.buffer
        first = buffer.insert(delta)
        arrivals = buffer.life.view[:, TS]
        pushing = np.arange(max(first, buffer.base + self.count), buffer.next, dtype=np.int64)
        leaving = pushing - self.count
        at = arrivals[pushing - buffer.base]
        seen = arrivals[leaving - buffer.base] < at
        unseen = leaving[~seen & (leaving >= first)] - first
        shown = np.ones(len(delta), np.bool_)
        shown[unseen] = False
        negatives = Delta.withdrawals(at[seen], buffer.rows.take(leaving[seen]))
        buffer.now = now
        buffer.kill(leaving, now)
        buffer.reclaim()
        return concat([negatives, delta.filter(shown)], self.schema)

    def size(self) -> int:
        return len(self.buffer)

    def save(self) -> Saved:
        saved = Saved()
        saved.add("last", self.buffer.save())
        return saved

    def load(self, segments: Mapping[str, pa.RecordBatch], meta: Mapping[str, Any]) -> None:
        self.buffer.load(below("last", segments), meta["last"])
