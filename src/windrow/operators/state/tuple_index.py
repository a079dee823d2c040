"""Finds the stored tuple that a negative tuple withdraws: a hash on the whole tuple.

Tuples with the same values and the same expiry stand in a queue, oldest first
(``windrow.windows.chains``). Any of them that is live may go, since nobody can tell them
apart; taking the oldest makes it O(1). They also expire together, so a queue whose front has been
forgotten is dead altogether.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from windrow.columns.arrays import Int64s
from windrow.columns.growable import Growable
from windrow.columns.interner import Interner
from windrow.columns.kernels import grid, grid_out, int64, ints, ints_out, kernel
from windrow.windows.chains import Queues, take_oldest

TS, EXP, END, LINK = 0, 1, 2, 3
"""Columns of a buffer's ``life``: arrival, own expiry, actual end, and a link for its owner."""


@kernel(int64, ints, ints, ints_out, grid, int64, grid_out, ints_out)
def _withdraw(codes, at, oldest, links, base, life, found):  # type: ignore[no-untyped-def]
    """End one live counterpart of each negative tuple at its instant; how many were found."""
    for i in range(len(codes)):
        p = oldest[codes[i]]
        if p < base or life[p - base, TS] >= at[i] or at[i] >= life[p - base, EXP]:
            return i
        life[p - base, END] = at[i]
        found[i] = take_oldest(codes[i], base, oldest, 0, links)
    return len(codes)


class TupleIndex:
    """Queues of equal tuples over the positions of a buffer."""

    def __init__(self, schema: pa.Schema) -> None:
        self._interner = Interner([pa.int64(), *schema.types])
        self._queues, self._links = Queues(), Growable(np.int64, width=1)

    def __len__(self) -> int:
        """How many different tuples it knows, dead ones included."""
        return len(self._interner)

    def insert(self, first: int, exp: Int64s, rows: pa.RecordBatch) -> None:
        """New tuples at the positions from ``first`` on."""
        self._make_room(first, len(exp))
        self._enqueue(np.arange(first, first + len(exp), dtype=np.int64), exp, rows)

    def fill(
        self, first: int, count: int, living: Int64s, exp: Int64s, rows: pa.RecordBatch
    ) -> None:
        """Begin with the ``living`` among the ``count`` positions from ``first`` on.

        A dead tuple must not stand before a living one: when it is forgotten, so is its queue.
        """
        self._make_room(first, count)
        self._enqueue(living, exp, rows)

    def _make_room(self, first: int, count: int) -> None:
        if not len(self._links):
            self._links.clear(first)
        self._links.extend(count, -1)

    def _enqueue(self, at: Int64s, exp: Int64s, rows: pa.RecordBatch) -> None:
        codes = self._codes(exp, rows)
        self._queues.enqueue(codes, at, self._links, 0)

    def withdraw(
        self, at: Int64s, exp: Int64s, rows: pa.RecordBatch, life: Growable
    ) -> tuple[Int64s, int]:
        """End the counterparts; their positions, and how many of the negatives had one."""
        codes = self._codes(exp, rows)
        found = np.empty(len(codes), np.int64)
        base, links = self._links.base, self._links.view
        count = _withdraw(codes, at, self._queues.oldest, links, base, life.view, found)
        return found, count

    def drop_before(self, position: int) -> None:
        self._links.drop_before(position)

    def _codes(self, exp: Int64s, rows: pa.RecordBatch) -> Int64s:
        codes = self._interner.codes([pa.array(exp), *rows.columns], len(exp))
        self._queues.reserve(len(self._interner))
        return codes
