"""Counters: how often an interval has each value, by group; for exact holistic aggregates.

QUANTILE, TOP k and COUNT DISTINCT need the same data per interval, so one synopsis of counters
serves all of them (Golab 2006, 2.3.4, and rule SS1 of 8.3.1), and MIN, MAX and COUNT too, of texts
as well. Space is the number of different values of each interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import floor, isfinite, isnan
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.columns.arrays import Int64s
from windrow.synopses.errors import SynopsisError, UnsuitableSynopsisError
from windrow.synopses.grouped_table import (
    GroupedTable,
    batch_to_table,
    empty_table,
    merge_tables,
    reduce_rows,
    starts_of,
    table_to_batch,
)
from windrow.synopses.interval_content import AggregateClass, Array, as_array
from windrow.synopses.interval_values import check_answer


class Counters:
    """Value -> count, for each group.

    >>> import numpy as np
    >>> from windrow.synopses import Counters
    >>> counters = Counters()
    >>> hosts = counters.summarise(np.zeros(5, np.int64), np.array(["a", "b", "b", "c", "c"]))
    >>> counters.answer("TOP", hosts, 2).select(["value", "count"]).to_pydict()
    {'value': ['b', 'c'], 'count': [2, 2]}
    >>> counters.answer("COUNT DISTINCT", hosts)["value"].to_pylist()
    [3]
    """

    name, kind = "counters", AggregateClass.HOLISTIC
    answers = frozenset({"COUNT DISTINCT", "QUANTILE", "TOP", "COUNT", "MIN", "MAX"})

    def empty(self) -> GroupedTable:
        return empty_table(keys=2)

    def summarise(self, groups: Array, values: Array) -> GroupedTable:
        groups, values = as_array(groups), as_array(values)
        return reduce_rows([groups, values], np.ones(len(groups), np.int64), None, None)

    def merge(self, parts: Sequence[GroupedTable]) -> GroupedTable:
        return merge_tables(parts)

    def subtract(self, whole: GroupedTable, part: GroupedTable) -> GroupedTable:
        raise UnsuitableSynopsisError(
            where="counters", expected="a content whose running values stay small",
            found="counters of the whole past", remedy="use an interval or basic interval synopsis",
        )  # fmt: skip

    def answer(
        self, function: str, summary: GroupedTable, parameter: float | None = None
    ) -> pa.RecordBatch:
        """TOP takes k and has columns ``value`` and ``count``; QUANTILE takes p."""
        check_answer(self, function)
        group, value = summary.keys
        starts = starts_of(group)
        ends = np.append(starts, len(group))[1:].astype(np.int64)
        if function == "TOP":
            return _top(summary, starts, ends, check_k(parameter))
        columns: dict[str, Any] = {"group": pa.array(group[starts])}
        if function == "QUANTILE":
            columns["value"] = _quantiles(summary, starts, ends, check_p(parameter))
        elif function == "COUNT DISTINCT":
            columns["value"] = pa.array(ends - starts)
        elif function == "COUNT":
            counts = np.add.reduceat(summary.rows, starts) if len(starts) else summary.rows
            columns["value"] = pa.array(counts)
        else:
            columns["value"] = pa.array(value[starts] if function == "MIN" else value[ends - 1])
        return pa.RecordBatch.from_pydict(columns)

    def size(self, summary: GroupedTable) -> int:
        return len(summary)

    def to_batch(self, summary: GroupedTable) -> pa.RecordBatch:
        return table_to_batch(summary)

    def from_batch(self, batch: pa.RecordBatch) -> GroupedTable:
        return batch_to_table(batch)


def _top(table: GroupedTable, starts: Int64s, ends: Int64s, k: int) -> pa.RecordBatch:
    """The k most frequent values of each group; of equally frequent ones the lesser first."""
    number = np.repeat(np.arange(len(starts)), ends - starts)
    order = np.lexsort((np.arange(len(table)), -table.rows, number))
    rank = np.arange(len(table)) - starts[number]
    chosen = table.select(order[rank < k])
    columns = {"group": chosen.keys[0], "value": chosen.keys[1], "count": chosen.rows}
    return pa.RecordBatch.from_pydict({name: pa.array(c) for name, c in columns.items()})


def _quantiles(table: GroupedTable, starts: Int64s, ends: Int64s, p: float) -> pa.Array:
    values, found = table.keys[1], []
    if values.dtype.kind not in "if":
        raise SynopsisError(
            where="QUANTILE", expected="numbers", found="texts", remedy="ask for MIN, MAX or TOP"
        )
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        upto = np.cumsum(table.rows[start:end])
        place = p * (int(upto[-1]) - 1)
        at = np.searchsorted(upto, [floor(place), min(floor(place) + 1, upto[-1] - 1)], "right")
        low, high = values[start + at].tolist()
        found.append(interpolate_exactly(low, high, place - floor(place)))
    return pa.array(found, pa.float64())


def interpolate_exactly(low: float, high: float, share: float) -> float:
    """Between two numbers, without error and rounded once, as SQL's PERCENTILE_CONT."""
    if low == high or share == 0 or isnan(low):
        return float(low)
    if not (isfinite(low) and isfinite(high)):
        return low + (high - low) * share
    return float(low + (Fraction(high) - Fraction(low)) * Fraction(share))


def check_k(parameter: float | None) -> int:
    if parameter is None or parameter < 1 or parameter != int(parameter):
        raise SynopsisError(
            where="TOP", expected="k, a whole number of at least 1", found=str(parameter),
            remedy="give it as the parameter",
        )  # fmt: skip
    return int(parameter)


def check_p(parameter: float | None) -> float:
    if parameter is None or not 0 <= parameter <= 1:
        raise SynopsisError(
            where="QUANTILE", expected="p, a number from 0 to 1", found=str(parameter),
            remedy="give it as the parameter",
        )  # fmt: skip
    return float(parameter)
