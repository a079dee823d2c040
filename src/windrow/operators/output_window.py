"""WSTREAM: a window over the stream of a query's results (Golab 2006, 3.3.3).

Results count from when they were produced and whatever becomes of them below: the stream is
append-only, and the window over it is an ordinary one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from windrow.columns.delta import Delta
from windrow.operators.base import Operator, Saved
from windrow.operators.stateless import Append
from windrow.plan.physical.state_kinds import Kept


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
