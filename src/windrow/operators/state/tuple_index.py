"""Finds the stored tuple that a negative tuple withdraws: a hash on the whole tuple.

Tuples with the same values and the same expiry stand in a queue, oldest first
(``windrow.windows.chains``). Any of them that is live may go, since nobody can tell them
apart; taking the oldest makes it O(1). They also expire together, so a queue whose front has been
forgotten is dead altogether.

A tuple is known by 64 bits of its values and its expiry. Invariant: the tuples of a queue are
equal. One that comes is compared with the front of its queue, where there is one; so a negative
tuple, which has a counterpart, finds it without a look at values. Should two that differ ever have
the same bits, ``insert`` says so, and an index that is ``exact`` takes its place: it gives each
value a number (``windrow.columns.interner``), which costs many times as much.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from windrow.columns.arrays import Int64s, identity_keys
from windrow.columns.growable import Growable
from windrow.columns.hashing import hash_rows
from windrow.columns.interner import Interner, IntTable
from windrow.columns.kernels import grid, grid_out, int64, ints, ints_out, kernel
from windrow.columns.stored_columns import RowStore
from windrow.columns.value_order import comparable_column
from windrow.core.thresholds import Threshold
from windrow.windows.chains import Queues, take_oldest

BITS = Threshold(64, least=2)
"""Bits that a tuple is known by."""
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
    """Queues of equal tuples over the positions of a buffer, which are those of ``store`` too."""

    def __init__(self, store: RowStore, *, exact: bool = False) -> None:
        self.exact, self._store = exact, store
        kinds = [pa.int64(), *store.schema.types]
        self._known: Interner | IntTable = Interner(kinds) if exact else IntTable()
        self._queues, self._links = Queues(), Growable(np.int64, width=1)

    def __len__(self) -> int:
        """How many different tuples it knows, dead ones included."""
        return self._known.count if isinstance(self._known, IntTable) else len(self._known)

    def insert(self, first: int, exp: Int64s, rows: pa.RecordBatch, life: Growable) -> bool:
        """New tuples at the positions from ``first`` on; False: they need an exact index."""
        self._make_room(first, len(exp))
        at = np.arange(first, first + len(exp), dtype=np.int64)
        return self._enqueue(at, exp, rows, life)

    def fill(
        self, first: int, living: Int64s, exp: Int64s, rows: pa.RecordBatch, life: Growable
    ) -> bool:
        """Begin with the ``living`` among the positions of ``life``, from ``first`` on.

        A dead tuple must not stand before a living one: when it is forgotten, so is its queue.
        """
        self._make_room(first, len(life))
        return self._enqueue(living, exp, rows, life)

    def _make_room(self, first: int, count: int) -> None:
        if not len(self._links):
            self._links.clear(first)
        self._links.extend(count, -1)

    def _enqueue(self, at: Int64s, exp: Int64s, rows: pa.RecordBatch, life: Growable) -> bool:
        codes = self._codes(exp, rows)
        self._queues.enqueue(codes, at, self._links, 0)
        front = self._queues.oldest[codes]
        behind = np.flatnonzero(front != at)
        if self.exact or not len(behind):
            return True
        same_end: bool = (life.take(front[behind])[:, EXP] == exp[behind]).all()
        return same_end and self._are_equal(at[behind], front[behind])

    def _are_equal(self, here: Int64s, there: Int64s) -> bool:
        """Whether tuples have the values of those at other positions, NULL being one of them."""
        for column in self._store.columns:
            mine, theirs = column.take(here), column.take(there)
            if pa.types.is_floating(mine.type):
                if not np.array_equal(identity_keys(mine), identity_keys(theirs)):
                    return False
                mine, theirs = mine.is_null(), theirs.is_null()
            if not comparable_column(mine).equals(comparable_column(theirs)):
                return False
        return True

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
        columns = [pa.array(exp), *rows.columns]
        if isinstance(self._known, IntTable):
            codes = self._known.codes(hash_rows(columns, len(exp)) >> (64 - BITS.value))
        else:
            codes = self._known.codes(columns, len(exp))
        self._queues.reserve(len(self))
        return codes
