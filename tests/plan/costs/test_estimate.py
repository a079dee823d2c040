"""The cost model ranks plans, strategies and figures as the text argues that they rank."""

from __future__ import annotations

import pytest

from tests.plan.scripts import bound
from windrow.plan.costs.estimate import cost, model_for
from windrow.plan.costs.flows import Flow, StreamStatistics, present
from windrow.plan.nodes import MultiJoin, walk
from windrow.plan.optimiser import alternatives, optimise, simplify
from windrow.plan.strategy import Strategy

JOIN = "SELECT s.a, t.c FROM s [RANGE 100], t [RANGE 100] WHERE s.k = t.k"
NEGATION = JOIN + " AND NOT EXISTS (SELECT * FROM picked [RANGE 100] AS p WHERE p.k = s.k)"


def flow(text: str, statistics: StreamStatistics | None = None) -> Flow:
    plan = bound(text)
    return model_for(plan, statistics, Strategy.UPA).of(plan).flow


def test_a_window_holds_its_rate_times_its_length() -> None:
    known = StreamStatistics(rates={"s": 7, "f": 2})
    assert flow("SELECT * FROM s [RANGE 10]", known).size == 70
    assert flow("SELECT * FROM f [RANGE 1 MINUTE]", known).size == 120
    assert flow("SELECT * FROM s [ROWS 5]", known).size == 5


def test_a_join_is_as_large_as_in_section_5_3_1() -> None:
    known = StreamStatistics(rates={"s": 10, "t": 1}, distinct={"s.k": 500, "t.k": 50})
    assert flow(JOIN, known).size == pytest.approx(200)


def test_a_flag_leaves_all_tuples_and_changes_where_a_negation_withdraws() -> None:
    known = StreamStatistics(rates={"s": 10, "t": 0.1}, distinct={"s.k": 50, "t.k": 50})
    asked = "EXISTS (SELECT * FROM t [RANGE 100] WHERE t.k = s.k)"
    left = flow("SELECT k FROM s [RANGE 10]", known)
    alone = flow(f"SELECT k FROM s [RANGE 10] WHERE NOT {asked}", known)
    flagged = flow(f"SELECT k, {asked} AS there FROM s [RANGE 10]", known)
    assert flagged.size == left.size > alone.size
    assert flagged.negatives == pytest.approx(2 * alone.negatives)
    assert flagged.inserts == pytest.approx(left.inserts + flagged.negatives)
    assert len(flagged.distinct) == 2


def test_known_selectivities_are_used() -> None:
    known = StreamStatistics(rates={"s": 10}, selectivities={"s.a > 3": 0.5})
    assert flow("SELECT k FROM s [RANGE 10] WHERE a > 3", known).size == 50


def test_values_are_at_most_those_that_there_are() -> None:
    assert present(10, 1_000_000) == pytest.approx(10)
    assert present(1_000_000, 10) == pytest.approx(10, rel=1e-3)
    assert present(0, 10) == 0


@pytest.mark.parametrize("query", [JOIN, "SELECT DISTINCT a FROM s [RANGE 100]"])
def test_update_patterns_beat_both_rivals_where_nothing_is_withdrawn(query: str) -> None:
    plan = simplify(bound(query))
    ours, *rivals = (cost(plan, None, s) for s in (Strategy.UPA, Strategy.NT, Strategy.DIRECT))
    assert ours < min(rivals)


def test_negative_tuples_cost_processing_in_every_operator_above() -> None:
    one = simplify(bound(JOIN))
    assert cost(one, None, Strategy.NT) > 1.5 * cost(one, None, Strategy.UPA)


def rewriting(query: str, statistics: StreamStatistics) -> str:
    return alternatives(bound(query), statistics)[0].rewriting


def test_a_negation_goes_below_a_large_join_and_stays_above_a_small_one() -> None:
    """Golab 2006, 3.5.3: it depends on what the join produces and how much is withdrawn."""
    large = StreamStatistics(distinct={"s.k": 10, "t.k": 10})
    assert rewriting(NEGATION, large) == "negation pushed down"
    small = StreamStatistics(
        rates={"s": 100, "t": 1}, distinct={"s.k": 1_000_000, "t.k": 1_000_000}
    )
    assert rewriting(NEGATION, small) == "as written"


def test_an_n_way_join_is_ordered_by_what_is_known_and_else_as_written() -> None:
    query = (
        "SELECT x.a FROM s [RANGE 100] AS x, t [RANGE 100] AS y, picked [RANGE 9] AS z "
        "WHERE x.k = y.k AND y.k = z.k"
    )
    orders = []
    for known in (
        None,
        StreamStatistics(rates={"s": 50, "t": 1}, distinct={"s.k": 20, "t.k": 400}),
    ):
        plan = optimise(bound(query), known)
        orders.append(next(n.order for n in walk(plan) if isinstance(n, MultiJoin)))
    assert orders[0] == (0, 1, 2)
    assert orders[1] != (0, 1, 2)


def test_the_chosen_plan_is_the_cheapest_or_within_a_per_cent_of_it() -> None:
    for query in (JOIN, NEGATION, "SELECT DISTINCT s.k FROM s [RANGE 9], t [NOW] WHERE s.k = t.k"):
        first, *others = alternatives(bound(query))
        assert all(first.cost <= other.cost / 0.98 for other in others)
