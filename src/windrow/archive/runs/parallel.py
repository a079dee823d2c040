"""Columns side by side: Arrow lets go of Python's lock while it hashes and gathers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.core.thresholds import Threshold

_ENOUGH = Threshold(100_000)
A = TypeVar("A")
B = TypeVar("B")


def map_columns(function: Callable[[A], B], items: Iterable[A], rows: int) -> list[B]:
    """``map`` over columns of so many rows, in threads if they are long enough to pay for them."""
    if rows < _ENOUGH.value or pa.cpu_count() == 1:
        return [function(item) for item in items]
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - seldom, and not light

    with ThreadPoolExecutor(pa.cpu_count()) as threads:
        return list(threads.map(function, items))


def take_rows(table: pa.Table, order: npt.NDArray[np.int64]) -> pa.Table:
    """A table's rows in another order."""
    positions = pa.array(order)
    columns = map_columns(lambda column: column.take(positions), table.columns, len(table))
    return pa.table(columns, schema=table.schema)
