"""The contract of every operator.

Operators work an interval at a time: given the Deltas of ``(t0, t1]`` on each input, in time
order, they return the Delta of ``(t0, t1]``. Cutting time differently must not change the
answer. That is how one operator serves eager evaluation, lazy evaluation and a Spark
micro-batch.

State is saved as immutable *segments*: named Arrow batches, each written once and dropped as a
whole, so that saving an interval costs what the interval changed. ``save`` returns the segments
written and dropped since the last ``save`` and a small JSON-able ``meta`` that replaces the last
one; ``load`` takes all segments written and not dropped, and the last ``meta``, into a fresh
operator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import pyarrow as pa

from windrow.columns.delta import Delta
from windrow.columns.saved_state import Saved, below
from windrow.plan.physical.state_kinds import Kept

__all__ = ["Operator", "Saved", "below"]


class Operator(Protocol):
    """A mutable operator; see the module for the contract."""

    @property
    def state(self) -> tuple[Kept, ...]:
        """What it keeps of each input, in the words of EXPLAIN; empty if it keeps nothing."""
        ...

    def process(self, inputs: Sequence[Delta], now: int) -> Delta:
        """The changes of the interval that ends at ``now`` (inclusive), in time order."""
        ...

    def size(self) -> int:
        """How many tuples (or groups) it holds."""
        ...

    def save(self) -> Saved: ...

    def load(self, segments: Mapping[str, pa.RecordBatch], meta: Mapping[str, Any]) -> None: ...
