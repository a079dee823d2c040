"""LAG over a stream: beside each tuple, values of earlier tuples of the same key.

Tuples are looked at in the order in which they came, as count-based windows do
(``windrow.operators.count_windows``). What is looked up is known when a tuple comes and never
changes, so the stream stays MONOTONIC. The last tuples of each key are a chain through the
positions of a buffer, from new to old; one that is further back than anyone looks is dropped.

Cost: O(d) per tuple, d being the furthest look. State: d tuples for every key that ever came.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.columns.arrays import Int64s
from windrow.columns.delta import Delta, batch_of
from windrow.columns.growable import fresh, grow
from windrow.columns.interner import Interner
from windrow.columns.kernels import grid_out, int64, ints, ints_out, kernel, void
from windrow.core.patterns import UpdatePattern
from windrow.operators.base import Saved, below
from windrow.operators.state.buffer import StateBuffer
from windrow.operators.state.tuple_index import LINK
from windrow.plan.physical.state_kinds import Kept, Structure


@kernel(void, ints, ints, int64, ints_out, grid_out, grid_out)
def _look(codes, at, base, heads, life, found):  # type: ignore[no-untyped-def]
    """Walk back from each position, and put it at the head of its key's chain."""
    for i in range(len(codes)):
        p = heads[codes[i]]
        for j in range(found.shape[1]):
            found[i, j] = p if p >= base else -1
            p = life[p - base, LINK] if p >= base else -1
        life[at[i] - base, LINK] = heads[codes[i]]
        heads[codes[i]] = at[i]


class LookBack:
    """``looks`` are columns of the input and how many tuples back each is looked up."""

    def __init__(
        self,
        schema: pa.Schema,
        rows: pa.Schema,
        keys: Sequence[int],
        looks: Sequence[tuple[int, int]],
    ) -> None:
        self.schema, self.looks = schema, tuple(looks)
        self.columns = sorted({*keys, *(column for column, _ in looks)})
        self.keys = [self.columns.index(key) for key in keys]
        self.furthest = max(distance for _, distance in looks)
        self.kept = pa.schema([pa.field(str(i), rows.types[i]) for i in self.columns])
        self.buffer = StateBuffer(self.kept, UpdatePattern.MONOTONIC)
        self._start_over()

    def _start_over(self) -> None:
        self.interner = Interner([self.kept.types[k] for k in self.keys])
        self.heads = fresh(-1)

    @property
    def state(self) -> tuple[Kept, ...]:
        return ((Structure.LAST_ROWS_BY_KEY,),)

    def process(self, inputs: Sequence[Delta], now: int) -> Delta:
        (delta,) = inputs
        if not len(delta):
            return Delta.empty(self.schema)
        buffer = self.buffer
        kept = batch_of([delta.rows.column(i) for i in self.columns], self.kept, len(delta))
        first = buffer.insert(delta.with_rows(kept))
        back = self._chain(np.arange(first, buffer.next, dtype=np.int64), kept)
        found = [
            self._values(self.columns.index(column), back[:, distance - 1])
            for column, distance in self.looks
        ]
        passed = back[:, -1]
        buffer.now = now
        buffer.kill(passed[passed >= 0], now)
        if buffer.reclaim() is not None:
            self._rebuild()
        return delta.with_rows(batch_of([*delta.rows.columns, *found], self.schema, len(delta)))

    def _chain(self, positions: Int64s, kept: pa.RecordBatch) -> Int64s:
        """The positions before each of these, nearest first, -1 where there is none."""
        codes = self.interner.codes([kept.column(k) for k in self.keys], kept.num_rows)
        self.heads = grow(self.heads, len(self.interner), -1)
        found, life = np.empty((len(codes), self.furthest), np.int64), self.buffer.life
        _look(codes, positions, life.base, self.heads, life.view, found)
        return found

    def _values(self, column: int, positions: Int64s) -> pa.Array:
        there = positions >= 0
        rows = self.buffer.rows.take(np.where(there, positions, self.buffer.base))
        values = rows.column(column)
        return pc.if_else(pa.array(there), values, pa.nulls(len(there), values.type))

    def _rebuild(self) -> None:
        self._start_over()
        living = self.buffer.living()
        self._chain(living, self.buffer.rows.take(living))

    def size(self) -> int:
        return len(self.buffer)

    def save(self) -> Saved:
        saved = Saved()
        saved.add("last", self.buffer.save())
        return saved

    def load(self, segments: Mapping[str, pa.RecordBatch], meta: Mapping[str, Any]) -> None:
        self.buffer.load(below("last", segments), meta["last"])
        self._rebuild()
