"""Windows over derived streams: WSTREAM, and the order that a count window needs there.

A count window over a derived stream needs an order among tuples of one instant, and how they
come out of a join or a group-by depends on how time was cut. Tuples of a base stream keep the
order in which they arrived; for derived ones the order of their values stands in.

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

from windrow.columns.delta import Delta
from windrow.operators.base import Operator, Saved
from windrow.operators.stateless import Append
from windrow.plan.physical.state_kinds import Kept


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
    columns = [pa.array(delta.ts), *delta.rows.columns]
    names = [str(i) for i in range(len(columns))]
    table = pa.RecordBatch.from_arrays(columns, names)
    order = pc.sort_indices(table, sort_keys=[(name, "ascending") for name in names])
    return delta.take(order.to_numpy().astype(np.int64))


class OutputRows:
    """Insertions of the input, through ``window``."""

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
