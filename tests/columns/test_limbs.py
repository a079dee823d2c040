"""Whole numbers in limbs against Python's own."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from windrow.columns.exactsum import (
    add_product,
    add_word,
    as_double,
    carry_out,
    divide,
    magnitude_of,
    root_as_double,
)

WIDTH, FRACTION = 14, 8
words = st.integers(0, 2**64 - 1)


def value(limbs: np.ndarray) -> int:
    return sum(int(limb) << (32 * i) for i, limb in enumerate(limbs))


def limbs_of(number: int) -> np.ndarray:
    limbs = np.zeros(WIDTH, np.int64)
    for i in range(WIDTH - 1):
        limbs[i] = (number >> (32 * i)) & 0xFFFFFFFF
    limbs[-1] = number >> (32 * (WIDTH - 1))
    return limbs


@given(st.lists(st.tuples(words, words, st.integers(0, 120), st.sampled_from([1, -1])), max_size=9))
def test_words_and_products_add_up(parts: list[tuple[int, int, int, int]]) -> None:
    limbs, expected = np.zeros(WIDTH, np.int64), 0
    for one, other, place, sign in parts:
        add_word(limbs, place, np.uint64(one), sign)
        add_product(limbs, place, np.uint64(one), np.uint64(other), -sign)
        expected += sign * ((one << place) - (one * other << place))
    assert value(limbs) == expected
    carry_out(limbs, WIDTH)
    assert value(limbs) == expected
    assert all(0 <= limb < 2**32 for limb in limbs[:-1])


def quotient(number: int, divisors: list[int]) -> tuple[np.ndarray, bool, bool]:
    magnitude = np.empty(WIDTH + FRACTION, np.int64)
    negative = magnitude_of(limbs_of(number), WIDTH, FRACTION, magnitude)
    left = False
    for divisor in divisors:
        left = divide(magnitude, WIDTH + FRACTION, divisor) or left
    return magnitude, left, negative


numbers = st.one_of(st.integers(-(2**440), 2**440), st.integers(-(2**60), 2**60))
divisors = st.one_of(st.integers(1, 2**48 - 1), st.integers(1, 9))


@settings(max_examples=300)
@given(numbers, divisors, divisors, st.sampled_from([0, 1074, 1400]))
@example(2**53 + 1, 1, 1, 0)
@example((2**54 + 2) * 7, 7, 2, 0)
@example(3, 2, 1, 1074)
@example(1, 2, 1, 1074)
@example(3, 2, 1, 1074 + 2)
def test_a_quotient_of_two_divisions_is_rounded_once(
    number: int, one: int, other: int, base: int
) -> None:
    magnitude, left, negative = quotient(number, [one, other])
    found = as_double(magnitude, len(magnitude), base + 32 * FRACTION, left, negative)
    exact = Fraction(number, one * other * 2**base)
    assert found == exact.numerator / exact.denominator


@given(st.integers(1, 2**440), divisors, st.sampled_from([0, 2148]))
def test_a_root_is_right_to_the_last_place(number: int, divisor: int, base: int) -> None:
    magnitude, left, _ = quotient(number, [divisor])
    found = root_as_double(magnitude, len(magnitude), base + 32 * FRACTION, left)
    square = Fraction(number, divisor * 2**base)
    assert Fraction(math.nextafter(found, 0)) ** 2 <= square
    assert square <= Fraction(math.nextafter(found, math.inf)) ** 2
