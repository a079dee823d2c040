"""Operators by mode and incrementality, and that they hold the indexes that EXPLAIN names."""

from __future__ import annotations

import pytest

from tests.plan.scripts import bound
from windrow.engine.build import operator_for
from windrow.operators.aggregates.distinct_values import OfDistinct
from windrow.operators.aggregates.quantiles import Quantile
from windrow.operators.base import Operator
from windrow.operators.join_side import JoinSide
from windrow.plan.nodes import (
    DuplicateElimination,
    GroupBy,
    Join,
    LastingJoin,
    MultiJoin,
    Negation,
    Node,
    Selection,
    TopK,
    walk,
)
from windrow.plan.physical.classification import (
    Classification,
    Incrementality,
    Mode,
    WindowIndex,
    classify,
    index_for,
)
from windrow.plan.strategy import Strategy

MATCHING = (Join, LastingJoin, MultiJoin, Negation, DuplicateElimination, GroupBy, TopK)


def first(query: str, *kinds: type[Node]) -> Node:
    return next(node for node in walk(bound(query)) if isinstance(node, kinds))


@pytest.mark.parametrize(
    ("query", "kind", "mode"),
    [
        ("SELECT k FROM s WHERE a > 1", Selection, Mode.ON_THE_FLY),
        ("SELECT s.k FROM s [RANGE 5], n WHERE s.k = n.k", Join, Mode.WINDOWED_OUTPUT),
        ("SELECT s.k FROM s, n WHERE s.k = n.k", Join, Mode.ON_THE_FLY),
        ("SELECT s.k FROM s, t WHERE s.k = t.k", Join, Mode.WINDOWED_INPUT),
        ("SELECT s.k FROM s [RANGE 5], t [RANGE 5] WHERE s.k = t.k", Join, Mode.WINDOWED),
        ("SELECT SUM(a) FROM s", GroupBy, Mode.WINDOWED_OUTPUT),
        ("SELECT SUM(a) FROM s [RANGE 5]", GroupBy, Mode.WINDOWED),
        ("SELECT DISTINCT k FROM s", DuplicateElimination, Mode.ON_THE_FLY),
        ("SELECT k FROM s EXCEPT ALL SELECT k FROM t", Negation, Mode.WINDOWED),
    ],
)
def test_the_mode_follows_from_what_is_kept_and_what_leaves(query, kind, mode):
    assert classify(first(query, kind)).mode is mode


@pytest.mark.parametrize(
    ("aggregates", "incrementality", "index"),
    [
        ("SUM(a), COUNT(*), AVG(a)", Incrementality.INCREMENTAL, None),
        ("MIN(a), MAX(DISTINCT b)", Incrementality.INCREMENTAL, None),
        ("VAR(a), STDDEV(a)", Incrementality.INCREMENTAL, None),
        ("COUNT(DISTINCT a)", Incrementality.WITH_HISTOGRAM, WindowIndex.VALUES),
        ("SUM(a), MEDIAN(a)", Incrementality.WITH_HISTOGRAM, WindowIndex.ORDERED),
        ("QUANTILE(a, 0.9), COUNT(DISTINCT a)", Incrementality.WITH_HISTOGRAM, WindowIndex.ORDERED),
    ],
)
def test_a_grouping_is_as_demanding_as_its_most_demanding_aggregate(
    aggregates, incrementality, index
):
    node = first(f"SELECT k, {aggregates} FROM s [RANGE 5] GROUP BY k", GroupBy)
    assert classify(node).incrementality is incrementality
    assert index_for(node) is index


def test_a_negation_counts_on_its_right_and_finds_tuples_on_its_left():
    node = first("SELECT k FROM s WHERE k NOT IN (SELECT k FROM t)", Negation)
    assert classify(node, 1) == Classification(
        Mode.WINDOWED, Incrementality.WITH_HISTOGRAM, by_value=True
    )
    assert [index_for(node, side) for side in (0, 1)] == [WindowIndex.RINGS, WindowIndex.VALUES]


def test_the_order_of_a_window_is_not_found_by_equality():
    node = first("SELECT * FROM s [RANGE 5] ORDER BY k LIMIT 3", TopK)
    assert classify(node).ordered
    assert index_for(node) is None


JOIN = "SELECT s.k FROM s [RANGE 5], t [RANGE 5] WHERE s.k = t.k"
QUERIES = [
    JOIN,
    "SELECT s.k FROM s [RANGE 5], t [RANGE 5] WHERE s.a < t.c",
    "SELECT s.k FROM s [RANGE 5], n WHERE s.k = n.k",
    "SELECT s.k FROM n, s [RANGE 5] WHERE s.k = n.k",
    "SELECT k FROM s WHERE NOT EXISTS (SELECT * FROM t WHERE t.k = s.k)",
    "SELECT k FROM s WHERE NOT EXISTS (SELECT * FROM t WHERE t.k = s.k AND t.c > s.a)",
    "SELECT k FROM s WHERE NOT EXISTS (SELECT * FROM t WHERE t.c > s.a)",
    "SELECT k FROM s EXCEPT ALL SELECT k FROM t",
    "SELECT DISTINCT k FROM s [RANGE 5]",
    "SELECT DISTINCT k FROM s [ROWS 5]",
    "SELECT k, SUM(a) FROM s [RANGE 5] GROUP BY k",
    "SELECT k, MEDIAN(a) FROM s [RANGE 5] GROUP BY k",
    "SELECT k, COUNT(DISTINCT a) FROM s [RANGE 5] GROUP BY k",
]


def rings(operator: Operator) -> bool:
    """Whether an operator finds its tuples by rings under a key."""
    sides = [part for part in vars(operator).values() if isinstance(part, JoinSide)]
    keyed = hasattr(operator, "values") or any(side.keys for side in sides)
    return bool(sides) and keyed


@pytest.mark.parametrize("strategy", [Strategy.UPA, Strategy.DIRECT])
@pytest.mark.parametrize("query", QUERIES)
def test_an_operator_holds_the_index_that_is_planned_for_it(query, strategy):
    node = first(query, *MATCHING)
    operator = operator_for(node, strategy)
    planned = {index_for(node, side, strategy) for side in range(len(node.inputs))}
    assert (WindowIndex.RINGS in planned) == rings(operator)
    held = [type(slot[0]) for slot in getattr(operator, "slots", ()) if slot]
    assert (WindowIndex.ORDERED in planned) == (Quantile in held)
    if isinstance(node, GroupBy):
        assert (WindowIndex.VALUES in planned) == (OfDistinct in held)
