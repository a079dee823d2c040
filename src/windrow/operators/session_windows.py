"""``[SESSION gap]`` and ``[PARTITION BY k SESSION gap]``: tuples that came close to each other.

A tuple belongs to the session of its key while less than ``gap`` lies between it and the last one
before; a session ends ``gap`` after its last tuple, and all its tuples leave then. A tuple that
comes makes the earlier ones of its session live longer, so when they leave is not known as they
come: negative tuples say it (Golab 2006, 3.2: STRICT).

The open session of each key is a queue through the positions of a buffer. Cost: O(1) per tuple, and
a look at each key per interval. State: the tuples of open sessions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.columns.arrays import Int64s
from windrow.columns.delta import Delta, concat
from windrow.columns.growable import fresh, grow
from windrow.columns.interner import Crowding, Interner
from windrow.columns.kernels import grid_out, int64, ints, ints_out, kernel
from windrow.core.patterns import UpdatePattern
from windrow.core.time import BEGINNING, FOREVER
from windrow.operators.base import Saved, below
from windrow.operators.state.buffer import StateBuffer
from windrow.operators.state.held_tuples import HeldInput
from windrow.operators.state.tuple_index import LINK, TS
from windrow.plan.physical.state_kinds import Kept, Structure
from windrow.windows.chains import Queues, put_behind, take_oldest


@kernel(int64, int64, int64)
def _end(last, gap):  # type: ignore[no-untyped-def]
    """When a session ends if nothing comes; where time ends, at its end."""
    return last + gap if last <= FOREVER - gap else FOREVER


@kernel(int64, ints, ints, ints, int64, int64, int64, *[ints_out] * 3, grid_out, *[ints_out] * 2)
def _extend(codes, at, ts, gap, now, base, oldest, newest, last, life, out_at, out_time):  # type: ignore[no-untyped-def]
    """Queue each position behind its key's newest; what leaves up to ``now``, and when."""
    count = 0
    for i in range(len(codes)):
        c = codes[i]
        end = _end(last[c], gap)
        if end <= ts[i]:
            while oldest[c] >= base:
                out_at[count] = take_oldest(c, base, oldest, LINK, life)
                out_time[count] = end
                count += 1
        put_behind(at[i], c, base, oldest, newest, LINK, life)
        last[c] = ts[i]
    for c in range(len(oldest)):
        end = _end(last[c], gap)
        if oldest[c] >= base and end <= now:
            while oldest[c] >= base:
                out_at[count] = take_oldest(c, base, oldest, LINK, life)
                out_time[count] = end
                count += 1
    return count


class OpenSessions:
    """The tuples of the open session of each key; without keys there is one session."""

    def __init__(self, schema: pa.Schema, keys: Sequence[int], gap: int) -> None:
        self.schema, self.keys, self.gap = schema, tuple(keys), gap
        self.buffer = StateBuffer(schema, UpdatePattern.MONOTONIC)
        self.crowding = Crowding()
        self._start_over()

    def _start_over(self) -> None:
        self.interner = Interner([self.schema.types[k] for k in self.keys])
        self.queues, self.last = Queues(), fresh(0)

    @property
    def state(self) -> tuple[Kept, ...]:
        return ((Structure.SESSIONS,),)

    def process(self, inputs: Sequence[Delta], now: int) -> Delta:
        (delta,) = inputs
        buffer = self.buffer
        first = buffer.insert(delta)
        added = np.arange(first, buffer.next, dtype=np.int64)
        leaving, times = self._queue(added, delta.ts, delta.rows, now)
        buffer.now = now
        if not len(leaving):
            return delta
        negatives = Delta.withdrawals(times, buffer.rows.take(leaving)).sorted()
        buffer.kill(leaving, now)
        if buffer.reclaim() is not None or self._is_crowded():
            self._rebuild()
        return concat([negatives, delta], self.schema)

    def _queue(
        self, positions: Int64s, ts: Int64s, rows: pa.RecordBatch, now: int
    ) -> tuple[Int64s, Int64s]:
        codes = self.interner.codes([rows.column(k) for k in self.keys], rows.num_rows)
        self.queues.reserve(len(self.interner))
        self.last = grow(self.last, len(self.interner), 0)
        out = [np.empty(len(self.buffer), np.int64) for _ in range(2)]
        life, ends = self.buffer.life, (self.queues.oldest, self.queues.newest)
        count = _extend(
            codes, positions, ts, self.gap, now, life.base, *ends, self.last, life.view, *out
        )
        return out[0][:count], out[1][:count]

    def _is_crowded(self) -> bool:
        """Whether most keys that have a code have no session any more."""
        if not self.crowding.is_due(len(self.interner)):
            return False
        live = int((self.queues.oldest >= self.buffer.life.base).sum())
        return self.crowding.renewal_pays(len(self.interner), live)

    def _rebuild(self) -> None:
        self._start_over()
        living = self.buffer.living()
        ts = np.ascontiguousarray(self.buffer.life.take(living)[:, TS])
        self._queue(living, ts, self.buffer.rows.take(living), BEGINNING)

    def held_inputs(self) -> Mapping[str, HeldInput]:
        return {"open": HeldInput(0, self.buffer, is_window=True)}

    def size(self) -> int:
        return len(self.buffer)

    def save(self) -> Saved:
        saved = Saved()
        saved.add("open", self.buffer.save())
        return saved

    def load(self, segments: Mapping[str, pa.RecordBatch], meta: Mapping[str, Any]) -> None:
        self.buffer.load(below("open", segments), meta["open"])
        self._rebuild()
