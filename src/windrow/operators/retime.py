"""``CREATE VIEW ... TIMESTAMP BY column``: tuples of a stream at the time that they name.

A tuple waits until its own time has come, so it may name its present or its future, and the order
of the stream becomes that of the column. A time before the one at which the tuple came would have
to change instants that are closed: it stops the query, as a value does that CAST does not take.

State: the tuples whose time has not come. Cost: O(n log n), and a look at those that wait.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.columns.delta import Delta
from windrow.core.errors import DataError
from windrow.operators.base import Saved
from windrow.operators.snap import PendingChanges
from windrow.plan.physical.state_kinds import Kept, Structure


class Retime:
    """``column`` holds the time: a TIMESTAMP, or an integer on an integer clock."""

    def __init__(self, schema: pa.Schema, column: int, name: str) -> None:
        self.schema, self.column, self.name = schema, column, name
        self.waiting = PendingChanges(schema)

    @property
    def state(self) -> tuple[Kept, ...]:
        return ((Structure.WAITING,),)

    def process(self, inputs: Sequence[Delta], now: int) -> Delta:
        (delta,) = inputs
        if len(delta):
            delta = Delta.insertions(self._times(delta), delta.rows).sorted()
        return self.waiting.pass_on(delta, now)

    def _times(self, delta: Delta) -> Any:
        values = pc.cast(delta.rows.column(self.column), pa.int64())
        known = pc.fill_null(values, np.iinfo(np.int64).min)
        times = np.ascontiguousarray(known.to_numpy(zero_copy_only=False))
        early = np.flatnonzero(times < delta.ts)
        if len(early):
            found = delta.rows.column(self.column)[int(early[0])].as_py()
            raise DataError(
                where=f"TIMESTAMP BY {self.name}",
                expected="a time at or after the one at which the tuple came",
                found="NULL" if found is None else f"{found}, before it",
                remedy="leave such tuples out with WHERE in the view, or compute a later time",
            )
        return times

    def size(self) -> int:
        return len(self.waiting)

    def save(self) -> Saved:
        return self.waiting.save()

    def load(self, segments: Mapping[str, pa.RecordBatch], meta: Mapping[str, Any]) -> None:
        self.waiting.load(segments, meta)
