"""The cost model ranks plans and strategies as ``benchmarks.update_patterns`` measured them.

Times are those of the committed results, the geometric mean over the intervals; what differs by
less than ``LEVEL`` may be ranked either way. Predictions are made from the benchmark's trace.
"""

from __future__ import annotations

import json
from functools import cache
from itertools import combinations
from math import prod

import pytest

from benchmarks.report import RESULTS
from benchmarks.update_patterns import QUERIES, observe, plan_of
from benchmarks.update_patterns_trace import proportioned_links
from windrow.plan.costs.estimate import cost, model_for, premature_share
from windrow.plan.nodes import Join, Negation, walk
from windrow.plan.optimiser import optimise
from windrow.plan.strategy import Strategy

LEVEL = 1.15
WINDOWS = (2_000, 20_000, 200_000)
RESULT = json.loads((RESULTS / "update_patterns.json").read_text())


def measured(query: str, window: int, strategy: Strategy) -> float:
    key = (query, window, strategy.name)
    times = [
        m["milliseconds"] for m in RESULT["runs"] if (m["query"], m["window"], m["way"]) == key
    ]
    assert len(times) == 3
    return float(prod(times) ** (1 / len(times)))


@cache
def trace(window: int):
    return proportioned_links(window, window, 3)


def planned(name: str, window: int):
    query = next(q for q in QUERIES if q.name == name)
    plan = plan_of(query, window)
    links = {f"link{n}": trace(window)[f"link{n}"] for n in range(1, query.links + 1)}
    return plan, observe(plan, links, window)


def predicted(name: str, window: int, strategy: Strategy) -> float:
    plan, statistics = planned(name, window)
    return cost(plan, statistics, strategy)


def assert_ranked(pairs) -> None:
    """Of each pair of a time and a prediction, those with clearly less time cost less."""
    for (time, steps), (other, more) in combinations(pairs, 2):
        if time * LEVEL < other:
            assert steps < more
        if other * LEVEL < time:
            assert more < steps


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("query", [q.name for q in QUERIES])
def test_strategies_are_ranked_as_measured(query: str, window: int) -> None:
    assert_ranked([(measured(query, window, s), predicted(query, window, s)) for s in Strategy])


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("strategy", list(Strategy))
def test_the_plans_of_query_4_are_ranked_as_measured(strategy: Strategy, window: int) -> None:
    names = ("4 negation up", "4 join up")
    assert_ranked([(measured(n, window, strategy), predicted(n, window, strategy)) for n in names])


@pytest.mark.parametrize("window", WINDOWS)
def test_the_plan_that_is_chosen_for_query_4_is_not_clearly_slower(window: int) -> None:
    plan, statistics = planned("4 negation up", window)
    chosen = optimise(plan, statistics)
    top = next(n for n in walk(chosen) if isinstance(n, Join | Negation))
    name, other = ("4 negation up", "4 join up")[:: 1 if isinstance(top, Negation) else -1]
    assert measured(name, window, Strategy.UPA) < LEVEL * measured(other, window, Strategy.UPA)


@pytest.mark.parametrize("window", WINDOWS)
def test_the_share_of_premature_expiries_is_near_what_was_counted(window: int) -> None:
    plan, statistics = planned("3", window)
    flow = model_for(plan, statistics, Strategy.UPA).of(plan).flow
    assert premature_share(flow) == pytest.approx(RESULT["premature"][str(window)], abs=0.15)
