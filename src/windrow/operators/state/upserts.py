"""State that is a table by key (groups, distinct values) saved as a log of changed rows.

Each save writes the rows that changed since the last one as a segment; a later row replaces an
earlier one with the same key. When the log holds more than twice the table, the next save writes
the whole table and drops the rest, so a row is written O(1) times per change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.core.thresholds import Threshold
from windrow.operators.base import Saved

Int64s = npt.NDArray[np.int64]
WORTH_REWRITING = Threshold(4096)
"""Rows of a log beyond twice the table that are not worth writing the table for."""


class UpsertLog:
    """Segments of changed rows; ``size`` counts how many rows they hold."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.size = self.counter = 0
        self.stale = False

    def start_over(self) -> None:
        """Codes have changed or rows were forgotten: the next save writes the whole table."""
        self.stale = True

    def save(self, dirty: Int64s, total: int, dump: Callable[[Int64s], pa.RecordBatch]) -> Saved:
        """Write the rows of the ``dirty`` codes, or of all ``total`` if that is due."""
        saved = Saved()
        if self.stale or self.size + len(dirty) > 2 * total + WORTH_REWRITING.value:
            saved.drop = self._start_anew()
            dirty = np.arange(total, dtype=np.int64)
        if len(dirty):
            name = f"{self.counter:08d}"
            self.counter += 1
            saved.put[name] = dump(dirty)
            self.names.append(name)
            self.size += len(dirty)
        saved.meta = {"size": self.size, "counter": self.counter}
        return saved

    def _start_anew(self) -> list[str]:
        """An empty log; the segments of the old one."""
        dropped, self.names = self.names, []
        self.size, self.stale = 0, False
        return dropped

    def load(
        self, segments: Mapping[str, pa.RecordBatch], meta: Mapping[str, Any]
    ) -> list[pa.RecordBatch]:
        """The segments in the order in which they were written."""
        self.names = sorted(segments)
        self.size, self.counter = int(meta["size"]), int(meta["counter"])
        return [segments[name] for name in self.names]
