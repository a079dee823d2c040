"""Figures 1 to 3 of Golab et al. 2006b: lifetimes of up to 16 minutes, an update every 2."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.archive.errors import LifetimeError
from windrow.archive.lifetimes.index_contents import IndexState
from windrow.archive.lifetimes.partition_grid import (
    Axis,
    Chronological,
    Grid,
    GridTechnique,
    Periods,
    Randomised,
    RoundRobin,
    d_exp,
    d_ins,
    r_exp,
    r_ins,
)
from windrow.archive.lifetimes.plan_update import plan_update

PERIODS = Periods(longest=16, interval=2, origin=16)
FIGURE_2 = Grid(2, 2, GridTechnique.REBUILD, Chronological())
FIGURE_3 = Grid(2, 2, GridTechnique.REBUILD, RoundRobin())


def ranges(grid: Grid, now: int) -> dict[str, tuple[list[str], list[str]]]:
    """The insertion and expiry times of each sub-index, as printed under the figures."""
    over = PERIODS.over(now)
    found: dict[str, tuple[list[str], list[str]]] = {
        f"I{number + 1}": ([], []) for number in range(grid.size)
    }
    for period in range(over - PERIODS.count + 1, over + PERIODS.count + 1):
        text = f"{PERIODS.first(period)}-{PERIODS.last(period)}"
        inserted = period <= over
        numbers = (grid.row if inserted else grid.column)(period, PERIODS)
        for number in numbers:
            found[f"I{number + 1}"][0 if inserted else 1].append(text)
    return found


def update(grid: Grid, now: int) -> tuple[list[str], list[str]]:
    """Sub-indices inserted into and expired from at ``now``."""
    over = PERIODS.over(now)
    state = IndexState.empty(grid.size, over - 1)
    arrivals = {over + j: 1 for j in range(1, PERIODS.count + 1)}
    _, step = plan_update(grid, PERIODS, state, now, arrivals)
    return [f"I{i + 1}" for i in step.inserted], [f"I{i + 1}" for i in step.expired]


def test_an_instant_belongs_to_the_period_that_ends_at_or_after_it():
    assert [PERIODS.of(t) for t in (15, 16, 17, 18, 19)] == [0, 0, 1, 1, 2]
    assert [PERIODS.over(t) for t in (15, 16, 17, 18, 19)] == [-1, 0, 0, 1, 1]
    assert (PERIODS.first(1), PERIODS.last(1)) == (17, 18)


def test_figure_2_has_neighbouring_periods_together():
    early, late = ["1-2", "3-4", "5-6", "7-8"], ["9-10", "11-12", "13-14", "15-16"]
    soon, later = ["17-18", "19-20", "21-22", "23-24"], ["25-26", "27-28", "29-30", "31-32"]
    assert ranges(FIGURE_2, 16) == {
        "I1": (early, soon),
        "I2": (early, later),
        "I3": (late, soon),
        "I4": (late, later),
    }


def test_figure_3_has_every_other_period_together():
    odd, even = ["1-2", "5-6", "9-10", "13-14"], ["3-4", "7-8", "11-12", "15-16"]
    soon, later = ["17-18", "21-22", "25-26", "29-30"], ["19-20", "23-24", "27-28", "31-32"]
    assert ranges(FIGURE_3, 16) == {
        "I1": (odd, soon),
        "I2": (odd, later),
        "I3": (even, soon),
        "I4": (even, later),
    }


def test_at_18_the_oldest_insertions_make_room_for_17_and_18_and_the_expired_for_33_and_34():
    assert ranges(FIGURE_3, 18)["I1"] == (
        ["5-6", "9-10", "13-14", "17-18"],
        ["21-22", "25-26", "29-30", "33-34"],
    )
    assert ranges(FIGURE_2, 18)["I1"] == (
        ["3-4", "5-6", "7-8", "17-18"],
        ["19-20", "21-22", "23-24", "33-34"],
    )
    assert ranges(FIGURE_2, 18)["I4"] == ranges(FIGURE_2, 16)["I4"]


def test_chronological_updates_touch_the_same_row_and_column_four_times_running():
    for now in (18, 20, 22, 24):
        assert update(FIGURE_2, now) == (["I1", "I2"], ["I1", "I3"])
    for now in (26, 28, 30, 32):
        assert update(FIGURE_2, now) == (["I3", "I4"], ["I2", "I4"])


def test_round_robin_updates_alternate():
    for now in (18, 22, 26, 30):
        assert update(FIGURE_3, now) == (["I1", "I2"], ["I1", "I3"])
    for now in (20, 24, 28, 32):
        assert update(FIGURE_3, now) == (["I3", "I4"], ["I2", "I4"])


def test_partitioned_by_one_time_every_update_touches_every_sub_index():
    # Section 2: the wave index of Figure 1, once lifetimes vary.
    every = ["I1", "I2", "I3", "I4"]
    assert update(r_ins(4), 18) == (["I1"], every)
    assert update(r_exp(4), 18) == (every, ["I1"])
    assert update(d_ins(4), 24) == (["I2"], every)


def test_grids_are_called_as_in_the_paper():
    grids = (r_ins(16), r_exp(4), d_ins(9), d_exp(25), FIGURE_2, FIGURE_3, Grid(4, 4))
    names = "R-ins16 R-exp4 D-ins9 D-exp25 Rebuild2x2chr Rebuild2x2 NoRebuild4x4"
    assert [grid.name for grid in grids] == names.split()
    assert Grid(3, 3, assignment=Randomised(7)).name == "NoRebuild3x3rnd"


def test_seven_of_sixteen_sub_indices_are_touched_and_nine_if_the_grid_is_not_square():
    # 3.2 and 4.2.
    assert [Grid(*g).touched_count for g in ((2, 2), (4, 4), (2, 8), (8, 2))] == [3, 7, 9, 9]
    assert [r_ins(16).touched_count, d_exp(16).touched_count] == [16, 16]


@given(seed=st.integers(0, 99), first=st.integers(-50, 50), n=st.integers(1, 9))
def test_each_shuffled_round_gives_every_partition_one_period(seed, first, n):
    start = first * n + 1
    turn = [Randomised(seed).partition(k, n, 36, Axis.EXPIRY) for k in range(start, start + n)]
    assert sorted(turn) == list(range(n))


def test_shuffles_depend_on_seed_axis_and_round():
    def draw(seed, axis):
        return [Randomised(seed).partition(k, 6, 36, axis) for k in range(1, 61)]

    assert draw(1, Axis.EXPIRY) == draw(1, Axis.EXPIRY)
    assert draw(1, Axis.EXPIRY) != draw(2, Axis.EXPIRY)
    assert draw(1, Axis.EXPIRY) != draw(1, Axis.INSERTION)
    assert draw(1, Axis.EXPIRY)[:6] != draw(1, Axis.EXPIRY)[6:12]


@pytest.mark.parametrize(
    "grid", [r_ins(4), d_exp(3), Grid(2, 5), Grid(3, 3, assignment=Randomised(7))]
)
def test_a_grid_survives_json(grid):
    assert Grid.from_json(grid.to_json()) == grid


def test_impossible_grids_and_periods_are_refused_with_the_remedy():
    with pytest.raises(LifetimeError, match="multiple of the update interval"):
        Periods(longest=15, interval=2)
    with pytest.raises(LifetimeError, match="at least one partition"):
        Grid(0, 2)
    with pytest.raises(LifetimeError, match=r"at most 8 partitions each way.*use fewer"):
        Grid(9, 2).require_room(PERIODS)
    with pytest.raises(LifetimeError, match="newer Windrow"):
        Grid.from_json({**Grid(2, 2).to_json(), "assignment": {"name": "astral"}})
