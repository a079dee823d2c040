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


def sorted_positions(
    keys: Sequence[tuple[pa.Array, bool]], ties: Sequence[pa.Array] = ()
) -> Int64s:
    """Positions of rows in the order of pairs of a column and whether it descends.

    NULLs are last either way. Rows that tie on all keys are in the ascending order of ``ties``,
    which are looked at for such rows only; those that tie on these too keep their order.

    >>> values = pa.array([None, 1.0, float("nan"), 2.0])
    >>> [sorted_positions([(values, descending)]).tolist() for descending in (False, True)]
    [[1, 3, 2, 0], [2, 3, 1, 0]]
    >>> sorted_positions([(pa.array([2, 1, 1]), False)], [pa.array(["x", "z", "y"])]).tolist()
    [2, 1, 0]
    """
    columns = _sort_columns(keys)
    order = np.lexsort(columns[::-1])
    if not ties or len(order) < 2:
        return order
    same = np.ones(len(order) - 1, np.bool_)
    for column in columns:
        ordered = column[order]
        same &= ordered[1:] == ordered[:-1]
    if same.any():
        tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
        number = np.append(0, np.cumsum(~same))[tied]
        among, at = order[tied], pa.array(order[tied])
        rest = [(pa.array(number), False), *((column.take(at), False) for column in ties)]
        order[tied] = among[np.lexsort(_sort_columns(rest)[::-1])]
    return order


def _sort_columns(keys: Sequence[tuple[pa.Array, bool]]) -> list[npt.NDArray[Any]]:
    """Numbers whose order is that of the keys."""
    columns: list[npt.NDArray[Any]] = []
    for column, descending in keys:
        valid = validity(column)
        if valid is not None:  # a column of its own: any number may be a value's
            columns.append(~valid)
        values = _ranks(column)
        columns.append(~values if descending else values)
    return columns


def _ranks(column: pa.Array) -> Int64s:
    """Integers in the order of the values."""
    if not is_bytes(column.type):
        return order_keys(column)
    plain = comparable_column(column)
    ranks: Int64s = pc.rank(plain, sort_keys="ascending", tiebreaker="dense").to_numpy()
    return ranks.astype(np.int64)
