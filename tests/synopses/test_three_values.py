"""How many values per interval a generalised join synopsis needs, by brute force (8.3.2, SS3).

A *history* says which results there are, each by the sub-windows of its two tuples. If two
histories leave the same values in a synopsis but have different answers, no way of reading the
values can be right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, combinations, product

import numpy as np
import pytest

History = frozenset[tuple[int, int]]
Kept = Callable[[History, int, int], object]


def histories(b: int, most: int) -> Iterator[History]:
    """All of at most ``most`` results whose tuples are in the last ``b`` sub-windows at b."""
    cells = list(product(range(1, b + 1), repeat=2))
    every = chain.from_iterable(combinations(cells, count) for count in range(most + 1))
    return (frozenset(chosen) for chosen in every)


def count(history: History, b: int, n1: int, n2: int) -> int:
    return sum(i > b - n1 and j > b - n2 for i, j in history)


def joins(b: int, g: int) -> list[tuple[int, int]]:
    """The joins that rule SS3 promises."""
    lengths = range(b - g, b + 1)
    return [(n, n) for n in range(1, b + 1)] + list(product(lengths, repeat=2))


def three_values(history: History, b: int, _g: int) -> object:
    """All results of each interval; those not flagged for window 1; those not for window 2."""
    return tuple(
        (
            sum(min(i, j) == m for i, j in history),
            sum(j == m < i for i, j in history),
            sum(i == m < j for i, j in history),
        )
        for m in range(1, b + 1)
    )


def three_in_the_oldest(history: History, b: int, g: int) -> object:
    """The same, but results are told apart only in intervals that are among the g oldest then.

    That is what three values in the g oldest intervals alone, as Figure 8.4 has them, can know.
    """
    apart = frozenset((i, j) for i, j in history if min(i, j) <= max(i, j) - b + g)
    alike = three_values(apart, b, g)
    return tuple((sum(min(i, j) == m for i, j in history), alike) for m in range(1, b + 1))


def by_distance(history: History, b: int, g: int) -> object:
    """2g + 1 values: beside all results those at least 1 .. g sub-windows younger, of each side."""
    return tuple(
        (
            sum(min(i, j) == m for i, j in history),
            *(sum(j == m and i - m >= d for i, j in history) for d in range(1, g + 1)),
            *(sum(i == m and j - m >= d for i, j in history) for d in range(1, g + 1)),
        )
        for m in range(1, b + 1)
    )


def counter_example(
    kept: Kept, b: int, g: int, asked: Iterable[tuple[int, int]], most: int
) -> tuple[History, History, tuple[int, int]] | None:
    """Two histories with the same values and different answers, the smallest first."""
    asked, seen = list(asked), {}
    for history in histories(b, most):
        other = seen.setdefault(kept(history, b, g), history)
        for n1, n2 in asked:
            if count(history, b, n1, n2) != count(other, b, n1, n2):
                return other, history, (n1, n2)
    return None


@pytest.mark.parametrize("b", [2, 3])
def test_for_g_1_three_values_are_enough(b: int) -> None:
    assert counter_example(three_values, b, 1, joins(b, 1), most=b * b) is None


def test_for_g_2_three_values_are_not_enough() -> None:
    """The smallest counter-example, which docs/design/deviations.md shows: one result each."""
    found = counter_example(three_values, 3, 2, joins(3, 2), most=1)
    assert found == (frozenset({(1, 2)}), frozenset({(1, 3)}), (3, 1))
    assert [count(history, 3, 3, 1) for history in found[:2]] == [0, 1]


@pytest.mark.parametrize(("b", "g"), [(3, 2), (4, 2), (4, 3)])
def test_three_values_serve_joins_whose_lengths_differ_by_one(b: int, g: int) -> None:
    by_one = [(n1, n2) for n1, n2 in product(range(1, b + 1), repeat=2) if abs(n1 - n2) <= 1]
    assert counter_example(three_values, b, g, by_one, most=3) is None


def test_three_values_in_the_oldest_intervals_alone_come_too_late() -> None:
    """An interval is young when its first results come, and is the oldest in the end."""
    found = counter_example(three_in_the_oldest, 3, 1, joins(3, 1), most=1)
    assert found == (frozenset({(1, 1)}), frozenset({(1, 2)}), (3, 2))


@pytest.mark.parametrize(
    ("b", "g", "most"), [(2, 1, 4), (3, 1, 9), (3, 2, 9), (4, 2, 3), (4, 3, 3)]
)
def test_a_value_for_each_distance_is_enough(b: int, g: int, most: int) -> None:
    asked = [pair for pair in product(range(1, b + 1), repeat=2) if abs(pair[0] - pair[1]) <= g]
    assert set(joins(b, g)) <= set(asked)
    assert counter_example(by_distance, b, g, asked, most) is None


@pytest.mark.parametrize(("b", "g"), [(b, g) for b in range(2, 7) for g in range(b)])
def test_and_fewer_values_are_not(b: int, g: int) -> None:
    """Counts of the oldest interval that SS3 asks for are 2g + 1 independent sums of its cells."""
    cells = [(i, j) for i, j in product(range(1, b + 1), repeat=2) if min(i, j) == 1]
    asked = [
        [int(i > b - n1 and j > b - n2) for i, j in cells]
        for n1, n2 in joins(b, g)
        if max(n1, n2) == b
    ]
    assert np.linalg.matrix_rank(np.array(asked)) == 2 * g + 1
