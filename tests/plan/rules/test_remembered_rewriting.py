"""A search rewrites what its plans have in common once, and finds the same as without that."""

from __future__ import annotations

import pickle
from collections import Counter
from contextlib import nullcontext

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.plan import random_queries
from tests.plan.rules.test_rules_keep_the_answer import QUERIES, bound
from windrow.plan import optimiser
from windrow.plan.costs.flows import StreamStatistics
from windrow.plan.nodes import Node, StreamScan, walk
from windrow.plan.nodes.rebuild import map_inputs, remember, remembered_rewriting
from windrow.plan.optimiser import alternatives, simplify
from windrow.plan.strategy import Strategy


@given(
    query=random_queries.queries(),
    statistics=random_queries.statistics(),
    strategy=st.sampled_from(Strategy),
)
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
def test_a_search_that_remembers_considers_the_same_plans_at_the_same_costs(
    query: str, statistics: StreamStatistics, strategy: Strategy
) -> None:
    plan = bound(query, random_queries.DECLARATIONS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(optimiser, "remembered_rewriting", nullcontext)
        expected = alternatives(plan, statistics, strategy)
    assert alternatives(plan, statistics, strategy) == expected


def test_each_part_of_a_plan_is_rewritten_once_inside_of_a_search_and_each_time_outside() -> None:
    looks: Counter[str] = Counter()

    @remember
    def look(node: Node) -> Node:
        looks[type(node).__name__] += 1
        return map_inputs(node, look)

    plan = bound("SELECT k FROM s [RANGE 2] UNION ALL SELECT k FROM s [RANGE 3]")
    scans = sum(isinstance(node, StreamScan) for node in walk(plan))
    with remembered_rewriting():
        look(plan)
        look(plan)
    assert (looks["StreamScan"], scans) == (1, 2)
    look(plan)
    assert looks["StreamScan"] == 1 + scans


@pytest.mark.parametrize("query", QUERIES)
def test_what_no_rule_changes_is_the_same_object(query: str) -> None:
    plan = simplify(bound(query))
    assert simplify(plan) is plan
    assert map_inputs(plan, lambda below: below) is plan


@pytest.mark.parametrize("query", QUERIES)
def test_equal_plans_have_equal_hashes_and_take_none_to_other_processes(query: str) -> None:
    plan = bound(query)
    assert hash(plan) == hash(bound(query))
    there = pickle.loads(pickle.dumps(plan))
    assert all("_hash" not in vars(node) for node in walk(there))
    assert there == plan
    assert hash(there) == hash(plan)
