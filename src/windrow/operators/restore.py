"""ISTREAM-RESTORE and RSTREAM-RESTORE: periodic output that misses nothing (Golab 2006, 3.3.4).

A query that is looked at every ``period`` ticks never shows a result that came and went in
between. With restore semantics the result is evaluated continually below, and at each multiple
of the period everything is reported that lived at any instant since the last one: by ISTREAM
what came since then, by RSTREAM what was there at the first instant with it. Both count net
changes of instants, so a row that leaves and comes back at one instant has not moved.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.columns.delta import Delta
from windrow.core.patterns import UpdatePattern
from windrow.operators.base import Saved, below
from windrow.operators.changelog import Changelog
from windrow.operators.rstream import RelationStream
from windrow.operators.snap import Snap, round_up
from windrow.operators.state.pending_changes import PendingChanges
from windrow.plan.physical.state_kinds import Kept, Structure

Int64s = npt.NDArray[np.int64]


class RestoredInsertions:
    """ISTREAM-RESTORE: net insertions of every instant, reported at the next multiple."""

    def __init__(self, schema: pa.Schema, pattern: UpdatePattern, period: int) -> None:
        self.changes = Changelog(schema, pattern, (1,))
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

    def __init__(self, schema: pa.Schema, pattern: UpdatePattern, period: int) -> None:
        self.schema, self.period = schema, period
        self.changes = Changelog(schema, pattern, (1, -1))
        self.waiting = PendingChanges(schema)
        stays = pattern is UpdatePattern.MONOTONIC
        self.relation = RelationStream(schema, pattern if stays else UpdatePattern.STRICT, period)

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
