"""VAR and STDDEV over windows from the words that synopses give (``shared_values``): sums of values
and of their squares, of several synopses and tiers, added up exactly and rounded once.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from windrow.columns.arrays import Int64s
from windrow.columns.exactsum import FRACTION
from windrow.columns.kernels import boolean, floats_out, grid, grid_out, int64, ints, kernel, void
from windrow.operators.aggregates.shared_values import add_at
from windrow.operators.aggregates.sum_summaries import PRESENT
from windrow.operators.aggregates.variance import Variance, variance_of
from windrow.operators.aggregates.variance_summaries import add_summary


@kernel(void, ints, grid, boolean, int64, grid_out, grid_out)
def _add_summaries(place, words, integral, sign, sums, squares):  # type: ignore[no-untyped-def]
    for i in range(len(place)):
        if words[i, PRESENT]:
            add_summary(words[i], integral, sign, sums[place[i]], squares[place[i]])


@kernel(void, ints, boolean, boolean, grid_out, grid_out, floats_out)
def _read(counts, integral, root, sums, squares, out):  # type: ignore[no-untyped-def]
    total = np.empty(sums.shape[1], np.int64)
    work = np.empty(squares.shape[1] + FRACTION + 2, np.int64)
    for i in range(len(out)):
        out[i] = variance_of(sums[i], squares[i], counts[i], integral, root, total, work)


class VarianceValue:
    """VAR or STDDEV: words of one tier at a time into two whole sums."""

    def __init__(self, kind: pa.DataType, root: bool) -> None:
        self.exact = Variance(kind, root)

    def begin(self, count: int) -> None:
        self.present = np.zeros(count, np.int64)
        self.sums = np.zeros((count, self.exact.sums.shape[1]), np.int64)
        self.squares = np.zeros((count, self.exact.squares.shape[1]), np.int64)

    def add(self, place: Int64s | None, words: Int64s, sign: int) -> None:
        add_at(self.present, place, sign * words[:, PRESENT])
        at = np.arange(len(words)) if place is None else place
        parts = np.ascontiguousarray(words)
        _add_summaries(at, parts, self.exact.integral, sign, self.sums, self.squares)

    def read(self) -> pa.Array:
        found = np.empty(len(self.present), np.float64)
        exact = self.exact
        _read(self.present, exact.integral, exact.root, self.sums, self.squares, found)
        return pa.array(found, mask=self.present < 2)
