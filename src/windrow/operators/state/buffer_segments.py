"""Which segments a buffer has saved, and when some become one.

A buffer that is saved thousands of times while a window passes would be in thousands of segments.
So when there are many, the last ones that together are no longer than what comes are written again
with it, as one: lengths then halve from one segment to the next, and a tuple is written O(log)
times.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa

from windrow.core.thresholds import Threshold
from windrow.operators.base import Saved

MANY = Threshold(64, least=2)
"""Segments of one kind at which some become one."""
ROWS, WITHDRAWN = "r", "d"
"""Kinds: tuples with their positions, and positions of tuples that were withdrawn."""


class _Stretch(NamedTuple):
    """The first and the last position that a segment speaks of, and how many there are."""

    first: int
    last: int
    rows: int


class Segments:
    """By name, in the order in which they were written; the first column has the positions."""

    def __init__(self) -> None:
        self._known: dict[str, _Stretch] = {}
        self.counter = 0

    def put(self, saved: Saved, kind: str, content: pa.RecordBatch) -> None:
        """Have a segment saved under a new name."""
        name = f"{kind}{self.counter:08d}"
        self.counter += 1
        saved.put[name] = content
        self.remember(name, content)

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
