"""MIN and MAX by sub-windows of what is longer than an integer: texts, and decimals of many digits.

FIRST, LAST, MIN_BY and MAX_BY are the least or greatest of texts that have what orders a value
before the value (``windrow.columns.functions.sort_pairs``), so they are kept here too.

One value is kept for each summary that has one, in a column of bytes beside the summaries. A
summary has the first bytes of its value as a key, and where in that column it is; equal keys are
decided by the bytes (``windrow.columns.byte_order``). All else is as for numbers
(``windrow.operators.aggregates.extreme_summaries``).

The column is in the order of sub-windows, so it is forgotten from its start as they leave. Only
values of the open sub-window are replaced, and these lie at its end. Once most of what lies there
has been replaced, and when the sub-window closes, what has not is written anew in its place.

Invariant: the column has at most five values for each summary that is kept, and a few. Cost: O(1)
comparisons per row, and O(1) values written for each that replaces another.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.columns.arrays import Int64s, validity
from windrow.columns.byte_forms import byte_parts
from windrow.columns.byte_order import Ties, comes_first, leading_keys, precedes, ties_type
from windrow.columns.growable import fresh, grow
from windrow.columns.kernels import (
    flags,
    flags_out,
    grid,
    grid_out,
    int64,
    ints,
    ints_out,
    kernel,
    void,
)
from windrow.columns.stored_columns import BytesColumn
from windrow.core.thresholds import Threshold
from windrow.operators.aggregates.extreme_summaries import HELD, KEY, VALUE, ExtremeSummary

REPLACED = Threshold(64, least=0)
"""So many values may be replaced, beyond twice as many as the open sub-window has summaries, before
what is left of them is written anew; and so many summaries may leave before their values go."""


@kernel(int64, ints, flags, ints, ties_type, int64, ints_out, ints_out)
def _best_of_rows(rows, present, keys, ties, low, best, touched):  # type: ignore[no-untyped-def]
    """The best of the values for each summary: which summaries there are, in the order in which
    they are met, and in ``best``, which is -1 everywhere, by ``row - low``, which value.
    """
    found = 0
    for i in range(len(rows)):
        if not present[i]:
            continue
        at = rows[i] - low
        if best[at] < 0:
            touched[found] = at
            found += 1
            best[at] = i
        elif comes_first(keys[i], i, keys[best[at]], best[at], ties):
            best[at] = i
    return found


@kernel(void, ints, ints, ints, ties_type, ties_type, int64, grid, flags_out)
def _find_better(rows, values, keys, ties, held, at, table, better):  # type: ignore[no-untyped-def]
    """Which of the values (one for each summary, by position in ``ties``) are better than what the
    summary holds, by position in ``held``.
    """
    for i in range(len(rows)):
        row, value = table[rows[i]], values[i]
        if not row[at + HELD]:
            better[i] = True
        elif keys[i] != row[at + KEY]:
            better[i] = keys[i] < row[at + KEY]
        else:
            better[i] = precedes(value, ties, row[at + VALUE], held)


@kernel(void, ints, grid, ties_type, int64, grid_out)
def _merge(rows, parts, ties, at, table):  # type: ignore[no-untyped-def]
    for i in range(len(rows)):
        row, part = table[rows[i]], parts[i]
        if part[at + HELD] and (
            not row[at + HELD]
            or comes_first(part[at + KEY], part[at + VALUE], row[at + KEY], row[at + VALUE], ties)
        ):
            for j in range(at, at + 3):
                row[j] = part[j]


class LongExtremeSummary(ExtremeSummary):
    """MIN, or MAX with ``largest``, of texts or decimals of many digits."""

    def __init__(self, kind: pa.DataType, largest: bool) -> None:
        super().__init__(kind, largest)
        self.values = BytesColumn(kind)
        self._best = fresh(-1)
        self._open = -1  # the first summary of the open sub-window
        self._begin = 0  # where its values begin
        self._written = 0  # values up to which nothing is to be written anew
        self._left = 0  # summaries that have left since values were forgotten

    def ties(self) -> Ties:
        return self.values.ties(self.largest)

    def start_over(self) -> LongExtremeSummary:
        """One of the same kind that holds nothing."""
        return LongExtremeSummary(self.kind, self.largest)

    def fold(self, rows: Int64s, argument: pa.Array | None, at: int, table: Int64s) -> None:
        assert argument is not None
        if not len(rows):
            return
        offsets, data = byte_parts(argument)
        keys, valid = leading_keys(offsets, data, self.largest), validity(argument)
        present = np.ones(len(rows), np.bool_) if valid is None else valid
        ties: Ties = (True, self.largest, offsets[:-1], np.diff(offsets), data, 0, 0)
        low, touched = int(rows.min()), np.empty(len(rows), np.int64)
        self._best = grow(self._best, int(rows.max()) - low + 1, -1)
        count = _best_of_rows(rows, present, keys, ties, low, self._best, touched)
        touched = touched[:count]
        best = self._best[touched]
        self._best[touched] = -1
        own, keys = touched + low, keys[best]
        better = np.empty(count, np.bool_)
        _find_better(own, best, keys, ties, self.ties(), at, table, better)
        own = own[better]
        table[own, at + HELD], table[own, at + KEY] = 1, keys[better]
        table[own, at + VALUE] = self._append(argument.take(pa.array(best[better])))

    def _append(self, found: pa.Array) -> Int64s:
        first = self.values.starts.next
        self.values.append(found)
        return np.arange(first, first + len(found))

    def merge(self, rows: Int64s, parts: Int64s, at: int, table: Int64s) -> None:
        """Take summaries in whose values are here already."""
        _merge(rows, parts, self.ties(), at, table)

    def write_anew(self, position: int, at: int, rows: Int64s, closing: bool) -> None:
        """Leave out values that were replaced, if they are many or the open sub-window is
        ``closing``; ``rows`` are its summaries, the first of which has this position.

        Called after every fold, so one that has just been opened has replaced nothing.
        """
        values = self.values
        if position != self._open:
            held = rows[:, at + HELD] > 0
            self._begin = int(rows[held, at + VALUE].min(initial=values.starts.next))
            self._open, self._written = position, self._begin
        most = len(rows) if closing else 2 * len(rows) + REPLACED.value
        if values.starts.next - self._written <= most:
            return
        held = rows[:, at + HELD] > 0
        left = values.take(rows[held, at + VALUE])
        values.cut(self._begin)
        rows[held, at + VALUE] = self._append(left)
        self._written = values.starts.next

    def values_of(self, table: Int64s, at: int) -> pa.Array:
        """The values of summaries; NULL where one has none."""
        return self.to_array(np.ascontiguousarray(table[:, at + VALUE]), table[:, at + HELD] > 0)

    def to_array(self, values: Int64s, held: npt.NDArray[np.bool_]) -> pa.Array:
        if not held.any():
            return pa.nulls(len(values), self.kind)
        if held.all():
            return self.values.take(values)
        place = np.cumsum(held) - 1
        return self.values.take(values[held]).take(pa.array(place, mask=~held))

    def forget(self, gone: int, at: int, table: Int64s) -> None:
        """``gone`` summaries have left, and ``table`` has the others: forget values of the former,
        once they are half as many as those of the latter."""
        self._left += gone
        if 2 * self._left <= len(table) + REPLACED.value:
            return
        held = table[table[:, at + HELD] > 0, at + VALUE]
        first = int(held.min()) if len(held) else self.values.starts.next
        self.values.drop_before(first)
        self._left = 0

    def load(self, found: pa.Array, at: int, table: Int64s) -> None:
        """Fill a fresh one: the values of all summaries of a table, whose places were others."""
        held = np.flatnonzero(table[:, at + HELD])
        table[held, at + VALUE] = self._append(found.take(pa.array(held)))
