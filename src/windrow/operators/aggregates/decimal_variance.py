"""VAR and STDDEV of decimals, from sums without error.

The sum of the values is four words of 32 bits, that of their squares eight, in units of the last
place and of its square; the last word of each has a sign and room for carries. So n * (sum of
squares) - (sum) ** 2 is a whole number, divided by n * (n - 1) and the square of the unit, and
rounded once, to a double. The root of it is right to within one unit in the last place.

Cost: thirteen integers per group, or per sub-window and group; an answer is worked out in Python's
integers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.columns.arrays import Int64s
from windrow.columns.growable import fresh
from windrow.operators.aggregates.count_sum_avg import LOW, Sum
from windrow.operators.aggregates.decimal_sums import WORDS, add_words, carry, words_of
from windrow.operators.aggregates.events import ArgumentValues, Events

SQUARES = 2 * WORDS
BOTH = WORDS + SQUARES


def _with_squares(argument: pa.Array) -> Int64s:
    """The words of decimals, and those of their squares; NULL is zero."""
    both = np.zeros((len(argument), BOTH), np.int64)
    words, squares = words_of(argument), both[:, WORDS:]
    both[:, :WORDS] = words
    for i in range(WORDS):
        for j in range(WORDS):
            product = words[:, i] * words[:, j]
            signed = max(i, j) == WORDS - 1  # others may have 64 bits, and no sign
            upper = product >> 32 if signed else (product.view(np.uint64) >> 32).view(np.int64)
            squares[:, i + j] += product & LOW
            squares[:, i + j + 1] += upper
    carry(squares)
    return both


def _integers(words: Int64s) -> npt.NDArray[Any]:
    """Python's integers of words of 32 bits."""
    found = words[:, -1].astype(object)
    for place in range(words.shape[1] - 2, -1, -1):
        found = found * 2**32 + words[:, place].astype(object)
    return found


class DecimalVariance(Sum):
    """VAR, or STDDEV with ``root``, of decimals; NULL for fewer than two values."""

    def __init__(self, kind: pa.DataType, root: bool) -> None:
        super().__init__(kind, mean=False)
        self.root, self.unit = root, 10 ** (2 * kind.scale)
        self.sums = fresh(0, width=BOTH)

    def update(self, events: Events, values: ArgumentValues) -> tuple[pa.Array, pa.Array]:
        argument = values(events.position)
        counts = self.present.advance(events, argument)
        return self.change(events, self.words(argument) * events.sign[:, None], counts)

    def words(self, argument: pa.Array) -> Int64s:
        """What a value adds to the sums of its group; NULL nothing."""
        return _with_squares(argument)

    def change(
        self, events: Events, words: Int64s, counts: tuple[Int64s, Int64s]
    ) -> tuple[pa.Array, pa.Array]:
        """Add words to the sums of their groups; the answers before and after."""
        before, after = add_words(self.sums, events, words)
        answer = self.read_added(after, counts[1])
        self.sums[events.code[events.last]] = after
        return self._read(before, counts[0]), answer

    def read_added(self, words: Int64s, counts: Int64s) -> pa.Array:
        """The answers of words that were added up; carries are made in them."""
        carry(words[:, :WORDS])
        carry(words[:, WORDS:])
        return self._read(words, counts)

    def _read(self, words: Int64s, counts: Int64s) -> pa.Array:
        found, some = np.zeros(len(counts)), counts > 1
        if some.any():
            n, words = counts[some].astype(object), words[some]
            spread = n * _integers(words[:, WORDS:]) - _integers(words[:, :WORDS]) ** 2
            # Python divides integers to the nearest double.
            found[some] = (spread / (n * (n - 1) * self.unit)).astype(np.float64)
        return pa.array(np.sqrt(found) if self.root else found, mask=~some)
