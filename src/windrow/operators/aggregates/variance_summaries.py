"""VAR and STDDEV by sub-windows: exact sums of the values and of their squares.

Of integers both sums are whole numbers in a few limbs; of doubles a summary holds values of one
tier (``windrow.operators.aggregates.sum_summaries``), whose squares span 128 exponents. What the
window answers is worked out as over tuples (``windrow.operators.aggregates.variance``).
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from windrow.columns.arrays import Int64s, numbers, validity
from windrow.columns.exactsum import (
    FRACTION,
    SPECIALS,
    add_product,
    add_special,
    add_word,
    mantissa_of,
)
from windrow.columns.kernels import (
    boolean,
    flags,
    floats_out,
    grid,
    grid_out,
    helper,
    int64,
    ints,
    kernel,
    signs,
    void,
)
from windrow.operators.aggregates.events import Events
from windrow.operators.aggregates.sum_summaries import (
    FIRST,
    NARROW,
    PRESENT,
    SPAN,
    SPECIAL,
    TIER,
    add_limbs,
    add_tier,
    double_bits,
    first_limb,
    tier_of,
    tiers_of,
)
from windrow.operators.aggregates.summaries import add_columns
from windrow.operators.aggregates.variance import Variance, variance_of

SQUARES = 8
"""Limbs of a sum of squares within one tier, and of integers."""
OF_SQUARES = FIRST + NARROW
"""The first of their columns."""


@kernel(void, ints, ints, flags, boolean, int64, grid_out)
def _fold(rows, values, present, integral, at, table):  # type: ignore[no-untyped-def]
    """``values`` are integers, or the bits of doubles."""
    for i in range(len(rows)):
        row, value = table[rows[i]], values[i]
        tier = np.int64(0) if integral else np.int64(tier_of(value))
        row[at + TIER] = tier
        if not present[i]:
            continue
        row[at + PRESENT] += 1
        sums = row[at + FIRST : at + FIRST + NARROW]
        squares = row[at + OF_SQUARES : at + OF_SQUARES + SQUARES]
        if integral:
            size, inside = np.uint64(abs(value)), np.int64(0)
        elif tier == SPECIAL:
            add_special(sums, value, 1)
            continue
        else:
            size, place = mantissa_of(value)
            inside = np.int64(place) + SPAN // 2 - SPAN * tier
        if size:
            add_word(sums, inside, size, -1 if value < 0 else 1)
            add_product(squares, 2 * inside, size, size, 1)


@helper
def add_summary(part, integral, by, sums, squares):  # type: ignore[no-untyped-def]
    """Add the two sums of a summary to those of a window, or take them away."""
    wide = len(squares) - SPECIALS
    if integral:
        add_limbs(sums, len(sums) - SPECIALS, 0, part, FIRST, NARROW, by)
        add_limbs(squares, wide, 0, part, OF_SQUARES, SQUARES, by)
        return
    tier = part[TIER]
    add_tier(sums, part, FIRST, tier, by)
    if tier != SPECIAL:
        add_limbs(squares, wide, 2 * first_limb(tier), part, OF_SQUARES, SQUARES, by)


@kernel(
    void, ints, grid, boolean, boolean, signs, ints, ints, ints, grid_out, grid_out, floats_out,
)  # fmt: skip
def _variances(  # type: ignore[no-untyped-def]
    code, parts, integral, root, sign, last, groups, counts, sums, squares, answer
):
    """Per group before, then per segment after; ``counts`` are the numbers of values, in turn."""
    before, i = len(groups), 0
    total = np.empty(sums.shape[1], np.int64)
    work = np.empty(squares.shape[1] + FRACTION + 2, np.int64)
    for j in range(before + len(last)):
        if j < before:
            row = groups[j]
        else:
            row = code[last[j - before]]
            while i <= last[j - before]:
                add_summary(parts[i], integral, np.int64(sign[i]), sums[row], squares[row])
                i += 1
        answer[j] = variance_of(sums[row], squares[row], counts[j], integral, root, total, work)


class VarianceSummary:
    """VAR, or STDDEV with ``root``: the tier (0 for integers), how many, and two exact sums."""

    width = OF_SQUARES + SQUARES

    def __init__(self, kind: pa.DataType, root: bool) -> None:
        self.window = Variance(kind, root)

    def tiers(self, argument: pa.Array) -> Int64s | None:
        return None if self.window.integral else tiers_of(argument)

    def fold(self, rows: Int64s, argument: pa.Array | None, at: int, table: Int64s) -> None:
        assert argument is not None
        if self.window.integral:
            values, valid = numbers(argument).astype(np.int64), validity(argument)
            present = np.ones(len(values), np.bool_) if valid is None else valid
        else:
            values, present = double_bits(argument)
        _fold(rows, values, present, self.window.integral, at, table)

    def merge(self, rows: Int64s, parts: Int64s, at: int, table: Int64s) -> None:
        table[rows, at] = parts[:, at]
        add_columns(rows, parts, at + PRESENT, self.width - PRESENT, table)

    def grow(self, size: int) -> None:
        self.window.grow(size)

    def update(self, events: Events, parts: Int64s) -> tuple[pa.Array, pa.Array]:
        window = self.window
        change = parts[:, PRESENT] * events.sign
        counts = np.concatenate(window.present.shift(events, change))
        found = np.empty(len(counts), np.float64)
        _variances(
            events.code, parts, window.integral, window.root, events.sign, events.last,
            events.groups, counts, window.sums, window.squares, found,
        )  # fmt: skip
        return window.answers(counts, found, len(events.groups))

    def regroup(self, codes: Int64s, remap: Int64s) -> None:
        self.window.regroup(codes, remap)
