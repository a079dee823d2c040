"""Which of many predicates rows satisfy, looked up by the values that predicates speak of.

Rows with equal values in the columns that predicates read satisfy the same ones. As long as few
such combinations of values occur, they are numbered, and predicates are evaluated for new ones
alone: a row costs a search in a table, however many predicates there are. If there are many, or
what a predicate does is counted, all rows are evaluated. So they are if values of a column can be
equal and yet be told apart, as 0 and -0 of doubles can.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.columns.arrays import Int64s
from windrow.columns.evaluate import SelectionMasks, is_partial
from windrow.columns.interner import Interner
from windrow.core.thresholds import Threshold
from windrow.plan.expressions import Expression, columns_of

REMEMBERED = Threshold(4096, least=1)
"""Combinations of values that are remembered; where there are more, none is."""
Wanted = npt.NDArray[np.bool_]
"""Which combinations of values satisfy predicates: a line for each predicate."""


@dataclass(frozen=True)
class SelectedRows:
    """``combinations`` of values by row, and which of these are ``wanted``."""

    wanted: Wanted
    combinations: Int64s

    def take(self, rows: Int64s) -> SelectedRows:
        return SelectedRows(self.wanted, self.combinations[rows])

    def of(self, predicate: int) -> npt.NDArray[np.bool_]:
        """The rows that satisfy a predicate."""
        found: npt.NDArray[np.bool_] = self.wanted[predicate][self.combinations]
        return found


class RowSelections:
    """See the module. Of ``predicates`` None selects every row."""

    def __init__(self, predicates: Sequence[Expression | None]) -> None:
        self._masks = SelectionMasks(predicates)
        some = [predicate for predicate in predicates if predicate is not None]
        self._columns = sorted({c.index for predicate in some for c in columns_of(predicate)})
        self._remembers = not any(map(is_partial, some))
        self._known: Interner | None = None
        self._wanted = np.empty((len(predicates), 0), np.bool_)
        self._evaluated = np.empty(0, np.bool_)

    def select(self, rows: pa.RecordBatch) -> SelectedRows:
        """What each row satisfies."""
        codes = self._codes(rows) if self._remembers and rows.num_rows else None
        if codes is None:
            return SelectedRows(self._masks.evaluate(rows), np.arange(rows.num_rows))
        self._make_room(int(codes.max()) + 1)
        fresh = np.flatnonzero(~self._evaluated[codes])
        if len(fresh):
            new, first = np.unique(codes[fresh], return_index=True)
            self._wanted[:, new] = self._masks.evaluate(rows.take(pa.array(fresh[first])))
            self._evaluated[new] = True
        return SelectedRows(self._wanted, codes)

    def _make_room(self, count: int) -> None:
        """Remember combinations below ``count``. What was handed out stays as it is."""
        lines, known = self._wanted.shape
        if count > known:
            self._wanted = np.hstack([self._wanted, np.zeros((lines, count - known), np.bool_)])
            self._evaluated = np.append(self._evaluated, np.zeros(count - known, np.bool_))

    def _codes(self, rows: pa.RecordBatch) -> Int64s | None:
        """The numbers of combinations; None if these are not remembered."""
        columns = [rows.column(index) for index in self._columns]
        if self._known is None:
            self._remembers = all(_are_told_apart(column.type) for column in columns)
            self._known = Interner([column.type for column in columns])
        if self._remembers:
            codes = self._known.codes(columns, rows.num_rows)
            if len(self._known) <= REMEMBERED.value:
                return codes
        self._remembers, self._known = False, None
        return None


def _are_told_apart(kind: pa.DataType) -> bool:
    """Whether values of a type that are not told apart are the same in every expression."""
    plain = (pa.types.is_integer, pa.types.is_boolean, pa.types.is_string, pa.types.is_temporal)
    return any(of(kind) for of in plain)
