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
from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow as pa

from windrow.columns.delta import Delta
from windrow.plan.physical.state_kinds import Kept


@dataclass
class Saved:
    """What changed in a piece of state since it was last saved."""

    put: dict[str, pa.RecordBatch] = field(default_factory=dict)
    drop: list[str] = field(default_factory=list)
    meta: dict[str, Any] = field(default_factory=dict)

    def add(self, prefix: str, part: Saved) -> None:
        """Take in the change of a component under its own prefix."""
        self.put.update({f"{prefix}.{name}": batch for name, batch in part.put.items()})
        self.drop.extend(f"{prefix}.{name}" for name in part.drop)
        self.meta[prefix] = part.meta


def below(prefix: str, segments: Mapping[str, pa.RecordBatch]) -> dict[str, pa.RecordBatch]:
    """The segments that a component saved under ``prefix``, under their own names again."""
    start = f"{prefix}."
    return {name[len(start) :]: b for name, b in segments.items() if name.startswith(start)}


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
