"""Output at a rhythm: RSTREAM, and ISTREAM-RESTORE and RSTREAM-RESTORE (Golab 2006, 3.3.4).

RSTREAM gives the whole relation at every multiple of its period. A query that is looked at every
``period`` ticks never shows a result that came and went in between. With restore semantics the
result is evaluated continually below, and at each multiple of the period everything is reported
that lived at any instant since the last one: by ISTREAM what came since then, by RSTREAM what was
there at the first instant with it. Both count net changes of instants, so a row that leaves and
comes back at one instant has not moved.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.columns.arrays import Int64s
from windrow.columns.delta import Delta, split_by_sign
from windrow.core.errors import DataError
from windrow.core.patterns import UpdatePattern
from windrow.core.time import BEGINNING
from windrow.operators.base import Saved, below
from windrow.operators.changelog import Changelog
from windrow.operators.snap import PendingChanges, Snap, round_up
from windrow.operators.state.buffer import StateBuffer
from windrow.operators.state.tuple_index import END, TS
from windrow.plan.physical.state_kinds import HASH, BufferKind, Kept, Structure


class RelationStream:
    """RSTREAM: emits each live tuple at every multiple of ``every`` in the interval.

    Cost: what it emits, which is the size of the relation times the number of beats.
    """

    def __init__(
        self, schema: pa.Schema, pattern: UpdatePattern, every: int, kind: BufferKind | None = None
    ) -> None:
        self.schema, self.every = schema, every
        self.buffer = StateBuffer(schema, pattern, kind)
        self.now = BEGINNING

    @property
    def state(self) -> tuple[Kept, ...]:
        return ((self.buffer.kind,),)

    def process(self, inputs: Sequence[Delta], now: int) -> Delta:
        (delta,) = inputs
        positive, negative = split_by_sign(delta)
        if len(positive) and positive.ts.min() <= BEGINNING + 1:
            raise DataError(
                "RSTREAM would repeat rows from the beginning of time",
                expected="rows that came at some instant",
                found="rows of a relation that were there from the beginning",
                remedy="give the relation's rows an instant, or join it with a stream's window",
            )
        self.buffer.insert(positive)
        self.buffer.withdraw(negative)
        life = self.buffer.life.view
        start, end = np.maximum(life[:, TS], self.now + 1), np.minimum(life[:, END] - 1, now)
        first, last = -(-start // self.every), end // self.every
        beats = np.where(start <= end, np.maximum(last - first + 1, 0), 0)  # the dead have no end
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


class RestoredInsertions:
    """ISTREAM-RESTORE: net insertions of every instant, reported at the next multiple."""

    def __init__(
        self, schema: pa.Schema, pattern: UpdatePattern, period: int, kind: BufferKind | None = None
    ) -> None:
        self.changes = Changelog(schema, pattern, (1,), kind)
        self.delay = Snap(schema, period)

    @property
    def state(self) -> tuple[Kept, ...]:
        return ((*self.changes.state[0], *self.delay.state[0]),)

    def process(self, inputs: Sequence[Delta], now: int) -> Delta:
        return self.delay.process([self.changes.process(inputs, now)], now)

    def size(self) -> int:
        return self.changes.size() + self.delay.size()

    def save(self) -> Saved:
        saved = Saved()
        saved.add("changes", self.changes.save())
        saved.add("delay", self.delay.save())
        return saved

    def load(self, segments: Mapping[str, pa.RecordBatch], meta: Mapping[str, Any]) -> None:
        self.changes.load(below("changes", segments), meta["changes"])
        self.delay.load(below("delay", segments), meta["delay"])


class RestoredRelation:
    """RSTREAM-RESTORE: at each multiple, every tuple that lived at an instant since the last.

    A life that ends between two multiples is lengthened to include the later one; the relation
    of lengthened lives is then streamed at the multiples.
    """

    def __init__(
        self, schema: pa.Schema, pattern: UpdatePattern, period: int, kind: BufferKind | None = None
    ) -> None:
        self.schema, self.period = schema, period
        self.changes = Changelog(schema, pattern, (1, -1), kind)
        self.waiting = PendingChanges(schema)
        if pattern is UpdatePattern.MONOTONIC:
            self.relation = RelationStream(schema, pattern, period)
        else:  # every end comes as a negative tuple
            self.relation = RelationStream(schema, UpdatePattern.STRICT, period, HASH)

    @property
    def state(self) -> tuple[Kept, ...]:
        return ((*self.changes.state[0], Structure.PENDING, *self.relation.state[0]),)

    def process(self, inputs: Sequence[Delta], now: int) -> Delta:
        net = self.changes.process(inputs, now)
        ts = np.where(net.sign > 0, net.ts, self._lengthen(net.ts))
        longer = Delta(ts, net.exp, net.sign, net.rows).sorted()
        return self.relation.process([self.waiting.pass_on(longer, now)], now)

    def _lengthen(self, end: Int64s) -> Int64s:
        """The instant after the first multiple that is not before the last instant of a life."""
        return round_up(end - 1, self.period) + 1

    def size(self) -> int:
        return self.changes.size() + len(self.waiting) + self.relation.size()

    def save(self) -> Saved:
        saved = Saved()
        saved.add("changes", self.changes.save())
        saved.add("waiting", self.waiting.save())
        saved.add("relation", self.relation.save())
        return saved

    def load(self, segments: Mapping[str, pa.RecordBatch], meta: Mapping[str, Any]) -> None:
        self.changes.load(below("changes", segments), meta["changes"])
        self.waiting.load(below("waiting", segments), meta["waiting"])
        self.relation.load(below("relation", segments), meta["relation"])
