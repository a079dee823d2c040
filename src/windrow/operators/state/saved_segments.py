"""What has been saved of an operator's state: the segments of a buffer, or of a table by key.

A buffer that is saved thousands of times while a window passes would be in thousands of segments.
So when there are many, the last ones that together are no longer than what comes are written again
with it, as one: lengths then halve from one segment to the next, and a tuple is written O(log)
times.

State that is a table by key (groups, distinct values) is saved as a log of changed rows: each save
writes those that changed since the last one, and a later row replaces an earlier one with the same
key. When the log holds more than twice the table, the next save writes the whole table and drops
the rest, so a row is written O(1) times per change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from windrow.columns.arrays import Int64s
from windrow.core.thresholds import Threshold
from windrow.operators.base import Saved

MANY = Threshold(64, least=2)
"""Segments of one kind at which some become one."""
ROWS, WITHDRAWN = "r", "d"
"""Kinds: tuples with their positions, and positions of tuples that were withdrawn."""
WORTH_REWRITING = Threshold(4096)
"""Rows of a log beyond twice the table that are not worth writing the table for."""


class _Stretch(NamedTuple):
    """The first and the last position that a segment speaks of, and how many there are."""

    first: int
    last: int
    rows: int


class Segments:
    """Those of a buffer by name, as they were written; the first column has the positions."""

    def __init__(self) -> None:
        self._known: dict[str, _Stretch] = {}
        self.counter = 0

    def put(self, saved: Saved, kind: str, content: pa.RecordBatch) -> str:
        """Have a segment saved under a new name, which is returned."""
        name = f"{kind}{self.counter:08d}"
        self.counter += 1
        saved.put[name] = content
        self.remember(name, content)
        return name

    def remember(self, name: str, content: pa.RecordBatch) -> None:
        positions = content.column(0).to_numpy()
        self._known[name] = _Stretch(int(positions.min()), int(positions.max()), len(positions))

    def drop(self, saved: Saved, names: Sequence[str]) -> None:
        saved.drop.extend(names)
        for name in names:
            del self._known[name]

    def drop_before(self, saved: Saved, base: int) -> None:
        """Drop those that speak of positions before ``base`` only."""
        self.drop(saved, [name for name, s in self._known.items() if s.last < base])

    def join(self, saved: Saved, rows: int) -> int | None:
        """Drop the last segments that are to be one with ``rows`` new ones; their first position.

        None if the new ones are to be a segment of their own.
        """
        known = [name for name in self._known if name.startswith(ROWS)]
        joined: list[str] = []
        if len(known) >= MANY.value:
            for name in reversed(known):
                if self._known[name].rows > rows:
                    break
                joined.append(name)
                rows += self._known[name].rows
        first = self._known[joined[-1]].first if joined else None
        self.drop(saved, joined)
        return first

    def join_withdrawn(self, saved: Saved) -> bool:
        """Whether there are many segments of withdrawn positions; then all are dropped."""
        known = [name for name in self._known if name.startswith(WITHDRAWN)]
        if len(known) < MANY.value:
            return False
        self.drop(saved, known)
        return True


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
