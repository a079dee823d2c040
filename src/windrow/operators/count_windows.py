"""``[ROWS n]`` and ``[PARTITION BY k ROWS n]``: the last n tuples, of all or of each key.

A tuple leaves when the n-th one after it comes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.columns.delta import Delta, concat
from windrow.columns.growable import fresh, grow
from windrow.columns.interner import Interner
from windrow.columns.kernels import grid_out, int64, ints, ints_out, kernel, void
from windrow.core.patterns import UpdatePattern
from windrow.operators.base import Saved, below
from windrow.operators.state.buffer import StateBuffer
from windrow.operators.state.tuple_index import LINK, TS
from windrow.plan.physical.state_kinds import Kept, Structure
from windrow.windows.chains import Queues, put_behind, take_oldest


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


Int64s = npt.NDArray[np.int64]


@kernel(void, ints, ints, int64, int64, ints_out, ints_out, ints_out, grid_out, ints_out)
def _push(codes, at, base, count, oldest, newest, held, life, out):  # type: ignore[no-untyped-def]
    """Queue each position behind its key's newest; ``out`` gets the one that it pushes out."""
    for i in range(len(codes)):
        c = codes[i]
        put_behind(at[i], c, base, oldest, newest, LINK, life)
        out[i] = -1
        if held[c] == count:
            out[i] = take_oldest(c, base, oldest, LINK, life)
        else:
            held[c] += 1


class PartitionWindow:
    """One queue per key, as links between the positions of a buffer; O(1) per tuple."""

    def __init__(self, schema: pa.Schema, keys: Sequence[int], count: int) -> None:
        self.schema, self.keys, self.count = schema, tuple(keys), count
        self.buffer = StateBuffer(schema, UpdatePattern.MONOTONIC)
        self._start_over()

    def _start_over(self) -> None:
        self.interner = Interner([self.schema.types[k] for k in self.keys])
        self.queues, self.held = Queues(), fresh(0)

    @property
    def state(self) -> tuple[Kept, ...]:
        return ((Structure.LAST_ROWS_BY_KEY,),)

    def process(self, inputs: Sequence[Delta], now: int) -> Delta:
        (delta,) = inputs
        if not len(delta):
            return delta
        buffer = self.buffer
        first = buffer.insert(delta)
        pushed = self._queue(np.arange(first, buffer.next), delta.rows)
        at = np.flatnonzero(pushed >= 0)
        leaving = pushed[at]
        seen = buffer.life.take(leaving)[:, TS] < delta.ts[at]
        shown = np.ones(len(delta), np.bool_)
        shown[leaving[~seen] - first] = False
        negatives = Delta.withdrawals(delta.ts[at[seen]], buffer.rows.take(leaving[seen]))
        buffer.now = now
        buffer.kill(leaving, now)
        if buffer.reclaim() is not None:
            self._rebuild()
        return concat([negatives, delta.filter(shown)], self.schema)

    def _queue(self, positions: Int64s, rows: pa.RecordBatch) -> Int64s:
        codes = self.interner.codes([rows.column(k) for k in self.keys], rows.num_rows)
        self.queues.reserve(len(self.interner))
        self.held = grow(self.held, len(self.interner), 0)
        pushed, life = np.empty(len(codes), np.int64), self.buffer.life
        ends = (self.queues.oldest, self.queues.newest)
        _push(codes, positions, life.base, self.count, *ends, self.held, life.view, pushed)
        return pushed

    def _rebuild(self) -> None:
        self._start_over()
        living = self.buffer.living()
        self._queue(living, self.buffer.rows.take(living))

    def size(self) -> int:
        return len(self.buffer)

    def save(self) -> Saved:
        saved = Saved()
        saved.add("last", self.buffer.save())
        return saved

    def load(self, segments: Mapping[str, pa.RecordBatch], meta: Mapping[str, Any]) -> None:
        self.buffer.load(below("last", segments), meta["last"])
        self._rebuild()
