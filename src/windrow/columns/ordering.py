"""The order of rows by several columns: NULL after every value, NaN above every number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from windrow.columns.arrays import order_keys, validity

Int64s = npt.NDArray[np.int64]


def sorted_positions(keys: Sequence[tuple[pa.Array, bool]]) -> Int64s:
    """Positions of rows in the order of pairs of a column and whether it descends.

    NULLs are last either way; rows that tie on all columns keep their order.

    >>> values = pa.array([None, 1.0, float("nan"), 2.0])
    >>> [sorted_positions([(values, descending)]).tolist() for descending in (False, True)]
    [[1, 3, 2, 0], [2, 3, 1, 0]]
    """
    columns: list[npt.NDArray[Any]] = []
    for column, descending in keys:
        valid = validity(column)
        if valid is not None:  # a column of its own: any number may be a value's
            columns.append(~valid)
        values = _ranks(column)
        columns.append(~values if descending else values)
    return np.lexsort(columns[::-1])


def _ranks(column: pa.Array) -> Int64s:
    """Integers in the order of the values."""
    if not pa.types.is_string(column.type):
        return order_keys(column)
    ranks: Int64s = pc.rank(column, sort_keys="ascending", tiebreaker="dense").to_numpy()
    return ranks.astype(np.int64)
