"""The optimised plan holds the same bag as the bound one, at every instant."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.plan import random_queries
from tests.plan.definition import Row, Streams, answer
from windrow.cql import parse
from windrow.plan.binder import bind
from windrow.plan.catalog import QueryDeclaration
from windrow.plan.costs.flows import StreamStatistics
from windrow.plan.nodes import Node, walk
from windrow.plan.optimiser import CHOICES, alternatives, optimise
from windrow.plan.program import compile_script
from windrow.plan.strategy import Strategy

DECLARATIONS = """
CREATE STREAM s (ts BIGINT, k INT, a INT, b INT);
CREATE STREAM t (ts BIGINT, k INT, c INT);
CREATE VIEW picked AS SELECT k, a FROM s WHERE a > 1;
CREATE VIEW counted AS SELECT k, COUNT(*) AS times FROM s [RANGE 3] GROUP BY k;
"""
QUERIES = [
    "SELECT k FROM s [ROWS 2] WHERE a > 1",
    "SELECT k FROM s [PARTITION BY k ROWS 1] WHERE k = 1 AND a > 0",
    "SELECT k FROM (SELECT k, a FROM s [PARTITION BY b ROWS 2]) WHERE k = 1 AND a > 0",
    "SELECT s.a, t.c FROM s [RANGE 3], t [ROWS 2] WHERE s.k = t.k AND s.a > 0 AND t.c < 2",
    "SELECT s.b FROM s [RANGE 2], t [NOW] WHERE s.k < t.k AND s.a = t.c OR s.b = 1",
    (
        "SELECT x.b FROM s [RANGE 2] AS x, t [RANGE 3], picked [RANGE 2] "
        "WHERE x.k = t.k AND t.k = picked.k AND x.a + t.c > picked.a AND picked.a < 3"
    ),
    "SELECT k, SUM(a) AS v FROM s [RANGE 3] GROUP BY k HAVING k > 0 AND SUM(a) > 1",
    "SELECT k, COUNT(*) FROM s [RANGE 2] GROUP BY k HAVING 1 = 2",
    "SELECT COUNT(*) AS n, COUNT(DISTINCT a) FROM s [RANGE 2] WHERE b = 1 HAVING COUNT(*) > 1",
    "SELECT * FROM (SELECT DISTINCT k, a FROM s [RANGE 2]) WHERE a > 1",
    "SELECT k FROM (SELECT DISTINCT k, a FROM s [ROWS 3]) WHERE a > 1",
    "SELECT k FROM (Istream(SELECT k, a FROM s [RANGE 2])) [RANGE 3] WHERE a > 1",
    "SELECT k FROM (Istream(SELECT DISTINCT k, a FROM s [RANGE 2])) [ROWS 2]",
    "SELECT k FROM (Dstream(SELECT k, a FROM s [ROWS 2])) WHERE a > 1",
    "SELECT k FROM (Rstream(SELECT k, a FROM s [RANGE 2]) EVERY 2) WHERE a = 1",
    "SELECT k FROM (SELECT k, a FROM s [RANGE 2] EVERY 3) WHERE a > 0",
    "SELECT k, COUNT(*) AS n, MIN(a), SUM(b) FROM s GROUP BY k HAVING SUM(a) > 1 EVERY 2",
    "SELECT n, COUNT(*) FROM (SELECT k, COUNT(*) AS n FROM s GROUP BY k) GROUP BY n EVERY 3",
    "SELECT s.k, MAX(t.c), COUNT(DISTINCT s.a) FROM s, t WHERE s.k = t.k GROUP BY s.k EVERY 2",
    (
        "SELECT a FROM (SELECT k, a, b FROM s [RANGE 2] UNION ALL SELECT k, c, c FROM t [RANGE 3]) "
        "WHERE b > 0"
    ),
    "SELECT k FROM (picked EXCEPT ALL SELECT k, c FROM t) WHERE a > 1",
    (
        "SELECT k FROM (SELECT k, a FROM s [RANGE 3] WHERE NOT EXISTS "
        "(SELECT * FROM t [RANGE 2] WHERE t.k = s.k AND t.c > s.b)) WHERE a > 0"
    ),
    (
        "SELECT counted.k, times FROM counted, picked [RANGE 2] "
        "WHERE counted.k = picked.k AND times > 1 AND picked.a < 3"
    ),
    "SELECT v + v AS w FROM (SELECT a * 2 AS v, b FROM s [RANGE 2]) WHERE v > 1 AND b = 1",
    "SELECT z.k FROM (SELECT k, a FROM picked WHERE a < 3) [RANGE 2] AS z WHERE z.a <> 2",
]

VALUES = st.one_of(st.integers(0, 3), st.none())


def rows(columns: int) -> st.SearchStrategy[list[Row]]:
    row = st.tuples(st.integers(0, 6), *[VALUES] * columns)
    return st.lists(row, max_size=7).map(lambda found: sorted(found, key=lambda r: r[0]))


def bound(query: str, declarations: str = DECLARATIONS) -> Node:
    catalog = compile_script(declarations).catalog
    (statement,) = parse(query).statements
    declared = bind(statement, catalog, query)
    assert isinstance(declared, QueryDeclaration)
    return declared.plan


def plans(query: str) -> tuple[Node, Node]:
    before = bound(query)
    return before, optimise(before)


@pytest.mark.parametrize("query", QUERIES)
@given(s=rows(3), t=rows(2))
@settings(max_examples=25)
def test_the_optimised_plan_holds_the_same_at_every_instant(
    query: str, s: list[Row], t: list[Row]
) -> None:
    before, after = plans(query)
    streams: Streams = {"s": s, "t": t}
    for instant in range(10):
        assert answer(after, streams, instant) == answer(before, streams, instant)


@pytest.mark.parametrize("query", QUERIES)
def test_each_of_these_queries_is_rewritten(query: str) -> None:
    before, after = plans(query)
    assert before != after


def static(columns: int) -> st.SearchStrategy[list[Row]]:
    return st.lists(st.tuples(*[VALUES] * columns), max_size=4)


@given(
    query=random_queries.queries(),
    statistics=random_queries.statistics(),
    strategy=st.sampled_from(Strategy),
    s=rows(3),
    t=rows(2),
    r=static(2),
)
@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])
def test_every_plan_that_is_considered_for_a_random_query_holds_the_same(
    query: str,
    statistics: StreamStatistics,
    strategy: Strategy,
    s: list[Row],
    t: list[Row],
    r: list[Row],
) -> None:
    before = bound(query, random_queries.DECLARATIONS)
    streams: Streams = {"s": s, "t": t, "r": r}
    instants = range(0, 10, 3)
    expected = [answer(before, streams, instant) for instant in instants]
    for found in alternatives(before, statistics, strategy)[:12]:
        assert found.plan.schema == before.schema
        held = [answer(found.plan, streams, instant) for instant in instants]
        assert held == expected, found.rewriting


def test_random_queries_meet_every_rewriting() -> None:
    """Or else the property above would say little."""
    met: set[str] = set()

    @given(query=random_queries.queries(), statistics=random_queries.statistics())
    @settings(max_examples=250, derandomize=True, database=None)
    def meet(query: str, statistics: StreamStatistics) -> None:
        for found in alternatives(bound(query, random_queries.DECLARATIONS), statistics):
            met.update(name for name in CHOICES if name in found.rewriting)
            met.update(type(n).__name__ for n in walk(found.plan))

    meet()
    assert met >= {*CHOICES, "MultiJoin"}
