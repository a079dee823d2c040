"""Exact sums against the standard library's, which is correctly rounded too."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from windrow.columns.exactsum import SCRATCH, WIDTH, add_exact, read_mean

finite = st.floats(allow_nan=False, allow_infinity=False)


def bits(value: float) -> int:
    return int(np.float64(value).view(np.int64))


def summed(come: list[float], gone: list[float] = []) -> float:  # noqa: B006 - never changed
    sums = np.zeros((1, WIDTH), np.int64)
    for value in come:
        add_exact(sums, 0, bits(value), 1)
    for value in gone:
        add_exact(sums, 0, bits(value), -1)
    return float(read_mean(sums, 0, 1, np.empty(SCRATCH, np.int64)))


@given(st.lists(finite, max_size=30))
@example([1e308, -1e308, 5e-324])
@example([2.0**53, 1.0, 2.0**-60])
@example([2.0**53, 1.0])
def test_a_sum_is_the_double_nearest_to_the_true_sum(values: list[float]) -> None:
    try:
        expected = math.fsum(values)
    except OverflowError:
        return
    assert summed(values) == expected


@given(st.lists(finite, max_size=20), st.lists(finite, max_size=20))
def test_what_came_and_went_leaves_nothing_behind(stay: list[float], pass_by: list[float]) -> None:
    assert summed(pass_by + stay, pass_by) == summed(stay)


def test_infinities_and_nan_come_and_go_like_numbers() -> None:
    inf, nan = math.inf, math.nan
    assert summed([1.0, inf]) == inf
    assert summed([1.0, -inf]) == -inf
    assert math.isnan(summed([inf, -inf]))
    assert math.isnan(summed([1.0, nan]))
    assert summed([1.0, inf, nan], [inf, nan]) == 1.0


def test_a_sum_beyond_the_largest_double_is_infinite() -> None:
    assert summed([1.7e308, 1.7e308]) == math.inf
    assert summed([1.7e308, 1.7e308, 1.0], [1.7e308, 1.7e308]) == 1.0
