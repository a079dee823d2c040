"""SUM and AVG of decimals, over tuples and by sub-windows.

A sum is four words of 32 bits, of which the last has a sign and room for carries: adding and taking
away are exact whatever was in the window before. SUM shows it as DECIMAL(38, s), AVG divided by the
number of values and rounded once. What has more digits is NULL for as long as it has them, and
counted, as for integers.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.columns.arrays import Int64s, validity
from windrow.columns.decimal_numbers import divide_rounded, from_last_places, last_places
from windrow.columns.decimal_words import decimal_array, decimal_words, two_words
from windrow.columns.growable import fresh
from windrow.core.schema import MOST_DIGITS
from windrow.operators.aggregates.count_sum_avg import LOW, Sum
from windrow.operators.aggregates.events import ArgumentValues, Events
from windrow.operators.aggregates.summaries import add_columns
from windrow.plan.decimal_types import LEAST_SCALE

WORDS = 4
SHORT = 2**60
"""Numbers below are divided as 64-bit integers."""
END = 10**MOST_DIGITS


def words_of(argument: pa.Array) -> Int64s:
    """Decimals in four words of 32 bits, the lowest first; NULL is zero."""
    long, valid = decimal_words(argument), validity(argument)
    words = np.empty((len(long), WORDS), np.int64)
    words[:, 0], words[:, 1] = long[:, 0] & LOW, (long[:, 0] >> 32) & LOW
    words[:, 2], words[:, 3] = long[:, 1] & LOW, long[:, 1] >> 32
    if valid is not None:
        words[~valid] = 0
    return words


def carry_words(words: Int64s) -> Int64s:
    """The same sums with words of 32 bits; changes what is given."""
    for place in range(WORDS - 1):
        words[:, place + 1] += words[:, place] >> 32
        words[:, place] &= LOW
    return words


def _is_below(high: Int64s, low: Int64s, end: int) -> npt.NDArray[np.bool_]:
    """Whether two words are less than a number."""
    upper, lower = end >> 64, np.uint64(end & (2**64 - 1))
    below: npt.NDArray[np.bool_] = (high < upper) | (
        (high == upper) & (low.view(np.uint64) < lower)
    )
    return below


class DecimalSum(Sum):
    """SUM or, with ``mean``, AVG of decimals; NULL where no value is left."""

    def __init__(self, kind: pa.DataType, mean: bool) -> None:
        super().__init__(kind, mean)
        scale = max(kind.scale, LEAST_SCALE) if mean else kind.scale
        self.raised, self.result = scale - kind.scale, pa.decimal128(MOST_DIGITS, scale)
        self.whole_sum = pa.decimal128(MOST_DIGITS, kind.scale)
        self.sums = fresh(0, width=WORDS)

    def update(self, events: Events, values: ArgumentValues) -> tuple[pa.Array, pa.Array]:
        argument = values(events.position)
        counts = self.present.advance(events, argument)
        return self.change(events, words_of(argument) * events.sign[:, None], counts)

    def change(
        self, events: Events, words: Int64s, counts: tuple[Int64s, Int64s]
    ) -> tuple[pa.Array, pa.Array]:
        """Add words to the sums of their groups; the answers before and after."""
        before = self.sums[events.groups]
        after = np.empty((len(events.last), WORDS), np.int64)
        for place in range(WORDS):
            own = np.ascontiguousarray(words[:, place])
            after[:, place] = events.running(own, before[:, place].copy())
        self.sums[events.code[events.last]] = carry_words(after)
        earlier, later = self.read(before, counts[0]), self.read(after, counts[1])
        self.overflows += int(np.count_nonzero(counts[1])) - (len(later) - later.null_count)
        return earlier, later

    def read(self, sums: Int64s, counts: Int64s) -> pa.Array:
        """Sums, or means, of so many values."""
        words = np.empty((len(sums), 2), np.int64)
        words[:, 0] = sums[:, 0] | (sums[:, 1] << 32)
        words[:, 1] = sums[:, 2] | (sums[:, 3] << 32)
        low, high = (np.ascontiguousarray(words[:, place]) for place in (0, 1))
        inside = (sums[:, 3] >= -(2**31)) & (sums[:, 3] < 2**31)
        fits = inside & _is_below(high, low, END) & ~_is_below(high, low, 1 - END)
        fits &= counts > 0
        total = decimal_array(words, fits, self.whole_sum)
        return self._mean(total, low, high, counts) if self.mean else total

    def _mean(self, total: pa.Array, low: Int64s, high: Int64s, counts: Int64s) -> pa.Array:
        valid = validity(total)
        by, limit = np.maximum(counts, 1), SHORT // 10**self.raised
        if ((high == low >> 63) & (low < limit) & (low > -limit)).all():
            raised = low * 10**self.raised
            sizes = (2 * np.abs(raised) + by) // (2 * by)
            means = two_words(np.where(raised < 0, -sizes, sizes))
            return decimal_array(means, valid, self.result)
        quotients = divide_rounded(last_places(total) * 10**self.raised, by.astype(object))
        return from_last_places(quotients, valid, self.result)


class DecimalSumSummary:
    """SUM, or AVG with ``mean``, by sub-windows: how many values, and the words of their sum."""

    width = 1 + WORDS

    def __init__(self, kind: pa.DataType, mean: bool) -> None:
        self.window = DecimalSum(kind, mean)

    def tiers(self, argument: pa.Array) -> Int64s | None:
        return None

    def fold(self, rows: Int64s, argument: pa.Array | None, at: int, table: Int64s) -> None:
        assert argument is not None
        valid = validity(argument)
        parts = np.zeros((len(argument), at + self.width), np.int64)
        parts[:, at] = 1 if valid is None else valid
        parts[:, at + 1 :] = words_of(argument)
        add_columns(rows, parts, at, self.width, table)

    def merge(self, rows: Int64s, parts: Int64s, at: int, table: Int64s) -> None:
        add_columns(rows, parts, at, self.width, table)

    def grow(self, size: int) -> None:
        self.window.grow(size)

    def update(self, events: Events, parts: Int64s) -> tuple[pa.Array, pa.Array]:
        sign = events.sign.astype(np.int64)
        counts = self.window.present.shift(events, parts[:, 0] * sign)
        return self.window.change(events, parts[:, 1:] * sign[:, None], counts)

    def regroup(self, codes: Int64s, remap: Int64s) -> None:
        self.window.regroup(codes, remap)
