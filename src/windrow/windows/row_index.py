"""The H-INDEX for rows of any type: a number per different row, and how often each is held.

Rows get their numbers by hashing (``windrow.columns.interner``), tuples keep the numbers: the
domain storage model of Golab et al. 2004, 4. Several windows can share an index, each with a
count of its own, which is how a difference or an intersection of two is kept (6.2). As nodes are
numbers without gaps, unused ones are not taken out one by one but left behind when the index is
renewed (4.4).

Cost: one look-up per row, a renewal paid for by the rows that left; space: the different rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from windrow.columns.arrays import Int64s
from windrow.columns.growable import fresh, grow
from windrow.columns.interner import Interner


class RowIndex:
    """``counts[w]`` is an array by number: how often window w holds the row."""

    def __init__(self, kinds: Sequence[pa.DataType], windows: int = 1) -> None:
        self.kinds, self.windows = tuple(kinds), windows
        self._start_over()

    def _start_over(self) -> None:
        self._interner = Interner(self.kinds)
        self.counts = [fresh(0) for _ in range(self.windows)]

    def __len__(self) -> int:
        """How many numbers there are, unused ones included."""
        return len(self._interner)

    def locate(self, columns: Sequence[pa.Array], length: int) -> Int64s:
        """The number of each row, made where it is missing; there is a count for each."""
        numbers = self._interner.codes(columns, length)
        self.counts = [grow(c, len(self._interner), 0) for c in self.counts]
        return numbers

    def rows(self, numbers: Int64s) -> list[pa.Array]:
        """The rows with these numbers, one array per column."""
        return self._interner.rows(numbers)

    def held_rows(self) -> Int64s:
        """The numbers of the rows that some window holds."""
        found = np.zeros(len(self), np.bool_)
        for counts in self.counts:
            found |= counts[: len(self)] > 0
        return np.flatnonzero(found)

    def renew(self, live: Int64s, columns: Sequence[pa.Array] | None = None) -> Int64s:
        """Keep the ``live`` numbers only, for other rows if ``columns`` are given.

        The answer is the new number of each old one, -1 for those that are left behind.
        """
        remap = np.full(len(self), -1, np.int64)
        rows = self.rows(live) if columns is None else columns
        counts = [c[live] for c in self.counts]
        self._start_over()
        remap[live] = self.locate(rows, len(live))
        for kept, mine in zip(counts, self.counts, strict=True):
            mine[remap[live]] = kept
        return remap
