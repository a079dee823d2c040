"""VAR and STDDEV of decimals, over tuples and by sub-windows, from sums without error.

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

from windrow.columns.arrays import Int64s, validity
from windrow.columns.growable import fresh
from windrow.operators.aggregates.count_sum_avg import LOW, Sum
from windrow.operators.aggregates.decimal_sums import WORDS, words_of
from windrow.operators.aggregates.events import ArgumentValues, Events
from windrow.operators.aggregates.summaries import add_columns

SQUARES = 2 * WORDS
BOTH = WORDS + SQUARES


def _carry(words: Int64s) -> None:
    """Words of 32 bits in place of what they have grown to; the last takes what is left."""
    for place in range(words.shape[1] - 1):
        words[:, place + 1] += words[:, place] >> 32
        words[:, place] &= LOW


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
    _carry(squares)
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
        return self.change(events, _with_squares(argument) * events.sign[:, None], counts)

    def change(
        self, events: Events, words: Int64s, counts: tuple[Int64s, Int64s]
    ) -> tuple[pa.Array, pa.Array]:
        """Add words to the sums of their groups; the answers before and after."""
        before = self.sums[events.groups]
        after = np.empty((len(events.last), BOTH), np.int64)
        for place in range(BOTH):
            own = np.ascontiguousarray(words[:, place])
            after[:, place] = events.running(own, before[:, place].copy())
        _carry(after[:, :WORDS])
        _carry(after[:, WORDS:])
        self.sums[events.code[events.last]] = after
        return self._read(before, counts[0]), self._read(after, counts[1])

    def _read(self, words: Int64s, counts: Int64s) -> pa.Array:
        found, some = np.zeros(len(counts)), counts > 1
        if some.any():
            n, words = counts[some].astype(object), words[some]
            spread = n * _integers(words[:, WORDS:]) - _integers(words[:, :WORDS]) ** 2
            # Python divides integers to the nearest double.
            found[some] = (spread / (n * (n - 1) * self.unit)).astype(np.float64)
        return pa.array(np.sqrt(found) if self.root else found, mask=~some)


class DecimalVarianceSummary:
    """VAR, or STDDEV with ``root``, by sub-windows: how many values, and the words of both sums."""

    width = 1 + BOTH

    def __init__(self, kind: pa.DataType, root: bool) -> None:
        self.window = DecimalVariance(kind, root)

    def tiers(self, argument: pa.Array) -> Int64s | None:
        return None

    def fold(self, rows: Int64s, argument: pa.Array | None, at: int, table: Int64s) -> None:
        assert argument is not None
        valid = validity(argument)
        parts = np.zeros((len(argument), at + self.width), np.int64)
        parts[:, at] = 1 if valid is None else valid
        parts[:, at + 1 :] = _with_squares(argument)
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
