"""The NT strategy's window: every expiry is announced by a negative tuple (Golab 2006, 2.3.3).

The window is kept, and what leaves it goes out with sign -1 at the instant at which it leaves.
Operators above never look at expiries; they process twice as many tuples instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from windrow.columns.delta import Delta, concat
from windrow.core.patterns import UpdatePattern
from windrow.operators.base import Saved, below
from windrow.operators.state.buffer import StateBuffer
from windrow.plan.physical.state_kinds import Kept


class AnnounceExpiry:
    """NegativeTuples. A tuple that lives for one interval only is announced twice in it."""

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
