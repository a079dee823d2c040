"""SUM and AVG by sub-windows, as exact as over tuples (``windrow.columns.exactsum``).

A sum of integers is two words of 32 bits with room for carries, and how many values there are. A
sum of doubles over all exponents would take 70 integers, for each sub-window and group. So a
summary holds values of one *tier* only: 64 neighbouring exponents, from 2**-30 up to 2**34 in the
one where most data live. Values of a tier add up in four limbs. A group whose values lie in several
tiers has a summary for each of them; NaN and the infinities are a tier of their own, and counted.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.columns.arrays import Int64s, numbers, validity
from windrow.columns.exactsum import (
    LIMBS,
    MASK,
    NANS,
    NEGATIVE,
    POSITIVE,
    SCRATCH,
    add_special,
    add_word,
    is_special,
    mantissa_of,
    read_mean,
)
from windrow.columns.kernels import (
    flags,
    floats_out,
    grid,
    grid_out,
    helper,
    int64,
    ints,
    ints_out,
    kernel,
    signs,
    void,
)
from windrow.operators.aggregates.count_sum_avg import LOW, Sum
from windrow.operators.aggregates.events import Events
from windrow.operators.aggregates.summaries import add_columns

SPAN = 64
"""Exponents of a tier."""
MIDDLE = 16
"""The tier from 2**-30 to 2**34, and that of zeros and NULLs, which change nothing."""
SPECIAL = 40
"""The tier of what is no number."""
NARROW = 4
"""Limbs of a sum within one tier."""
TIER, PRESENT, FIRST = 0, 1, 2
"""Columns of a sum of doubles: its tier, how many values, and the first limb."""


@helper
def tier_of(bits):  # type: ignore[no-untyped-def]
    """The tier of a double."""
    if is_special(bits):
        return SPECIAL
    mantissa, place = mantissa_of(bits)
    return MIDDLE if mantissa == 0 else (place + SPAN // 2) // SPAN


@kernel(void, ints, ints_out)
def _tiers(bits, out):  # type: ignore[no-untyped-def]
    for i in range(len(bits)):
        out[i] = tier_of(bits[i])


@helper
def add_limbs(total, limit, first, part, at, count, sign):  # type: ignore[no-untyped-def]
    """Add (``sign`` 1) ``count`` limbs, worth as much as those of ``total`` from ``first`` on.

    ``total`` has ``limit`` of them; what is carried out of the last one stays in it.
    """
    carry = 0
    for i in range(count):
        digit = part[at + i] + carry
        if first + i == limit - 1:
            total[first + i] += sign * digit
            return
        if first + i >= 0:  # below the first one there is nothing
            total[first + i] += sign * (digit & MASK)
        carry = digit >> 32
    total[first + count] += sign * carry


@helper
def first_limb(tier):  # type: ignore[no-untyped-def]
    """Which limb of a whole sum the first one of a tier is."""
    return tier * (SPAN // 32) - 1


@kernel(void, ints, ints, flags, int64, grid_out)
def _fold_doubles(rows, bits, present, at, table):  # type: ignore[no-untyped-def]
    for i in range(len(rows)):
        row = table[rows[i]]
        tier = tier_of(bits[i])
        row[at + TIER] = tier
        if not present[i]:
            continue
        row[at + PRESENT] += 1
        limbs = row[at + FIRST : at + FIRST + NARROW]
        if tier == SPECIAL:
            add_special(limbs, bits[i], 1)
        else:
            mantissa, place = mantissa_of(bits[i])
            if mantissa:
                inside = place + SPAN // 2 - SPAN * tier
                add_word(limbs, inside, mantissa, -1 if bits[i] < 0 else 1)


@helper
def add_tier(total, part, at, tier, sign):  # type: ignore[no-untyped-def]
    """Add the sum of one tier to a whole sum, or take it away."""
    if tier == SPECIAL:
        for kind in (NANS, POSITIVE, NEGATIVE):
            total[kind] += sign * part[at + NARROW + kind]
    else:
        add_limbs(total, LIMBS, first_limb(tier), part, at, NARROW, sign)


@kernel(void, ints, grid, signs, ints, ints, ints, ints, grid_out, floats_out, floats_out)
def _sum_tiers(  # type: ignore[no-untyped-def]
    code, parts, sign, last, groups, by_before, by_after, sums, before, after
):
    """Sums divided by ``by_before`` and ``by_after``, which are 1 or the number of values."""
    scratch = np.empty(SCRATCH, np.int64)
    for g in range(len(groups)):
        before[g] = read_mean(sums, groups[g], by_before[g], scratch)
    i = 0
    for j in range(len(last)):
        row = code[last[j]]
        while i <= last[j]:
            add_tier(sums[row], parts[i], FIRST, parts[i, TIER], np.int64(sign[i]))
            i += 1
        after[j] = read_mean(sums, row, by_after[j], scratch)


def double_bits(argument: pa.Array) -> tuple[Int64s, npt.NDArray[np.bool_]]:
    """The bits of values as doubles, zero for NULLs, and which of them are there."""
    bits = numbers(argument).astype(np.float64).view(np.int64)
    valid = validity(argument)
    if valid is None:
        return bits, np.ones(len(bits), np.bool_)
    return np.where(valid, bits, 0), valid


def tiers_of(argument: pa.Array) -> Int64s:
    """The tier of each value."""
    bits, _ = double_bits(argument)
    tiers = np.empty(len(bits), np.int64)
    _tiers(bits, tiers)
    return tiers


class DoubleSumSummary:
    """SUM, or AVG with ``mean``, of FLOAT or DOUBLE."""

    width = FIRST + NARROW

    def __init__(self, kind: pa.DataType, mean: bool) -> None:
        self.window = Sum(kind, mean)

    def tiers(self, argument: pa.Array) -> Int64s | None:
        return tiers_of(argument)

    def fold(self, rows: Int64s, argument: pa.Array | None, at: int, table: Int64s) -> None:
        bits, present = double_bits(argument)
        _fold_doubles(rows, bits, present, at, table)

    def merge(self, rows: Int64s, parts: Int64s, at: int, table: Int64s) -> None:
        table[rows, at] = parts[:, at]
        add_columns(rows, parts, at + PRESENT, self.width - PRESENT, table)

    def grow(self, size: int) -> None:
        self.window.grow(size)

    def update(self, events: Events, parts: Int64s) -> tuple[pa.Array, pa.Array]:
        sums = self.window
        counts = sums.present.shift(events, parts[:, PRESENT] * events.sign)
        by = sums.divisors(counts)
        before = np.empty(len(events.groups), np.float64)
        after = np.empty(len(events.last), np.float64)
        _sum_tiers(
            events.code, parts, events.sign, events.last, events.groups, *by, sums.sums,
            before, after,
        )  # fmt: skip
        return sums.answers(counts, ((before, np.True_), (after, np.True_)))

    def regroup(self, codes: Int64s, remap: Int64s) -> None:
        self.window.regroup(codes, remap)


@kernel(void, ints, ints, flags, int64, grid_out)
def _fold_integers(rows, values, present, at, table):  # type: ignore[no-untyped-def]
    for i in range(len(rows)):
        if present[i]:
            row = table[rows[i]]
            row[at] += 1
            row[at + 1] += values[i] >> 32
            row[at + 2] += values[i] & LOW


class IntegerSumSummary:
    """SUM, or AVG with ``mean``, of integers: how many, and their sum in two words."""

    width = 3

    def __init__(self, kind: pa.DataType, mean: bool) -> None:
        self.window = Sum(kind, mean)

    def tiers(self, argument: pa.Array) -> Int64s | None:
        return None

    def fold(self, rows: Int64s, argument: pa.Array | None, at: int, table: Int64s) -> None:
        assert argument is not None
        values, valid = numbers(argument).astype(np.int64), validity(argument)
        present = np.ones(len(values), np.bool_) if valid is None else valid
        _fold_integers(rows, values, present, at, table)

    def merge(self, rows: Int64s, parts: Int64s, at: int, table: Int64s) -> None:
        add_columns(rows, parts, at, self.width, table)

    def grow(self, size: int) -> None:
        self.window.grow(size)

    def update(self, events: Events, parts: Int64s) -> tuple[pa.Array, pa.Array]:
        sums, sign = self.window, events.sign.astype(np.int64)
        counts = sums.present.shift(events, parts[:, 0] * sign)
        totals = sums.add_words(events, parts[:, 1] * sign, parts[:, 2] * sign, counts)
        return sums.answers(counts, totals)

    def regroup(self, codes: Int64s, remap: Int64s) -> None:
        self.window.regroup(codes, remap)
