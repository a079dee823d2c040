"""One value per interval and group: COUNT, SUM, MIN and MAX, over numpy arrays.

A value knows how many rows it is of, since a group is there as long as it has rows: a sum of 0 is
an answer, a sum of nothing is none.

Sums are exact (see ``windrow.columns.exactsum``). Those of integers are two words of 32 bits, those
of floats fixed point numbers of 70 words. So adding and subtracting leave no error however long a
running synopsis runs, and a sum is what recomputation gives, to the last bit. A sum of integers
beyond BIGINT is NULL, as in CQL.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.columns.arrays import Int64s
from windrow.columns.exactsum import LIMBS, SCRATCH, WIDTH, add_exact, carry_out, read_mean
from windrow.columns.kernels import floats_out, grid_out, ints, kernel, void
from windrow.synopses.errors import SynopsisError
from windrow.synopses.grouped_table import (
    GroupedTable,
    batch_to_table,
    empty_table,
    merge_tables,
    reduce_rows,
    subtract_table,
    table_to_batch,
)
from windrow.synopses.interval_content import AggregateClass, Array, as_array

LOW = (1 << 32) - 1


@kernel(void, ints, ints, grid_out)
def _add_floats(row, bits, sums):  # type: ignore[no-untyped-def]
    for i in range(len(row)):
        add_exact(sums, row[i], bits[i], np.int64(1))
    for i in range(len(sums)):
        carry_out(sums[i], LIMBS)


@kernel(void, grid_out)
def _carry_floats(sums):  # type: ignore[no-untyped-def]
    for i in range(len(sums)):
        carry_out(sums[i], LIMBS)


@kernel(void, grid_out, ints, floats_out)
def _read_floats(sums, count, mean):  # type: ignore[no-untyped-def]
    """Each sum divided by its count, rounded once."""
    scratch = np.empty(SCRATCH, np.int64)
    for i in range(len(sums)):
        mean[i] = read_mean(sums, i, count[i], scratch)


class Counts:
    """COUNT: how many rows, which is what every table knows.

    >>> import numpy as np
    >>> from windrow.synopses import Counts
    >>> counts = Counts()
    >>> counts.answer("COUNT", counts.summarise(np.array([3, 3, 1]), np.zeros(3))).to_pydict()
    {'group': [1, 3], 'value': [1, 2]}
    """

    name, kind = "COUNT", AggregateClass.SUBTRACTABLE
    answers = frozenset({"COUNT"})
    _reducer: np.ufunc | None = None

    def empty(self) -> GroupedTable:
        return empty_table(keys=1)

    def summarise(self, groups: Array, values: Array) -> GroupedTable:
        groups = as_array(groups)
        return reduce_rows([groups], np.ones(len(groups), np.int64), None, None)

    def merge(self, parts: Sequence[GroupedTable]) -> GroupedTable:
        return merge_tables(parts, self._reducer)

    def subtract(self, whole: GroupedTable, part: GroupedTable) -> GroupedTable:
        return subtract_table(whole, part)

    def answer(
        self, function: str, summary: GroupedTable, parameter: float | None = None
    ) -> pa.RecordBatch:
        check_answer(self, function)
        return group_batch(summary, pa.array(summary.rows))

    def size(self, summary: GroupedTable) -> int:
        return len(summary)

    def to_batch(self, summary: GroupedTable) -> pa.RecordBatch:
        return table_to_batch(summary)

    def from_batch(self, batch: pa.RecordBatch) -> GroupedTable:
        return batch_to_table(batch)


class Sums(Counts):
    """SUM of integers or floats, exactly.

    >>> import numpy as np
    >>> from windrow.synopses import Sums
    >>> sums = Sums()
    >>> tenths = [sums.summarise(np.zeros(1, np.int64), np.array([x])) for x in (1e16, 1.0, -1e16)]
    >>> sums.answer("SUM", sums.merge(tenths))["value"].to_pylist()
    [1.0]
    """

    name = "SUM"
    answers = frozenset({"SUM", "COUNT"})
    _reducer = np.add

    def summarise(self, groups: Array, values: Array) -> GroupedTable:
        groups, values = as_array(groups), check_numbers(self.name, as_array(values))
        rows = np.ones(len(groups), np.int64)
        if values.dtype.kind == "i":
            words = np.stack([values >> 32, values & LOW], axis=1)
            return _carry(reduce_rows([groups], rows, words, np.add))
        table = reduce_rows([groups], rows, None, None)
        sums = np.zeros((len(table), WIDTH), np.int64)
        row = np.searchsorted(table.keys[0], groups)
        _add_floats(row, np.ascontiguousarray(values).view(np.int64), sums)
        return replace(table, measure=sums)

    def merge(self, parts: Sequence[GroupedTable]) -> GroupedTable:
        return _carry(merge_tables(parts, np.add))

    def subtract(self, whole: GroupedTable, part: GroupedTable) -> GroupedTable:
        return _carry(subtract_table(whole, part))

    def answer(
        self, function: str, summary: GroupedTable, parameter: float | None = None
    ) -> pa.RecordBatch:
        check_answer(self, function)
        if function == "COUNT":
            return group_batch(summary, pa.array(summary.rows))
        return group_batch(summary, sum_column(summary))


class Extremes(Counts):
    """MIN or MAX; NaN is the greatest number.

    >>> import numpy as np
    >>> from windrow.synopses import Extremes
    >>> most = Extremes("MAX")
    >>> most.answer("MAX", most.summarise(np.array([1, 1]), np.array([4, 9])))["value"].to_pylist()
    [9]
    """

    kind = AggregateClass.DISTRIBUTIVE

    def __init__(self, name: str) -> None:
        self.name = name
        self.answers = frozenset({name})
        self._reducer = {"MIN": np.fmin, "MAX": np.maximum}[name]

    def summarise(self, groups: Array, values: Array) -> GroupedTable:
        groups, values = as_array(groups), check_numbers(self.name, as_array(values))
        return reduce_rows([groups], np.ones(len(groups), np.int64), values, self._reducer)

    def answer(
        self, function: str, summary: GroupedTable, parameter: float | None = None
    ) -> pa.RecordBatch:
        check_answer(self, function)
        values = np.empty(0, np.int64) if summary.measure is None else summary.measure
        return group_batch(summary, pa.array(values))


def _carry(table: GroupedTable) -> GroupedTable:
    """Sums whose words are in their range, so that any number of them can be added."""
    words = table.measure
    if words is None:
        return table
    if words.shape[1] == 2:
        high, low = words[:, 0] + (words[:, 1] >> 32), words[:, 1] & LOW
        return replace(table, measure=np.stack([high, low], axis=1))
    carried = np.ascontiguousarray(words).copy()
    _carry_floats(carried)
    return replace(table, measure=carried)


def sum_column(table: GroupedTable) -> pa.Array:
    """The sums of a table of ``Sums``: BIGINT, NULL where it does not fit, or DOUBLE."""
    words = table.measure
    if words is None:
        return pa.array([], pa.int64())
    if words.shape[1] == 2:
        high, low = words[:, 0], words[:, 1]
        beyond = (high >= 1 << 31) | (high < -(1 << 31))
        return pa.array((high << 32) | low, mask=beyond)
    return pa.array(_means_of_floats(words, np.ones(len(words), np.int64)))


def mean_column(sums: GroupedTable, counts: Int64s) -> pa.Array:
    """Each sum divided by its count, rounded once."""
    words = sums.measure
    if words is None:
        return pa.array([], pa.float64())
    if words.shape[1] == 2:
        pairs = zip(words.tolist(), counts.tolist(), strict=True)
        # Python's division of whole numbers is the double nearest to the quotient.
        return pa.array([((high << 32) + low) / count for (high, low), count in pairs])
    return pa.array(_means_of_floats(words, counts))


def _means_of_floats(words: Array, counts: Int64s) -> Array:
    means = np.empty(len(words), np.float64)
    _read_floats(np.ascontiguousarray(words).copy(), counts, means)
    return means


def group_batch(table: GroupedTable, values: pa.Array) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"group": pa.array(table.keys[0]), "value": values})


def check_answer(content: Any, function: str) -> None:
    """Refuse an aggregate that needs something else per interval."""
    if function not in content.answers:
        raise SynopsisError(
            where=function, expected=" or ".join(sorted(content.answers)),
            found=f"a synopsis of {content.name}",
            remedy="make one with what content_for gives for the aggregate",
        )  # fmt: skip


def check_numbers(where: str, values: Array) -> Array:
    if values.dtype.kind not in "if":
        raise SynopsisError(
            where=where, expected="numbers", found="texts",
            remedy="counters have the least and the greatest text (Counters)",
        )  # fmt: skip
    return values
