"""Two-way window join: equal keys, lives that overlap, and whatever else the predicate asks.

Each side keeps its live tuples in a buffer, chained by key (see ``windrow.operators.join_pairs``).

An interval is one step. Every tuple has a life ``[TS, END)``, also those that ended during the
interval, and a pair lives where both do: it comes at ``max(TS)`` and ends at ``min(END)``. So
    new left  x old right         found by probing before the new right ones are linked,
    all left  x new right         found by probing after the new left ones are,
each pair once, whatever the order of arrival inside the interval. A pair whose end is earlier
than its own expiry ``min(EXP)`` was cut short by a negative tuple and is withdrawn then. The
same holds for pairs of old tuples of which one was withdrawn in the interval; where both were,
the left one's probe finds the pair.

Cost: per value of an interval one hash look-up and the length of its chain, per tuple its partners;
state: both live windows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.columns.delta import Delta
from windrow.columns.time_order import time_order
from windrow.core.patterns import UpdatePattern
from windrow.core.time import BEGINNING
from windrow.operators.base import Saved, below
from windrow.operators.join_pairs import JoinPairs, Pairs
from windrow.operators.join_side import JoinSide
from windrow.operators.state.held_tuples import HeldInput
from windrow.plan.expressions import Expression
from windrow.plan.physical.state_kinds import BufferKind, Kept


class WindowJoin:
    """Each pair once: it comes with the later tuple and ends with the first that does.

    ``buckets`` are those of a hash table on each side; none means a chain for each value. With a
    ``period`` tuples come and go at its multiples only, and those that go at the next are dropped.
    """

    def __init__(
        self,
        schemas: tuple[pa.Schema, pa.Schema],
        patterns: tuple[UpdatePattern, UpdatePattern],
        keys: tuple[Sequence[Expression], Sequence[Expression]],
        kinds: Sequence[pa.DataType],
        residual: Expression | None,
        schema: pa.Schema,
        buffers: Sequence[BufferKind | None] = (None, None),
        buckets: int = 0,
        period: int = 0,
    ) -> None:
        self.left = JoinSide(schemas[0], patterns[0], keys[0], buffers[0], buckets, period)
        self.right = JoinSide(schemas[1], patterns[1], keys[1], buffers[1], buckets, period)
        self.pairing = JoinPairs(self.left, self.right, kinds, residual, schema)
        self.now = BEGINNING

    @property
    def state(self) -> tuple[Kept, ...]:
        return (self.left.state, self.right.state)

    def process(self, inputs: Sequence[Delta], now: int) -> Delta:
        left, right, pairing = self.left, self.right, self.pairing
        new_left, gone_left = left.add(inputs[0], pairing.interner)
        new_right, gone_right = right.add(inputs[1], pairing.interner)
        pairing.make_room()

        # Until the new ones are linked, chains lead to old tuples only.
        cut = [
            pairing.probe(gone_left, left, self.now),
            pairing.probe(gone_right, right, self.now, whole=True),
        ]
        fresh = [pairing.probe(new_left, left, self.now)]
        pairing.link(left, new_left)
        fresh.append(pairing.probe(new_right, right, self.now))
        pairing.link(right, new_right)

        answer = self._emit(fresh, cut)
        self.now = now
        pairing.forget(now)
        return answer

    def _emit(self, fresh: list[Pairs], cut: list[Pairs]) -> Delta:
        if not any(len(pairs) for pairs in (*fresh, *cut)):
            return Delta.empty(self.pairing.schema)
        pairs = Pairs.concatenate(fresh + cut)
        coming = sum(len(p) for p in fresh)
        short = np.flatnonzero(pairs.end < pairs.exp)
        if coming == len(pairs) and not len(short):  # as always without negative tuples
            times = pairs.start
            at = order = time_order(times)
            sign = np.ones(coming, np.int8)
        else:
            at = np.concatenate([np.arange(coming), short])
            times = np.concatenate([pairs.start[:coming], pairs.end[short]])
            order = time_order(times)
            at = at[order]
            sign = np.where(order < coming, 1, -1).astype(np.int8)
        rows = self.pairing.rows(pairs.left[at], pairs.right[at])
        return Delta(times[order], pairs.exp[at], sign, rows)

    def held_inputs(self) -> Mapping[str, HeldInput]:
        return {
            "left": HeldInput(0, self.left.buffer, period=self.left.period),
            "right": HeldInput(1, self.right.buffer, period=self.right.period),
        }

    def size(self) -> int:
        return len(self.left.buffer) + len(self.right.buffer)

    def save(self) -> Saved:
        saved = Saved()
        saved.add("left", self.left.buffer.save())
        saved.add("right", self.right.buffer.save())
        saved.meta["now"] = self.now
        return saved

    def load(self, segments: Mapping[str, pa.RecordBatch], meta: Mapping[str, Any]) -> None:
        self.now = int(meta["now"])
        for name, side in (("left", self.left), ("right", self.right)):
            side.buffer.load(below(name, segments), meta[name])
        self.pairing.restart()
