"""Puts the instant at which each tuple came behind its columns.

A stream's tuples come and stay, so that needs no state. A relation's rows leave, and what says so
(an expiry, a negative tuple) does not say which of equal rows is meant: here the one that came
first leaves first. All changes of an instant are netted before, so the stamps depend only on what
the relation is at each instant.

State, for a relation: its rows, twice. Cost: O(n) per interval.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.columns.delta import Delta, batch_of
from windrow.core.patterns import UpdatePattern
from windrow.operators.base import Saved, below
from windrow.operators.changelog import Changelog
from windrow.operators.state.buffer import StateBuffer
from windrow.operators.state.tuple_index import TS
from windrow.operators.stateless import Stateless
from windrow.plan.physical.state_kinds import HASH, BufferKind, Kept


class Stamp(Stateless):
    """For MONOTONIC input."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema

    def process(self, inputs: Sequence[Delta], now: int) -> Delta:
        (delta,) = inputs
        return add_stamp(delta, delta.ts, self.schema)


class StampRows:
    """For any other input; ``schema`` is that of the output."""

    def __init__(
        self,
        rows: pa.Schema,
        pattern: UpdatePattern,
        schema: pa.Schema,
        kind: BufferKind | None = None,
    ) -> None:
        self.schema = schema
        self.changes = Changelog(rows, pattern, (1, -1), kind)
        self.buffer = StateBuffer(rows, UpdatePattern.STRICT, HASH)

    @property
    def state(self) -> tuple[Kept, ...]:
        return ((*self.changes.state[0], self.buffer.kind),)

    def process(self, inputs: Sequence[Delta], now: int) -> Delta:
        net = self.changes.process(inputs, now)
        plus = net.sign > 0
        self.buffer.insert(net.filter(plus))
        came = net.ts.copy()
        came[~plus] = self.buffer.life.take(self.buffer.withdraw(net.filter(~plus)))[:, TS]
        self.buffer.lapse(now)
        self.buffer.reclaim()
        return add_stamp(net, came, self.schema)

    def size(self) -> int:
        return self.changes.size() + len(self.buffer)

    def save(self) -> Saved:
        saved = Saved()
        saved.add("changes", self.changes.save())
        saved.add("rows", self.buffer.save())
        return saved

    def load(self, segments: Mapping[str, pa.RecordBatch], meta: Mapping[str, Any]) -> None:
        self.changes.load(below("changes", segments), meta["changes"])
        self.buffer.load(below("rows", segments), meta["rows"])


def add_stamp(delta: Delta, came: npt.NDArray[np.int64], schema: pa.Schema) -> Delta:
    """The Delta with one more column."""
    return delta.with_rows(batch_of([*delta.rows.columns, pa.array(came)], schema, len(delta)))
