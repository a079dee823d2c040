"""EXPLAIN is worth reading."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.plan.scripts import catalog, optimised
from windrow.core.time import Clock
from windrow.plan.describe import duration
from windrow.plan.explain import explain
from windrow.plan.program import compile_script
from windrow.plan.strategy import Strategy

JOIN = """\
pairs (src, dst, dst_2), timestamp clock, strategy UPA, into 'out/pairs' as parquet
↑ STRICT, state hash on the tuple, calendar queue by expiry (500 partitions)
Projection l.src, l.dst, r.dst
│  ↑ STRICT
└─ Join l.src = r.src AND l.bytes > r.bytes
   │  ↑ WEAKEST, key l.src, window [RANGE 1 MINUTE], state FIFO, \
index H-INDEX with DB rings
   ├─ Window [RANGE 1 MINUTE]
   │  │  ↑ MONOTONIC
   │  └─ Projection l.src, l.dst, l.bytes
   │     │  ↑ MONOTONIC
   │     └─ Selection l.ts > TIMESTAMP '2024-01-01 00:00:00'
   │        │  ↑ MONOTONIC
   │        └─ Projection l.ts, l.src, l.dst, l.bytes
   │           │  ↑ MONOTONIC
   │           └─ Stream f AS l
   │  ↑ STRICT, key r.src, window [PARTITION BY dst ROWS 3], state hash on the tuple, \
index H-INDEX with DB rings
   └─ Window [PARTITION BY dst ROWS 3]
      │  ↑ MONOTONIC, key r.dst, state list of the last rows, queues by key
      └─ Projection r.src, r.dst, r.bytes
         │  ↑ MONOTONIC
         └─ Stream f AS r"""


def test_a_join_is_drawn_with_pattern_key_window_buffer_and_index_per_edge() -> None:
    made = compile_script(
        "CREATE QUERY pairs AS SELECT l.src, l.dst, r.dst FROM f [RANGE 60 SECONDS] AS l, "
        "f [PARTITION BY dst ROWS 3] AS r WHERE l.src = r.src AND l.bytes > r.bytes "
        "AND l.ts > '2024-01-01' INTO 'out/pairs' FORMAT parquet",
        catalog(),
    )
    # A window of rows makes its edge, and with it the result, STRICT.
    assert explain(made.queries[0]) == JOIN


GROUP = """\
query1 (k, mean), integer clock, strategy UPA
↑ STRICT, state hash on the tuple
Projection s.k, sum_a / count AS mean
│  ↑ STRICT
└─ Selection max_b > 2
   │  ↑ STRICT
   └─ SlidingGroupBy s.k: SUM(s.a) AS sum_a, COUNT(*) AS count, MAX(s.b) AS max_b, \
