"""RSTREAM: the whole relation at every beat of its rhythm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.columns.delta import Delta, split_by_sign
from windrow.core.patterns import UpdatePattern
from windrow.core.time import BEGINNING
from windrow.operators.base import Saved, below
from windrow.operators.state.buffer import StateBuffer
from windrow.operators.state.tuple_index import END, TS
from windrow.plan.physical.state_kinds import Kept


class RelationStream:
    """Emits each live tuple at every multiple of ``every`` in the interval.

    Cost: what it emits, which is the size of the relation times the number of beats.
    """

    def __init__(
        self, schema: pa.Schema, pattern: UpdatePattern, every: int, scan: bool = False
    ) -> None:
        self.schema, self.every = schema, every
        self.buffer = StateBuffer(schema, pattern, scan)
        self.now = BEGINNING

    @property
    def state(self) -> tuple[Kept, ...]:
        return ((self.buffer.kind,),)

    def process(self, inputs: Sequence[Delta], now: int) -> Delta:
        (delta,) = inputs
        positive, negative = split_by_sign(delta)
        self.buffer.insert(positive)
        self.buffer.withdraw(negative)
        life = self.buffer.life.view
        start, end = np.maximum(life[:, TS], self.now + 1), np.minimum(life[:, END] - 1, now)
        first, last = -(-start // self.every), end // self.every
        beats = np.maximum(last - first + 1, 0)
        positions = np.repeat(np.arange(len(beats)), beats) + self.buffer.base
        within = np.arange(len(positions)) - np.repeat(np.cumsum(beats) - beats, beats)
        times = (np.repeat(first, beats) + within) * self.every
        order = np.argsort(times, kind="stable")
        rows = self.buffer.rows.take(positions[order])
        self.buffer.lapse(now)
        self.buffer.reclaim()
        self.now = now
        return Delta.insertions(times[order], rows)

    def size(self) -> int:
        return len(self.buffer)

    def save(self) -> Saved:
        saved = Saved()
        saved.add("live", self.buffer.save())
        saved.meta["now"] = self.now
        return saved

    def load(self, segments: Mapping[str, pa.RecordBatch], meta: Mapping[str, Any]) -> None:
        self.now = meta["now"]
        self.buffer.load(below("live", segments), meta["live"])
