"""Rows in the order of their values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from windrow.columns.arrays import Int64s, order_keys, validity
from windrow.columns.byte_forms import byte_parts, is_bytes
from windrow.columns.nested_arrays import is_nested


def comparable_column(column: pa.Array) -> pa.Array:
    """The column as Arrow can compare it: ARRAYs and STRUCTs as bytes in their order, all else as
    it is.
    """
    if not is_nested(column.type):
        return column
    offsets, data = byte_parts(column)
    valid = validity(column)
    bitmap = None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))
    parts = [bitmap, pa.py_buffer(offsets), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.large_binary(), len(column), parts)


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
    if not is_bytes(column.type):
        return order_keys(column)
    plain = comparable_column(column)
    ranks: Int64s = pc.rank(plain, sort_keys="ascending", tiebreaker="dense").to_numpy()
    return ranks.astype(np.int64)
