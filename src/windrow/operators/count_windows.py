"""``[ROWS n]``, ``[ROWS n SLIDE m]`` and ``[PARTITION BY k ROWS n]``: the last n tuples.

A tuple leaves when the n-th one after it comes. So a count window over a derived stream needs an
order among tuples of one instant, and how they come out of a join or a group-by depends on how time
was cut. Tuples of a base stream keep the order in which they arrived; for derived ones the order of
their values stands in.

WSTREAM is a window over the stream of a query's results (Golab 2006, 3.3.3). Results count from
when they were produced and whatever becomes of them below: the stream is append-only, and the
window over it is an ordinary one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.columns.arrays import Int64s
from windrow.columns.delta import Delta, concat
from windrow.columns.growable import fresh, grow
from windrow.columns.interner import Interner
from windrow.columns.kernels import grid_out, int64, ints, ints_out, kernel, void
from windrow.columns.value_order import comparable_column
from windrow.core.patterns import UpdatePattern
from windrow.core.time import FOREVER
from windrow.operators.base import Operator, Saved, below
from windrow.operators.state.buffer import StateBuffer
from windrow.operators.state.held_tuples import HeldInput
from windrow.operators.state.tuple_index import LINK, TS
from windrow.operators.stateless import Append
from windrow.operators.turnover import arrivals_and_departures
from windrow.plan.physical.state_kinds import Kept, Structure
from windrow.windows.chains import Queues, put_behind, take_oldest

NEVER_REACHED = 2**61
"""A number of rows that no stream has; a few such numbers can be added."""


class LastRows:
    """``[ROWS n]``, and ``[ROWS n SLIDE m]``: the last n of the rows up to a multiple of m.

    Rows are numbered as they come, from 0. Row i is seen when as many rows have come as the first
    multiple of m after i says, and leaves at the first multiple after i + n (Golab 2006, 2.3.4). So
    expiry depends on what comes, and is told by negative tuples (2.3.2). Of a row that leaves at
    the instant at which it would be seen nothing is said.
    """

    def __init__(self, schema: pa.Schema, count: int, slide: int = 1) -> None:
        self.schema = schema
        self.count, self.slide = min(count, NEVER_REACHED), min(slide, NEVER_REACHED)
        self.buffer = StateBuffer(schema, UpdatePattern.MONOTONIC)

    @property
    def state(self) -> tuple[Kept, ...]:
        return ((Structure.LAST_ROWS,),)

    def process(self, inputs: Sequence[Delta], now: int) -> Delta:
        (delta,) = inputs
        if not len(delta):
            return delta
        buffer, slide = self.buffer, self.slide
        reached = buffer.next // slide * slide
        first = buffer.base  # of a query that came late not that of the window, at the beginning
        buffer.insert(delta)
        reaches = buffer.next // slide * slide
        coming = np.arange(max(reached, first), reaches, dtype=np.int64)
        gone = max(reached - self.count, first)
        leaving = np.arange(gone, max(reaches - self.count, gone), dtype=np.int64)
        shown = self._seen_at(coming) < self._leaves_at(coming, reaches)
        leaves = self._leaves_at(leaving, reaches)
        seen = self._seen_at(leaving) < leaves
        negatives = Delta.withdrawals(leaves[seen], buffer.rows.take(leaving[seen]))
        if slide == 1:
            positives = delta.filter(shown)
        else:
            rows = coming[shown]
            positives = Delta.insertions(self._seen_at(rows), buffer.rows.take(rows))
        buffer.now = now
        buffer.kill(leaving, now)
        buffer.reclaim()
        return concat([negatives, positives], self.schema)

    def _seen_at(self, rows: Int64s) -> Int64s:
        """When the row came with which the window moves over each of these."""
        return self._arrival((rows // self.slide + 1) * self.slide - 1)

    def _leaves_at(self, rows: Int64s, reaches: int) -> Int64s:
        """When the row came with which the window leaves each of these; FOREVER if it has not."""
        pushing = ((rows + self.count) // self.slide + 1) * self.slide - 1
        return np.where(pushing < reaches, self._arrival(np.minimum(pushing, reaches - 1)), FOREVER)

    def _arrival(self, rows: Int64s) -> Int64s:
        return np.ascontiguousarray(self.buffer.life.take(rows)[:, TS])

    def start_at(self, number: int) -> None:
        """Let the first row that comes have a number, because others came before."""
        self.buffer.start_at(number)

    def held_inputs(self) -> Mapping[str, HeldInput]:
        return {"last": HeldInput(0, self.buffer, is_window=True, numbered=True)}

    def size(self) -> int:
        return len(self.buffer)

    def save(self) -> Saved:
        saved = Saved()
        saved.add("last", self.buffer.save())
        return saved

    def load(self, segments: Mapping[str, pa.RecordBatch], meta: Mapping[str, Any]) -> None:
        self.buffer.load(below("last", segments), meta["last"])


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
        buffer.now = now
        at = np.flatnonzero(pushed >= 0)
        if not len(at):
            return delta
        gone = np.stack([pushed[at], delta.ts[at]], axis=1)
        answer = arrivals_and_departures(buffer, first, delta.ts, gone)
        buffer.kill(pushed[at], now)
        if buffer.reclaim() is not None:
            self._rebuild()
        return answer

    def held_inputs(self) -> Mapping[str, HeldInput]:
        return {"last": HeldInput(0, self.buffer, is_window=True)}

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


class InOrder:
    """``window`` over its input, each instant's tuples sorted by their columns."""

    def __init__(self, window: Operator) -> None:
        self.window = window

    @property
    def state(self) -> tuple[Kept, ...]:
        return self.window.state

    def process(self, inputs: Sequence[Delta], now: int) -> Delta:
        (delta,) = inputs
        return self.window.process([in_order(delta)], now)

    def size(self) -> int:
        return self.window.size()

    def save(self) -> Saved:
        return self.window.save()

    def load(self, segments: Mapping[str, pa.RecordBatch], meta: Mapping[str, Any]) -> None:
        self.window.load(segments, meta)


def in_order(delta: Delta) -> Delta:
    """The same rows by instant and then by value."""
    if not len(delta) or not bool((delta.ts[1:] == delta.ts[:-1]).any()):
        return delta
    columns = [pa.array(delta.ts), *map(comparable_column, delta.rows.columns)]
    names = [str(i) for i in range(len(columns))]
    table = pa.RecordBatch.from_arrays(columns, names)
    order = pc.sort_indices(table, sort_keys=[(name, "ascending") for name in names])
    return delta.take(order.to_numpy().astype(np.int64))


class OutputRows:
    """WSTREAM: insertions of the input, through ``window``."""

    def __init__(self, window: Operator) -> None:
        self.stream, self.window = Append(), window

    @property
    def state(self) -> tuple[Kept, ...]:
        return self.window.state

    def process(self, inputs: Sequence[Delta], now: int) -> Delta:
        return self.window.process([self.stream.process(inputs, now)], now)

    def size(self) -> int:
        return self.window.size()

    def save(self) -> Saved:
        return self.window.save()

    def load(self, segments: Mapping[str, pa.RecordBatch], meta: Mapping[str, Any]) -> None:
        self.window.load(segments, meta)
