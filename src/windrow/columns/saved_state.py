"""What changed in a piece of state since it was last saved: immutable named Arrow batches.

A *segment* is written once and dropped as a whole, so that saving an interval costs what the
interval changed. Operators, buffers and synopses save alike, and whoever hosts them needs to know
nothing else of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa


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
