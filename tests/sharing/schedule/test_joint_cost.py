"""Costs of schedules: the numbers of 8.4.4, and each update of the horizon by brute force."""

from __future__ import annotations

import math
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sharing.rules.queries import SIX, query
from tests.sharing.schedule.groups import seven_queries
from windrow.core.thresholds import lowered_thresholds
from windrow.sharing.rules import Function, plan_queries
from windrow.sharing.schedule import CostModel, Work, sub_groups
from windrow.sharing.schedule.joint_cost import (
    LONGEST_HORIZON,
    DueUpdates,
    cost_per_update,
    joint_work,
)
from windrow.sharing.schedule.period_choice import choose_periods


def test_sub_groups_of_the_seven_queries_cost_9_14_and_29() -> None:
    tasks = seven_queries()
    assert [task.period for task in tasks] == [2, 3, 5]
    assert [[q.name for q in task.queries] for task in tasks] == [
        ["Q2", "Q3", "Q1"],
        ["Q5", "Q4"],
        ["Q6", "Q7"],
    ]
    assert [task.work.cost for task in tasks] == [9, 14, 29]
    assert joint_work(task.work for task in tasks[:2]).cost == 14


def test_two_sub_groups_cost_7_67_a_minute_apart_and_7_together() -> None:
    first, second, _ = (task.work for task in seven_queries())
    assert cost_per_update([first, second], [2, 3]) == pytest.approx(46 / 6)
    assert round(cost_per_update([first, second], [2, 3]), 2) == 7.67
    assert cost_per_update([first, second], [2, 2]) == 7


@pytest.mark.parametrize(
    ("periods", "cost"),
    [
        ((2, 3, 5), 358 / 30),  # 11.93: the text prints 11.63, see docs/design/deviations.md
        ((2, 2, 5), 11.4),
        ((2, 2, 2), 14.5),
        ((2, 3, 3), 76 / 6),
        ((2, 3, 2), 101 / 6),
    ],
)
def test_the_five_possibilities(periods: tuple[int, ...], cost: float) -> None:
    works = [task.work for task in seven_queries()]
    assert cost_per_update(works, periods) == pytest.approx(cost)


def test_the_second_of_the_five_is_chosen() -> None:
    tasks = seven_queries()
    assert choose_periods([t.work for t in tasks], [t.period for t in tasks]) == (2, 2, 5)


def test_costs_of_probes_by_kind() -> None:
    plan = plan_queries(SIX)
    costs = CostModel(merge=lambda _: 2, finish=lambda q: 10 if q.name == "Q3" else 0)
    one, three = (costs.work(plan, plan.member(name)) for name in ("Q1", "Q3"))
    assert one.cost == 2  # a subtraction of running values
    assert three.cost == 2 + 2 + 2 + 10  # two probes, an addition, and its own
    assert joint_work([one, three]).cost == 16  # the probe of tcp is made once
    maxima = plan_queries([query("one", window=16), query("other", window=7)])
    assert [CostModel().work(maxima, m).cost for m in maxima.members] == [4, 4]  # log2(16) each
    (task,) = sub_groups(maxima)[1][:1]
    assert task.work.cost == 4


def test_an_equal_query_with_a_longer_period_costs_nothing_and_runs_with_its_leader() -> None:
    asked = [query("often", slide=2), query("rare", slide=5), query("else", slide=3, window=20)]
    other, task = sub_groups(plan_queries(asked))[1]
    assert (other.period, [q.name for q in other.queries]) == (3, ["else"])
    assert (task.period, [(q.name, q.period) for q in task.queries]) == (
        2,
        [("often", 2), ("rare", 5)],
    )
    _, alone = sub_groups(plan_queries(asked[1:]))[1]
    assert (alone.period, [q.name for q in alone.queries], alone.work) == (5, ["rare"], task.work)


def test_queries_over_synopses_of_different_s_are_the_business_of_different_schedulers() -> None:
    asked = [query("fine", window=21, slide=7), query("coarse", Function.SUM, 1000, 100)]
    assert {
        s: [t.period for t in tasks] for s, tasks in sub_groups(plan_queries(asked)).items()
    } == {
        7: [1],
        100: [1],
    }


def by_update(works: list[Work], periods: tuple[int, ...]) -> float:
    """The cost of every update of the horizon, one after the other."""
    horizon = math.lcm(*periods)
    total = 0.0
    for update in range(1, horizon + 1):
        due = [w for w, p in zip(works, periods, strict=True) if update % p == 0]
        total += joint_work(due).cost
    return total / horizon


COSTS = st.integers(0, 9).map(float)
ONE_SCAN = st.builds(Work, st.builds(lambda c: {"scan": c}, COSTS), COSTS)
SEVERAL = st.builds(Work, st.dictionaries(st.sampled_from("abc"), COSTS, min_size=1), COSTS)
PERIODS = st.lists(st.integers(1, 12), min_size=1, max_size=5, unique=True)


@st.composite
def groups(draw: st.DrawFn, works: st.SearchStrategy[Work]) -> tuple[list[Work], list[int]]:
    periods = draw(PERIODS)
    return draw(st.lists(works, min_size=len(periods), max_size=len(periods))), periods


@given(group=groups(SEVERAL))
def test_cost_per_update_is_the_mean_over_the_updates(group: tuple[list[Work], list[int]]) -> None:
    works, periods = group
    assert cost_per_update(works, periods) == pytest.approx(by_update(works, tuple(periods)))


def brute_force(works: list[Work], periods: list[int]) -> float:
    allowed = ([p for p in periods if p <= n] for n in periods)
    return min(cost_per_update(works, choice) for choice in product(*allowed))


@settings(deadline=None)
@given(group=groups(ONE_SCAN) | groups(SEVERAL))
def test_no_choice_of_periods_costs_less(group: tuple[list[Work], list[int]]) -> None:
    works, periods = group
    chosen = choose_periods(works, periods)
    assert all(c <= p and c in periods for c, p in zip(chosen, periods, strict=True))
    assert cost_per_update(works, chosen) == pytest.approx(brute_force(works, periods))


@settings(deadline=None)
@given(group=groups(ONE_SCAN) | groups(SEVERAL))
def test_a_search_that_leaves_states_out_is_no_worse_than_no_choice(
    group: tuple[list[Work], list[int]],
) -> None:
    works, periods = group
    with lowered_thresholds():
        chosen = choose_periods(works, periods)
    assert all(c <= p and c in periods for c, p in zip(chosen, periods, strict=True))
    cost = cost_per_update(works, chosen)
    assert cost <= cost_per_update(works, periods) + 1e-9
    assert cost <= cost_per_update(works, [min(periods)] * len(periods)) + 1e-9


def test_three_dozen_sub_groups_get_periods_that_cost_less() -> None:
    periods = list(range(10, 46))
    works = [Work({"scan": float(2 * p + p % 7)}) for p in periods]
    chosen = choose_periods(works, periods)
    assert cost_per_update(works, chosen) < 0.6 * cost_per_update(works, periods)


def test_a_horizon_that_is_too_long_is_cut_and_shares_are_close() -> None:
    primes = [31, 37, 41, 43]
    due = DueUpdates(primes)
    assert due.horizon == LONGEST_HORIZON
    bits = 0
    for prime in primes:
        bits |= due.multiples[prime]
    exact = 1 - math.prod(1 - 1 / prime for prime in primes)
    assert due.share(bits) == pytest.approx(exact, rel=1e-2)
