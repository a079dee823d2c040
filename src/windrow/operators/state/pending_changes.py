"""Changes that are known but whose instant has not come."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from windrow.columns.delta import Delta, concat
from windrow.operators.base import Saved


class PendingChanges:
    """Rows of a Delta, kept until time passes them; saved as one segment, anew each time."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self.rows = self._saved = Delta.empty(schema)

    def __len__(self) -> int:
        return len(self.rows)

    def pass_on(self, delta: Delta, now: int) -> Delta:
        """All rows, old and new, whose instant has come by ``now``; the others wait."""
        ready, self.rows = concat([self.rows, delta.sorted()], self.schema).split(now)
        return ready

    def save(self) -> Saved:
        saved = Saved(meta={"waiting": len(self.rows)})
        if self.rows is not self._saved:
            if len(self.rows):
                saved.put["waiting"] = self.rows.to_batch()
            elif len(self._saved):
                saved.drop.append("waiting")
            self._saved = self.rows
        return saved

    def load(self, segments: Mapping[str, pa.RecordBatch], meta: Mapping[str, Any]) -> None:
        if meta["waiting"]:
            self.rows = Delta.from_batch(segments["waiting"], self.schema)
        self._saved = self.rows
