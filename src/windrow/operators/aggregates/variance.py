"""VAR and STDDEV (of a sample), from sums that carry no error.

The sum of the values and the sum of their squares are kept exactly (a square as the two doubles
that it is worth), so what went through the window earlier leaves nothing behind. Each is read
to twice the precision of a double, which survives the subtraction of two large numbers that the
formula asks for.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.columns.arrays import numbers, validity
from windrow.columns.exactsum import WIDTH, add_exact, read_exact
from windrow.columns.kernels import floats, floats_out, grid_out, ints, kernel, signs, void
from windrow.operators.aggregates.count import Count
from windrow.operators.aggregates.events import Events, Values, regrouped
from windrow.operators.state.move import Move

Int64s = npt.NDArray[np.int64]
SPLIT = 134217729.0  # 2**27 + 1: halves a double into two of 26 bits (Dekker)


@kernel(void, floats, floats, ints, signs, ints, ints, grid_out, grid_out, *[floats_out] * 4)
def _moments(  # type: ignore[no-untyped-def]
    value, error, code, sign, last, groups, sums, squares, s_high, s_low, q_high, q_low
):
    """Running sums, read as two doubles each: per group before, then per segment after.

    ``error[i]`` is what the double ``value[i] ** 2`` lacks of the true square.
    """
    count, i = len(groups), 0
    for j in range(count + len(last)):
        if j < count:
            row = groups[j]
        else:
            row = code[last[j - count]]
            while i <= last[j - count]:
                s = np.int64(sign[i])
                x = value[i]
                bits = np.array([x, x * x, error[i]]).view(np.int64)
                add_exact(sums, row, bits[0], s)
                add_exact(squares, row, bits[1], s)
                add_exact(squares, row, bits[2], s)
                i += 1
        for k in range(2):
            store = sums if k == 0 else squares
            high = read_exact(store, row)
            low = 0.0
            if np.isfinite(high):
                bits = np.array([high]).view(np.int64)
                add_exact(store, row, bits[0], np.int64(-1))
                low = read_exact(store, row)
                add_exact(store, row, bits[0], np.int64(1))
            if k == 0:
                s_high[j], s_low[j] = high, low
            else:
                q_high[j], q_low[j] = high, low


class Variance:
    """VAR, or STDDEV with ``root``; NULL for fewer than two values."""

    def __init__(self, root: bool) -> None:
        self.root = root
        self.present = Count()
        self.sums = np.zeros((64, WIDTH), np.int64)
        self.squares = np.zeros((64, WIDTH), np.int64)

    def grow(self, size: int) -> None:
        self.present.grow(size)
        if size > len(self.sums):
            for name in ("sums", "squares"):
                old = getattr(self, name)
                larger = np.zeros((size * 2, WIDTH), np.int64)
                larger[: len(old)] = old
                setattr(self, name, larger)

    def update(self, events: Events, values: Values) -> tuple[pa.Array, pa.Array]:
        argument = values(events.position)
        counts = np.concatenate(self.present.advance(events, argument))
        value = numbers(argument).astype(np.float64)
        sign = events.sign
        valid = validity(argument)
        if valid is not None:
            sign = np.where(valid, sign, 0).astype(np.int8)
        parts = [np.empty(len(counts)) for _ in range(4)]
        _moments(
            value, square_error(value), events.code, sign, events.last, events.groups,
            self.sums, self.squares, *parts,
        )  # fmt: skip
        answer = self._answer(counts, *parts)
        groups = len(events.groups)
        return answer.slice(0, groups), answer.slice(groups)

    def _answer(
        self, count: Int64s, s: npt.NDArray[np.float64], s_rest: npt.NDArray[np.float64],
        q: npt.NDArray[np.float64], q_rest: npt.NDArray[np.float64],
    ) -> pa.Array:  # fmt: skip
        n = np.maximum(count, 2).astype(np.longdouble)
        total = s.astype(np.longdouble) + s_rest
        with np.errstate(invalid="ignore", over="ignore"):
            # n*q - s*s, the large parts first: their products are exact in pieces.
            s_square, s_error = two_product(s, s)
            large = n * q.astype(np.longdouble) - s_square.astype(np.longdouble)
            small = n * q_rest.astype(np.longdouble) - s_error
            small -= 2 * s.astype(np.longdouble) * s_rest + s_rest.astype(np.longdouble) ** 2
            variance = (large + small) / (n * (n - 1))
            variance = np.where(np.isfinite(total), np.maximum(variance, 0), np.nan)
            answer = np.sqrt(variance) if self.root else variance
        return pa.array(answer.astype(np.float64), mask=count < 2)

    def replaced(self) -> Int64s:
        return np.empty(0, np.int64)

    def keeps(self, positions: Int64s, codes: Int64s, values: Values) -> npt.NDArray[np.bool_]:
        return np.zeros(len(positions), np.bool_)

    def follow(self, move: Move) -> None:
        pass

    def drop_before(self, position: int) -> None:
        pass

    def regroup(self, codes: Int64s, remap: Int64s) -> None:
        self.present.regroup(codes, remap)
        self.sums = regrouped(self.sums, codes, remap)
        self.squares = regrouped(self.squares, codes, remap)

    def dump(self, codes: Int64s) -> list[pa.Array]:
        both = np.ascontiguousarray(np.concatenate([self.sums[codes], self.squares[codes]], axis=1))
        size = 2 * WIDTH * 8
        content = pa.Array.from_buffers(pa.binary(size), len(codes), [None, pa.py_buffer(both)])
        return [*self.present.dump(codes), content]

    def restore(self, codes: Int64s, columns: list[pa.Array]) -> None:
        self.present.restore(codes, columns[:1])
        array = columns[1]
        raw = np.frombuffer(array.buffers()[1], np.int64).reshape(-1, 2 * WIDTH)
        raw = raw[array.offset : array.offset + len(array)]
        self.sums[codes], self.squares[codes] = raw[:, :WIDTH], raw[:, WIDTH:]


def two_product(
    a: npt.NDArray[np.float64], b: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """A product as the nearest double and what that lacks (Dekker 1971)."""
    with np.errstate(invalid="ignore", over="ignore"):
        product = a * b
        high_a, high_b = (x * SPLIT - (x * SPLIT - x) for x in (a, b))
        low_a, low_b = a - high_a, b - high_b
        lack = ((high_a * high_b - product) + high_a * low_b + low_a * high_b) + low_a * low_b
    return product, np.where(np.isfinite(lack), lack, 0.0)


def square_error(value: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """What the doubles ``value ** 2`` lack of the true squares."""
    return two_product(value, value)[1]
