"""How even sub-indices are: Theorem 4.1 and Appendix A of Golab 2006, and 3.3 of 2006b."""

from __future__ import annotations

from fractions import Fraction
from statistics import mean

import pytest

from windrow.archive.lifetimes.index_contents import IndexState
from windrow.archive.lifetimes.partition_grid import (
    Chronological,
    Grid,
    Periods,
    Randomised,
    RoundRobin,
    d_ins,
)
from windrow.archive.lifetimes.plan_update import plan_update
from windrow.papers.grid_costs import touched_units, unevenness, unit_sizes

GRIDS = [(s, s * m) for s in (2, 3, 4, 5) for m in (2, 3, 4)]
"""(square root of n, p): each sub-index spans at least two periods each way."""


def grids(s: int) -> tuple[Grid, Grid]:
    return Grid(s, s, assignment=Chronological()), Grid(s, s, assignment=RoundRobin())


def lemma_1(s: int, p: int) -> Fraction:
    """As printed."""
    n = s * s
    square, fourth = p**2, p**4
    return (
        Fraction(square, 12 * s)
        - Fraction(square, 4 * n)
        + Fraction(fourth, 12 * n)
        - Fraction(fourth, 12 * n * s)
        + Fraction(square, 6)
    )


def lemma_1_sum(s: int, p: int) -> Fraction:
    """The sum that Lemma A.1 simplifies: all sub-indices off the diagonal grow or shrink."""
    n, q, mu = s * s, Fraction(p, s), Fraction(p * (p + 1), 2 * s * s)
    steps = sum((q * (q - i) - mu) ** 2 + (i * q - mu) ** 2 for i in range(p // s))
    return s * (q * (q + 1) / 2 - mu) ** 2 + steps * Fraction(n - s, 2) / q


def chronological(s: int, p: int) -> Fraction:
    """The same, where only s - 1 grow and s - 1 shrink at a time; the others wait."""
    q, mu = Fraction(p, s), Fraction(p * (p + 1), 2 * s * s)
    steps = sum((q * (q - i) - mu) ** 2 + (i * q - mu) ** 2 for i in range(p // s))
    waiting = Fraction((s - 1) * (s - 2), 2) * ((q * q - mu) ** 2 + mu**2)
    return s * (q * (q + 1) / 2 - mu) ** 2 + (s - 1) * steps / q + waiting


def lemma_2_sum(s: int, p: int) -> Fraction:
    """The mean of the two states of Lemma A.2: after an update, and half-way through one."""
    n, q, mu = s * s, Fraction(p, s), Fraction(p * (p + 1), 2 * s * s)
    above, below = q * (q + 1) / 2 - mu, q * (q - 1) / 2 - mu
    first, second = Fraction(s * (s + 1), 2), Fraction(s * (s - 1), 2) + 1
    return sum(k * above**2 + (n - k) * below**2 for k in (first, second)) / 2


@pytest.mark.parametrize(("s", "p"), GRIDS)
def test_lemma_1_simplifies_its_sum_which_counts_sub_indices_that_rest_as_moving(s, p):
    exact = chronological(s, p)
    assert unevenness(grids(s)[0], Periods(p, 1)) == pytest.approx(float(exact))
    assert lemma_1(s, p) == lemma_1_sum(s, p)
    assert lemma_1(s, p) == exact if s == 2 else lemma_1(s, p) < exact


@pytest.mark.parametrize(("s", "p"), GRIDS)
def test_lemma_2_simplifies_its_sum_with_the_last_sign_negative(s, p):
    n = s * s
    terms = Fraction(1, 2) + Fraction(1, 2 * n) - Fraction(1, n * s)
    assert lemma_2_sum(s, p) == Fraction(p * p, 2) * terms


@pytest.mark.parametrize(("s", "p"), GRIDS)
def test_after_each_round_robin_update_the_sizes_are_the_same_two(s, p):
    _, grid = grids(s)
    q, periods = p // s, Periods(p, 1)
    for over in range(p):
        sizes = sorted(unit_sizes(grid, periods, over), reverse=True)
        large = s * (s + 1) // 2
        assert sizes == [q * (q + 1) // 2] * large + [q * (q - 1) // 2] * (s * s - large)
    exact = Fraction(p * p, 4) * (1 - Fraction(1, s * s))
    assert unevenness(grid, periods) == pytest.approx(float(exact))


@pytest.mark.parametrize(("s", "p"), GRIDS)
def test_theorem_1_round_robin_is_more_even_exactly_and_by_the_lemmas(s, p):
    chronologically, round_robin = (unevenness(x, Periods(p, 1)) for x in grids(s))
    assert round_robin < chronologically
    n = s * s
    difference = (
        Fraction(p**2, 12 * s)
        - Fraction(p**2, 2 * n)
        + Fraction(p**4, 12 * n)
        - Fraction(p**4, 12 * n * s)
        - Fraction(p**2, 12)
        + Fraction(p**2, 2 * n * s)
    )
    assert lemma_1(s, p) - lemma_2_sum(s, p) == difference > 0


def test_figure_2_leaves_one_sub_index_empty_and_figure_3_none():
    chronologically, round_robin = grids(2)
    assert unit_sizes(chronologically, Periods(8, 1), 0) == (10, 0, 16, 10)
    assert unit_sizes(round_robin, Periods(8, 1), 0) == (10, 6, 10, 10)


@pytest.mark.parametrize(("s", "p"), GRIDS)
def test_both_touch_the_same_number_of_records_in_every_update(s, p):
    found = {
        sum(map(sum, touched_units(grid, Periods(p, 1), over)))
        for grid in grids(s)
        for over in range(1, p + 1)
    }
    q = p // s
    expected = q * (q + 1) // 2 + (s - 1) * q * q
    assert found == {expected}


def sizes_after(grid: Grid, rates: list[int], p: int) -> list[tuple[int, ...]]:
    state, found = IndexState.empty(grid.size, 0), []
    for k, rate in enumerate(rates, 1):
        arrivals = {k + j: rate for j in range(1, p + 1)}
        state, _ = plan_update(grid, Periods(p, 1), state, k, arrivals)
        found.append(state.sizes())
    return found


def spread(sizes: tuple[int, ...]) -> float:
    return max(sizes) / mean(sizes)


@pytest.mark.parametrize("grid", [*grids(3), d_ins(4)], ids=lambda x: x.name)
def test_counting_agrees_with_the_machine(grid):
    p = 12
    found = sizes_after(grid, [1] * 40, p)
    assert found[p - 1 :] == [unit_sizes(grid, Periods(p, 1), k) for k in range(p, 41)]


def test_bursts_in_step_with_the_round_undo_round_robin_but_not_shuffling():
    # 3.3: the rate alternates and G is even, so round robin gives every burst to half the rows.
    rates, p = [1, 9] * 100, 96
    assert min(map(spread, sizes_after(Grid(4, 4), rates, p)[p:])) > 1.7
    for seed in range(3):
        shuffled = sizes_after(Grid(4, 4, assignment=Randomised(seed)), rates, p)[p:]
        assert mean(map(spread, shuffled)) < 1.5


def test_after_a_lasting_change_of_rate_round_robin_becomes_even_again_and_is_so_sooner():
    # 3.3: halfway through the change chronological sub-indices differ by far more.
    rates = [2] * 40 + [8] * 40
    chronologically, round_robin = (sizes_after(x, rates, 36) for x in grids(4))
    assert max(map(spread, round_robin[40:])) < min(map(spread, chronologically[40:]))
    assert spread(round_robin[-1]) == pytest.approx(spread(round_robin[39]))
