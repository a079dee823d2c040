"""Aggregates over windows from the words that synopses give, as they come out of a GROUP BY.

The words of a sum or an extreme are those of its summary (``windrow.operators.aggregates``); what a
query reads from several synopses is added up, or subtracted, in words, and rounded once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from windrow.columns.arrays import Int64s
from windrow.columns.exactsum import SCRATCH, WIDTH, read_mean
from windrow.columns.kernels import floats_out, grid, grid_out, ints, kernel, void
from windrow.operators.aggregates.count_sum_avg import LOW, Sum
from windrow.operators.aggregates.decimal_sums import DecimalSum
from windrow.operators.aggregates.decimal_variance import DecimalVariance
from windrow.operators.aggregates.extreme_summaries import ExtremeSummary
from windrow.operators.aggregates.long_extreme_summaries import LongExtremeSummary
from windrow.operators.aggregates.sum_summaries import FIRST, PRESENT, TIER, add_tier
from windrow.synopses.grouped_synopses import HELD, KEY, VALUE

Pair = tuple[pa.Array, pa.Array]
"""Values before and after."""


class WindowValue(Protocol):
    """One aggregate of many windows: words are added for each of them, and then read."""

    def begin(self, count: int) -> None:
        """Start with ``count`` windows of nothing."""
        ...

    def add(self, place: Int64s | None, words: Int64s, sign: int) -> None:
        """Add words to the windows at these places, or take them away; None: one for each."""
        ...

    def read(self) -> pa.Array: ...


def add_at(sums: Int64s, place: Int64s | None, words: Int64s) -> None:
    if place is None:
        sums += words
    else:
        np.add.at(sums, place, words)


class CountValue:
    """COUNT: one word."""

    def begin(self, count: int) -> None:
        self.counts = np.zeros(count, np.int64)

    def add(self, place: Int64s | None, words: Int64s, sign: int) -> None:
        add_at(self.counts, place, sign * words[:, 0])

    def read(self) -> pa.Array:
        return pa.array(self.counts)


class IntegerSumValue:
    """SUM or AVG of integers: how many there are, and two words of 32 bits."""

    def __init__(self, sums: Sum) -> None:
        self.sums = sums

    def begin(self, count: int) -> None:
        self.words = np.zeros((count, 3), np.int64)

    def add(self, place: Int64s | None, words: Int64s, sign: int) -> None:
        add_at(self.words, place, sign * words)

    def read(self) -> pa.Array:
        present, high, low = (np.ascontiguousarray(column) for column in self.words.T)
        high, low = high + (low >> 32), low & LOW
        by = np.maximum(present, 1) if self.sums.mean else np.ones_like(present)
        total, fits = self.sums.whole(high, low, by)
        return null_without(self.sums, present, total, fits)


def null_without(
    sums: Sum, present: Int64s, total: npt.NDArray[np.float64 | np.int64], fits: object
) -> pa.Array:
    """Sums, NULL where there is no value or it does not fit, which is counted."""
    answer = pa.array(total, mask=(present == 0) | ~np.asarray(fits))
    sums.overflows += int(np.count_nonzero(present)) - (len(answer) - answer.null_count)
    return answer


class DecimalValue:
    """SUM, AVG, VAR or STDDEV of decimals: how many there are, and words of 32 bits."""

    def __init__(self, window: DecimalSum | DecimalVariance) -> None:
        self.window = window

    def begin(self, count: int) -> None:
        self.words = np.zeros((count, 1 + self.window.sums.shape[1]), np.int64)

    def add(self, place: Int64s | None, words: Int64s, sign: int) -> None:
        add_at(self.words, place, sign * words)

    def read(self) -> pa.Array:
        return self.window.read_added(self.words[:, 1:], np.ascontiguousarray(self.words[:, 0]))


@kernel(void, ints, grid, ints, grid_out)
def _add_tiers(place, words, sign, sums):  # type: ignore[no-untyped-def]
    for i in range(len(place)):
        if words[i, PRESENT]:
            add_tier(sums[place[i]], words[i], FIRST, words[i, TIER], sign[i])


@kernel(void, grid_out, ints, floats_out)
def _read_sums(sums, by, out):  # type: ignore[no-untyped-def]
    scratch = np.empty(SCRATCH, np.int64)
    for i in range(len(out)):
        out[i] = read_mean(sums, i, by[i], scratch)


class DoubleSumValue:
    """SUM or AVG of doubles: words of one tier at a time into whole sums."""

    def __init__(self, sums: Sum) -> None:
        self.sums = sums

    def begin(self, count: int) -> None:
        self.present = np.zeros(count, np.int64)
        self.words = np.zeros((count, WIDTH), np.int64)

    def add(self, place: Int64s | None, words: Int64s, sign: int) -> None:
        add_at(self.present, place, sign * words[:, PRESENT])
        at = np.arange(len(words)) if place is None else place
        _add_tiers(at, np.ascontiguousarray(words), np.full(len(at), sign), self.words)

    def read(self) -> pa.Array:
        by = np.maximum(self.present, 1) if self.sums.mean else np.ones_like(self.present)
        total = np.empty(len(by), np.float64)
        _read_sums(self.words, by, total)
        return null_without(self.sums, self.present, total, True)


class ExtremeValue:
    """MIN or MAX: whether there is one, its key, and its value."""

    def __init__(self, summary: ExtremeSummary) -> None:
        self.summary = summary

    def begin(self, count: int) -> None:
        self.best = np.zeros((count, 3), np.int64)

    def add(self, place: Int64s | None, words: Int64s, sign: int) -> None:
        """The least by key."""
        if place is None:
            better = (words[:, HELD] > 0) & (
                (self.best[:, HELD] == 0) | (words[:, KEY] < self.best[:, KEY])
            )
            self.best[better] = words[better]
            return
        held = np.flatnonzero(words[:, HELD])
        order = held[np.lexsort((words[held, KEY], place[held]))]
        first = np.ones(len(order), np.bool_)
        first[1:] = place[order[1:]] != place[order[:-1]]
        at, found = place[order[first]], words[order[first]]
        better = (self.best[at, HELD] == 0) | (found[:, KEY] < self.best[at, KEY])
        self.best[at[better]] = found[better]

    def read(self) -> pa.Array:
        return self.summary.to_array(
            np.ascontiguousarray(self.best[:, VALUE]), self.best[:, HELD] > 0
        )


class LongExtremeValue:
    """MIN or MAX of what is longer than an integer; each store has its own column of values, so
    what comes are values and not words.
    """

    def __init__(self, summary: LongExtremeSummary) -> None:
        self.kind, self.largest = summary.kind, summary.largest

    def begin(self, count: int) -> None:
        self.best = pa.nulls(count, self.kind)

    def add(self, place: Int64s | None, words: Int64s, sign: int) -> None:
        raise NotImplementedError("words say nothing of a long value: add_values")

    def add_values(self, place: Int64s | None, values: pa.Array) -> None:
        """The first in order, of those that are there and those that come."""
        if place is None and self.best.null_count == len(self.best):
            self.best = values
            return
        both = pa.concat_arrays([self.best, values])
        count, order = len(self.best), "descending" if self.largest else "ascending"
        ranked = pc.array_sort_indices(both, order=order).to_numpy().astype(np.int64)
        ranked = ranked[: len(both) - both.null_count]  # NULLs are last
        at = np.arange(len(values)) if place is None else place
        owners = np.concatenate([np.arange(count), at])
        chosen = np.full(count, -1, np.int64)
        chosen[owners[ranked[::-1]]] = ranked[::-1]  # the first one of each owner is put last
        self.best = both.take(pa.array(chosen, mask=chosen < 0))

    def read(self) -> pa.Array:
        return self.best


MakeValue = Callable[[], WindowValue]