over [RANGE 10 MINUTES SLIDE 90 SECONDS]
      │  ↑ MONOTONIC, key s.k, state 13 sub-windows of summaries by group
      └─ Projection s.k, s.a, s.b
         │  ↑ MONOTONIC
         └─ Stream s"""


def test_a_grouping_is_drawn_with_its_aggregates() -> None:
    query = optimised(
        "SELECT k, SUM(a) / COUNT(*) AS mean FROM s [RANGE 10 MIN SLIDE 90] "
        "GROUP BY k HAVING MAX(b) > 2"
    )
    assert explain(query) == GROUP


@pytest.mark.parametrize(
    ("query", "line"),
    [
        ("SELECT DISTINCT k FROM s [NOW]", "DuplicateElimination"),
        ("SELECT DISTINCT k FROM s [NOW]", "↑ WEAKEST, key the whole tuple, window [NOW]"),
        ("SELECT k FROM s UNION ALL SELECT k FROM t", "Union of 2"),
        ("SELECT k FROM s WHERE a > (SELECT AVG(c) FROM t)", "Join s.a > avg_c"),
        ("SELECT k FROM s WHERE k IN (SELECT k FROM t)", "Join s.k = t.k"),
        ("SELECT k FROM s EXCEPT ALL SELECT k FROM t", "Negation EXCEPT"),
        ("SELECT EXISTS (SELECT * FROM t WHERE t.k = s.k) AS e FROM s",
         "MatchFlag (sub-query 1): s.k = t.k"),
        ("SELECT k FROM s WHERE NOT EXISTS (SELECT * FROM t WHERE t.k = s.k)",
         "Negation NOT EXISTS s.k = t.k"),
        ("Rstream(SELECT k FROM s [RANGE 5]) EVERY 60", "ToStream RSTREAM every 1 MINUTE"),
        ("SELECT ISTREAM-RESTORE(k) FROM s [RANGE 50 SLIDE 10]",
         "ToStream ISTREAM-RESTORE every 10 SECONDS"),
        ("SELECT k FROM s WHERE a = 1 OR b = 2 OR a = 3 OR k = 4 AND (b = 1 OR b = 3)",
         "s.a = 1 OR s.b = 2 OR s.a = 3 OR (s.k = 4 AND (s.b = 1 OR s.b = 3))"),
        ("SELECT k FROM s [RANGE 5] EVERY 60", "Every 1 MINUTE"),
        ("SELECT k FROM s [RANGE 5 INTERNAL]", "AppendOnly"),
        ("SELECT k FROM s [RANGE 5 INTERNAL]", "Window [RANGE 5 SECONDS INTERNAL]"),
        ("SELECT TOP 3 k, SUM(a) FROM s GROUP BY k", "TopK 3 by sum_a DESC"),
        ("SELECT WSTREAM(k)[ROWS 3] FROM s", "OutputWindow [ROWS 3]"),
        ("SELECT s.k FROM s, n, r WHERE s.k = n.k", "NRR n"),
        ("SELECT s.k FROM s, n, r WHERE s.k = n.k", "Relation r"),
        ("SELECT s.k FROM s, n, r WHERE s.k = n.k", "Join of all pairs"),
        ("SELECT COUNT(DISTINCT a), QUANTILE(a, 0.9) FROM s",
         "GroupBy COUNT(DISTINCT s.a) AS count_a, QUANTILE(s.a, 0.9) AS quantile_a"),
        ("SELECT src FROM f WHERE ts < seen + INTERVAL 5 SECONDS AND day = '2024-05-01'",
         "DATE '2024-05-01'"),
    ],
)  # fmt: skip
def test_every_kind_of_operator_has_a_line(query: str, line: str) -> None:
    assert line in explain(optimised(query))


def test_a_negation_under_more_than_equalities_counts_matches_by_tuple() -> None:
    query = (
        "SELECT k FROM s [RANGE 5] "
        "WHERE NOT EXISTS (SELECT * FROM t [RANGE 3] WHERE t.k = s.k AND t.c > s.a)"
    )
    drawn = explain(optimised(query))
    assert "Negation NOT EXISTS s.k = t.k AND t.c > s.a" in drawn
    assert "state FIFO, count of matches by tuple, index" in drawn
    assert "key t.k, window [RANGE 3 SECONDS], state FIFO, index" in drawn


def test_explain_statements_give_requests_in_order() -> None:
    made = compile_script("EXPLAIN counted; EXPLAIN SELECT k FROM s; SELECT a FROM s", catalog())
    assert [e.query.name for e in made.explains] == ["counted", "query1"]
    assert [q.name for q in made.queries] == ["query1"]
    assert made.catalog.find("query1") == made.queries[0]


@pytest.mark.parametrize(
    ("ticks", "clock", "text"),
    [
        (1, Clock.INTEGER, "1 SECOND"), (86_400 * 30, Clock.INTEGER, "30 DAYS"),
        (7200, Clock.INTEGER, "2 HOURS"), (61, Clock.INTEGER, "61 SECONDS"),
        (1_500_000, Clock.TIMESTAMP, "1500 MILLISECONDS"), (7, Clock.TIMESTAMP, "7 MICROSECONDS"),
    ],
)  # fmt: skip
def test_durations_are_in_the_largest_unit_that_divides_them(
    ticks: int, clock: Clock, text: str
) -> None:
    assert duration(ticks, clock) == text


NEGATION = (
    "SELECT s.a, t.c FROM s [RANGE 60], t [RANGE 60] WHERE s.k = t.k "
    "AND NOT EXISTS (SELECT * FROM picked [RANGE 60] AS p WHERE p.k = s.k)"
)


def test_explain_cost_lists_the_plans_considered_and_marks_the_one_shown() -> None:
    (request,) = compile_script("EXPLAIN COST " + NEGATION, catalog()).explains
    text = explain(request)
    assert "plans considered: 2 (cost in steps per second; → is the one above)" in text
    assert [a.rewriting for a in request.considered] == ["negation pushed down", "as written"]
    (chosen,) = [line for line in text.splitlines() if line.startswith("→")]
    assert chosen == f"→ {request.considered[0].cost:>6,.0f}  negation pushed down"
    assert f"{request.considered[1].cost:,.0f}  as written\n    Projection s.a, t.c\n" in text
    assert "plans considered" not in explain(replace(request, cost=False))


@pytest.mark.parametrize(
    ("strategy", "lines"),
    [
        (Strategy.NT, ["strategy NT", "NegativeTuples", "↑ STRICT, key s.k, state hash on the"]),
        (
            Strategy.DIRECT,
            [
                "strategy DIRECT",
                "↑ WEAK, state list scanned for expired tuples",
                "WEAKEST, key s.k, window [RANGE 5 SECONDS], state FIFO",
            ],
        ),
        (Strategy.UPA, ["strategy UPA", "↑ WEAK, state calendar queue by expiry (500 partitions)"]),
    ],
)
def test_the_strategy_is_named_and_drawn(strategy: Strategy, lines: list[str]) -> None:
    text = "SELECT s.k FROM s [RANGE 5], t [RANGE 5] WHERE s.k = t.k"
    (query,) = compile_script(text, catalog(), strategy=strategy).queries
    drawn = explain(query, strategy)
    assert all(line in drawn for line in lines)
    assert ("NegativeTuples" in drawn) is (strategy is Strategy.NT)


def test_an_n_way_join_is_drawn_with_its_keys_and_its_order() -> None:
    text = (
        "SELECT x.a FROM s [RANGE 9] AS x, t [RANGE 9], picked [RANGE 9] AS p "
        "WHERE x.k = t.k AND t.k = p.k AND x.a + t.c > p.a"
    )
    drawn = explain(optimised(text))
    assert "MultiJoin x.k = t.k = p.k AND (x.a + t.c) > p.a, in the order 1, 2, 3" in drawn
    assert "↑ WEAKEST, key t.k, window [RANGE 9 SECONDS], state FIFO" in drawn
