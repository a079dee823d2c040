"""COUNT, SUM and AVG, exact for integers and for floats (see ``windrow.columns.exactsum``)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.columns.arrays import Int64s, numbers, validity
from windrow.columns.exactsum import (
    FRACTION,
    SCRATCH,
    WIDTH,
    add_exact,
    as_double,
    divide,
    magnitude_of,
    read_mean,
)
from windrow.columns.growable import fresh, grow
from windrow.columns.kernels import (
    floats_out,
    grid_out,
    ints,
    kernel,
    signs,
    void,
)
from windrow.operators.aggregates.events import ArgumentValues, Events, renumber_groups
from windrow.operators.state.move import Move

Totals = tuple[npt.NDArray[Any], npt.NDArray[np.bool_] | np.bool_]
"""Sums, and which of them are answers."""
LOW = (1 << 32) - 1


class Count:
    """How many tuples, or how many of them are not NULL in the argument."""

    keeps_tuples: ClassVar[bool] = False

    def __init__(self) -> None:
        self.counts = fresh(0)

    def grow(self, size: int) -> None:
        self.counts = grow(self.counts, size, 0)

    def advance(self, events: Events, argument: pa.Array | None) -> tuple[Int64s, Int64s]:
        """As ``update``, in plain integers, for values at hand; None counts every tuple."""
        change = events.sign.astype(np.int64)
        if argument is not None:
            valid = validity(argument)
            if valid is not None:
                change = np.where(valid, change, 0)
        return self.shift(events, change)

    def shift(self, events: Events, change: Int64s) -> tuple[Int64s, Int64s]:
        """As ``advance``, for events that change the count by any number."""
        before = self.counts[events.groups]
        after = events.running(change, before)
        self.counts[events.code[events.last]] = after
        return before, after

    def update(self, events: Events, values: ArgumentValues) -> tuple[pa.Array, pa.Array]:
        before, after = self.advance(events, values(events.position))
        return pa.array(before), pa.array(after)

    def obsolete(self) -> Int64s:
        return np.empty(0, np.int64)

    def keeps(
        self, positions: Int64s, codes: Int64s, values: ArgumentValues
    ) -> npt.NDArray[np.bool_]:
        return np.zeros(len(positions), np.bool_)

    def follow(self, move: Move) -> None:
        pass

    def drop_before(self, position: int) -> None:
        pass

    def regroup(self, codes: Int64s, remap: Int64s) -> None:
        self.counts = renumber_groups(self.counts, codes, remap)

    def dump(self, codes: Int64s) -> list[pa.Array]:
        return [pa.array(self.counts[codes])]

    def restore(self, codes: Int64s, columns: list[pa.Array]) -> None:
        self.counts[codes] = columns[0].to_numpy()


@kernel(void, ints, ints, signs, ints, ints, ints, ints, grid_out, floats_out, floats_out)
def _sum_floats(  # type: ignore[no-untyped-def]
    code, bits, sign, last, groups, by_before, by_after, sums, before, after
):
    """Sums divided by ``by_before`` and ``by_after``, which are 1 or the number of values."""
    scratch = np.empty(SCRATCH, np.int64)
    for g in range(len(groups)):
        before[g] = read_mean(sums, groups[g], by_before[g], scratch)
    i = 0
    for j in range(len(last)):
        row = code[last[j]]
        while i <= last[j]:
            add_exact(sums, row, bits[i], np.int64(sign[i]))
            i += 1
        after[j] = read_mean(sums, row, by_after[j], scratch)


@kernel(void, ints, ints, ints, floats_out)
def _mean_of_words(high, low, count, mean):  # type: ignore[no-untyped-def]
    """The doubles nearest to sums of integers, in words of 32 bits, divided by ``count``."""
    limbs, scratch = np.empty(3, np.int64), np.empty(3 + FRACTION, np.int64)
    for i in range(len(high)):
        limbs[0], limbs[1], limbs[2] = low[i], high[i] & LOW, high[i] >> 32
        negative = magnitude_of(limbs, 3, FRACTION, scratch)
        left = count[i] > 1 and divide(scratch, 3 + FRACTION, count[i])
        mean[i] = as_double(scratch, 3 + FRACTION, 32 * FRACTION, left, negative)


class Sum:
    """SUM or, with ``mean``, AVG; NULL where no value is left.

    A sum of integers beyond BIGINT is NULL for as long as it is: its group alone is without a sum,
    and has it again when it fits. ``overflows`` counts such answers, for somebody to be told.
    """

    keeps_tuples: ClassVar[bool] = False

    def __init__(self, kind: pa.DataType, mean: bool) -> None:
        self.floating, self.mean = pa.types.is_floating(kind), mean
        self.present = Count()
        self.overflows = 0
        self.sums: npt.NDArray[Any] = fresh(0, width=WIDTH if self.floating else 2)

    def grow(self, size: int) -> None:
        self.present.grow(size)
        if size > len(self.sums):
            larger = np.zeros((size * 2, self.sums.shape[1]), np.int64)
            larger[: len(self.sums)] = self.sums
            self.sums = larger

    def update(self, events: Events, values: ArgumentValues) -> tuple[pa.Array, pa.Array]:
        argument = values(events.position)
        counts = self.present.advance(events, argument)
        if self.floating:
            return self.answers(counts, self._floats(events, argument, self.divisors(counts)))
        change, sign = numbers(argument).astype(np.int64), events.sign.astype(np.int64)
        totals = self.add_words(events, (change >> 32) * sign, (change & LOW) * sign, counts)
        return self.answers(counts, totals)

    def divisors(self, counts: tuple[Int64s, Int64s]) -> tuple[Int64s, ...]:
        """What sums are divided by: the number of values for AVG, else 1."""
        return tuple(np.maximum(n, 1) if self.mean else np.ones_like(n) for n in counts)

    def answers(
        self, counts: tuple[Int64s, Int64s], totals: tuple[Totals, Totals]
    ) -> tuple[pa.Array, pa.Array]:
        """Sums before and after as an accumulator answers, those without values NULL."""
        before, after = (
            pa.array(total, mask=(count == 0) | ~fits)
            for (total, fits), count in zip(totals, counts, strict=True)
        )
        self.overflows += int(np.count_nonzero(counts[1])) - (len(after) - after.null_count)
        return before, after

    def add_words(
        self, events: Events, high: Int64s, low: Int64s, counts: tuple[Int64s, Int64s]
    ) -> tuple[Totals, Totals]:
        """Change sums by two words of 32 bits: only an answer can leave the range, never a part."""
        by, before = self.divisors(counts), self.sums[events.groups]
        high = events.running(high, before[:, 0].copy())
        low = events.running(low, before[:, 1].copy())
        high, low = high + (low >> 32), low & LOW
        last = events.code[events.last]
        self.sums[last, 0], self.sums[last, 1] = high, low
        earlier = self.whole(before[:, 0].copy(), before[:, 1].copy(), by[0])
        return earlier, self.whole(high, low, by[1])

    def whole(self, high: Int64s, low: Int64s, by: Int64s) -> Totals:
        """Sums of two words as one number each, divided by ``by`` for AVG."""
        if self.mean:
            means = np.empty(len(high), np.float64)
            _mean_of_words(high, low, by, means)
            return means, np.True_
        fits = (high < 1 << 31) & (high >= -(1 << 31))
        return (high << 32) | low, fits

    def _floats(
        self, events: Events, argument: pa.Array, by: tuple[Int64s, ...]
    ) -> tuple[Totals, Totals]:
        bits = numbers(argument).astype(np.float64).view(np.int64)
        sign = events.sign
        valid = validity(argument)
        if valid is not None:  # NULLs arrive here as 0.0, which changes nothing
            bits = np.where(valid, bits, 0)
        before = np.empty(len(events.groups), np.float64)
        after = np.empty(len(events.last), np.float64)
        _sum_floats(
            events.code, bits, sign, events.last, events.groups, *by, self.sums, before, after
        )
        return (before, np.True_), (after, np.True_)

    def obsolete(self) -> Int64s:
        return np.empty(0, np.int64)

    def keeps(
        self, positions: Int64s, codes: Int64s, values: ArgumentValues
    ) -> npt.NDArray[np.bool_]:
        return np.zeros(len(positions), np.bool_)

    def follow(self, move: Move) -> None:
        pass

    def drop_before(self, position: int) -> None:
        pass

    def regroup(self, codes: Int64s, remap: Int64s) -> None:
        self.present.regroup(codes, remap)
        self.sums = renumber_groups(self.sums, codes, remap)

    def dump(self, codes: Int64s) -> list[pa.Array]:
        sums = np.ascontiguousarray(self.sums[codes])
        kind = pa.binary(sums.shape[1] * 8)
        content = pa.Array.from_buffers(kind, len(codes), [None, pa.py_buffer(sums)])
        return [*self.present.dump(codes), content]

    def restore(self, codes: Int64s, columns: list[pa.Array]) -> None:
        self.present.restore(codes, columns[:1])
        array = columns[1]
        raw = np.frombuffer(array.buffers()[1], np.int64).reshape(-1, self.sums.shape[1])
        self.sums[codes] = raw[array.offset : array.offset + len(array)]
