"""EXISTS and IN as values: how often their plans have the input, and which columns they need."""

from __future__ import annotations

import pytest

from windrow.core.patterns import UpdatePattern
from windrow.plan.nodes import Join, MatchFlag, Node, StreamScan, walk
from windrow.plan.program import compile_script

STREAMS = """
CREATE STREAM s (ts BIGINT, k INT, a INT);
CREATE STREAM r (ts BIGINT, k INT, b INT);
"""
EXISTS = "EXISTS (SELECT * FROM r [RANGE 4 SECONDS] WHERE r.k = s.k)"
THETA = "EXISTS (SELECT * FROM r [RANGE 3 SECONDS] WHERE r.b > s.a)"
IN = "a IN (SELECT b FROM r [RANGE 5 SECONDS])"
IN_OF_EACH = "a IN (SELECT b FROM r [RANGE 6 SECONDS] WHERE r.k = s.k)"


def plan_of(query: str) -> Node:
    return compile_script(f"{STREAMS}{query};").queries[0].plan


def scans(plan: Node, name: str) -> int:
    return sum(isinstance(n, StreamScan) and n.name == name for n in walk(plan))


def flags(plan: Node) -> int:
    return sum(isinstance(n, MatchFlag) for n in walk(plan))


@pytest.mark.parametrize(
    "query",
    [
        f"SELECT k, {EXISTS}, {THETA}, {IN}, {IN_OF_EACH} FROM s [RANGE 9 SECONDS]",
        f"SELECT k FROM s [RANGE 9 SECONDS] WHERE {EXISTS} OR {THETA} OR NOT ({IN_OF_EACH})",
        f"SELECT k FROM s [RANGE 9 SECONDS] WHERE (a = 1 OR {EXISTS}) AND (a = 2 OR NOT {THETA})",
        f"SELECT k FROM s WHERE {IN} OR NOT {EXISTS}",
        f"SELECT COUNT(*) FILTER (WHERE {IN}), MAX({EXISTS}) FROM s [RANGE 9 SECONDS]",
    ],
)
def test_a_query_has_its_input_once_however_many_sub_queries_it_asks(query: str) -> None:
    plan = plan_of(query)
    assert scans(plan, "s") == 1
    assert plan.pattern is UpdatePattern.STRICT


def test_what_is_asked_twice_is_looked_up_once() -> None:
    twice = f"CASE WHEN {EXISTS} THEN 1 ELSE 0 END, CASE WHEN a > 1 AND {EXISTS} THEN 2 END"
    assert flags(plan_of(f"SELECT {twice} FROM s [RANGE 9 SECONDS]")) == 1
    assert flags(plan_of(f"SELECT {EXISTS}, {THETA} FROM s [RANGE 9 SECONDS]")) == 2


@pytest.mark.parametrize(
    ("query", "reads"),
    [
        (f"SELECT {IN} FROM s [RANGE 9 SECONDS]", 2),
        (f"SELECT {IN_OF_EACH} FROM s [RANGE 9 SECONDS]", 2),
        (f"SELECT CASE WHEN {IN} THEN 1 END FROM s [RANGE 9 SECONDS]", 1),
        (f"SELECT CASE WHEN NOT ({IN_OF_EACH}) THEN 1 END FROM s [RANGE 9 SECONDS]", 1),
        (f"SELECT CASE a WHEN 1 THEN {IN} END FROM s [RANGE 9 SECONDS]", 2),
        (f"SELECT k FROM s [RANGE 9 SECONDS] WHERE a = 1 OR {IN}", 1),
        (f"SELECT k FROM s [RANGE 9 SECONDS] WHERE NOT (a = 1 AND {IN_OF_EACH})", 1),
        (f"SELECT k FROM s [RANGE 9 SECONDS] WHERE ({IN}) IS NULL", 2),
    ],
)
def test_a_null_is_told_from_false_where_that_makes_a_difference(query: str, reads: int) -> None:
    assert scans(plan_of(query), "r") == reads


def test_a_flag_that_nobody_reads_is_not_looked_up() -> None:
    plan = plan_of(f"SELECT k FROM (SELECT k, {EXISTS} AS e FROM s [RANGE 9 SECONDS]) AS q")
    assert flags(plan) == 0
    assert plan.pattern is UpdatePattern.WEAKEST


def test_a_stream_beside_or_stays_one_if_nothing_is_withdrawn() -> None:
    plan = plan_of("SELECT k FROM s WHERE a = 1 OR k IN (SELECT k FROM r) OR a IS NULL")
    assert plan.pattern is UpdatePattern.MONOTONIC
    assert any(isinstance(n, Join) for n in walk(plan))
    assert scans(plan, "s") == 2
