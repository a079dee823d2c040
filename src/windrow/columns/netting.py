"""What is left of signed rows when equal ones of opposite sign have cancelled."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.columns.arrays import Int64s
from windrow.columns.delta import Delta
from windrow.columns.hashing import hash_rows
from windrow.columns.interner import Interner


def surplus(codes: Int64s, sign: npt.NDArray[np.int8]) -> npt.NDArray[np.bool_]:
    """Which signed rows are left when equal codes of opposite sign have cancelled.

    >>> surplus(np.array([7, 7, 8, 7]), np.array([1, -1, -1, 1], np.int8)).tolist()
    [False, False, True, True]
    """
    order = np.lexsort((np.arange(len(codes)), sign, codes))
    code, signs = codes[order], sign[order]
    first = np.concatenate([[True], code[1:] != code[:-1]]) if len(code) else np.empty(0, np.bool_)
    group = np.cumsum(first) - 1
    minus = np.bincount(group, signs < 0).astype(np.int64)
    plus = np.bincount(group, signs > 0).astype(np.int64)
    cancelled = np.minimum(minus, plus)[group]
    starts = np.flatnonzero(first)
    rank = np.arange(len(code)) - starts[group]
    rank = np.where(signs > 0, rank - minus[group], rank)
    kept = np.empty(len(codes), np.bool_)
    kept[order] = rank >= cancelled
    return kept


def surplus_rows(columns: Sequence[pa.Array], sign: npt.NDArray[np.int8]) -> npt.NDArray[np.bool_]:
    """Which signed rows are left when equal rows of opposite sign have cancelled.

    Rows that no other may be equal to, by their hash, are not looked at: as a rule that is all.
    """
    hashes = hash_rows(columns, len(sign))
    order = np.argsort(hashes)
    ordered = hashes[order]
    again = np.zeros(len(sign) + 1, np.bool_)
    again[1:-1] = ordered[1:] == ordered[:-1]
    rows = np.sort(order[again[1:] | again[:-1]])
    kept = np.ones(len(sign), np.bool_)
    if len(rows):
        some = [column.take(pa.array(rows)) for column in columns]
        codes = Interner([c.type for c in columns]).codes(some, len(rows))
        kept[rows] = surplus(codes, sign[rows])
    return kept


def net(delta: Delta) -> Delta:
    """The Delta without the pairs that cancel inside an instant."""
    if (delta.sign == 1).all():
        return delta
    columns = [pa.array(delta.ts), pa.array(delta.exp), *delta.rows.columns]
    return delta.filter(surplus_rows(columns, delta.sign))
