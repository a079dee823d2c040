"""SUM and AVG of decimals.

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


def add_words(sums: Int64s, events: Events, words: Int64s) -> tuple[Int64s, Int64s]:
    """The sums before events, per group, and after each segment, with carries yet to be made."""
    before = sums[events.groups]
    after = np.empty((len(events.last), words.shape[1]), np.int64)
    for place in range(words.shape[1]):
        own = np.ascontiguousarray(words[:, place])
        after[:, place] = events.running(own, before[:, place].copy())
    return before, after


def carry(words: Int64s) -> None:
    """Words of 32 bits in place of what they have grown to; the last takes what is left."""
    for place in range(words.shape[1] - 1):
        words[:, place + 1] += words[:, place] >> 32
        words[:, place] &= LOW


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
        return self.change(events, self.words(argument) * events.sign[:, None], counts)

    def words(self, argument: pa.Array) -> Int64s:
        """What a value adds to the sums of its group; NULL nothing."""
        return words_of(argument)

    def change(
        self, events: Events, words: Int64s, counts: tuple[Int64s, Int64s]
    ) -> tuple[pa.Array, pa.Array]:
        """Add words to the sums of their groups; the answers before and after."""
        before, after = add_words(self.sums, events, words)
        later = self.read_added(after, counts[1])
        self.sums[events.code[events.last]] = after
        return self.read(before, counts[0]), later

    def read_added(self, words: Int64s, counts: Int64s) -> pa.Array:
        """The answers of words that were added up; carries are made in them."""
        carry(words)
        answer = self.read(words, counts)
        self.overflows += int(np.count_nonzero(counts)) - (len(answer) - answer.null_count)
        return answer

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
