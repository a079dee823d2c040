"""Finds the stored tuple that a negative tuple withdraws: a hash on the whole tuple.

Tuples with the same values and the same expiry are chained, newest first. Any of them that is
live may go, since nobody can tell them apart.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.columns.growable import Growable
from windrow.columns.interner import Interner
from windrow.columns.kernels import grid_out, int64, ints, ints_out, kernel, void

Int64s = npt.NDArray[np.int64]
TS, EXP, END, LINK = 0, 1, 2, 3
"""Columns of a buffer's ``life``: arrival, own expiry, actual end, and a link for its owner."""


@kernel(void, ints, int64, ints_out, ints_out)
def chain(codes, first, heads, links):  # type: ignore[no-untyped-def]
    """Make each position the head of its code's chain; ``links`` belong to these positions."""
    for i in range(len(codes)):
        links[i] = heads[codes[i]]
        heads[codes[i]] = first + i


@kernel(int64, ints, ints, ints, ints, int64, grid_out, ints_out)
def _withdraw(codes, at, heads, links, base, life, found):  # type: ignore[no-untyped-def]
    """End one live counterpart of each negative tuple at its instant; how many were found."""
    for i in range(len(codes)):
        p = heads[codes[i]]
        while p >= base:
            row = p - base
            if (
                life[row, TS] < at[i]
                and life[row, END] == life[row, EXP]
                and at[i] < life[row, EXP]
            ):
                break
            p = links[row]
        if p < base:
            return i
        life[p - base, END] = at[i]
        found[i] = p
    return len(codes)


def grown(values: Int64s, size: int, fill: int) -> Int64s:
    """``values``, or a larger copy of it with room for ``size`` and ``fill`` in the new places."""
    if size <= len(values):
        return values
    larger = np.full(size * 2, fill, np.int64)
    larger[: len(values)] = values
    return larger


class TupleIndex:
    """Chains of equal tuples over the positions of a buffer."""

    def __init__(self, schema: pa.Schema) -> None:
        self._interner = Interner([pa.int64(), *schema.types])
        self._heads = np.full(64, -1, np.int64)
        self._links = Growable(np.int64)

    def insert(self, first: int, exp: Int64s, rows: pa.RecordBatch) -> None:
        codes = self._codes(exp, rows)
        if not len(self._links):
            self._links.clear(first)
        links = np.empty(len(codes), np.int64)
        chain(codes, first, self._heads, links)
        self._links.append(links)

    def withdraw(
        self, at: Int64s, exp: Int64s, rows: pa.RecordBatch, life: Growable
    ) -> tuple[Int64s, int]:
        """End the counterparts; their positions, and how many of the negatives had one."""
        codes = self._codes(exp, rows)
        found = np.empty(len(codes), np.int64)
        links = self._links.view
        count = _withdraw(codes, at, self._heads, links, self._links.base, life.view, found)
        return found, count

    def drop_before(self, position: int) -> None:
        self._links.drop_before(position)

    def _codes(self, exp: Int64s, rows: pa.RecordBatch) -> Int64s:
        codes = self._interner.codes([pa.array(exp), *rows.columns], len(exp))
        self._heads = grown(self._heads, len(self._interner), -1)
        return codes
