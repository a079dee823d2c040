"""Queries that share their selection answer as each would alone."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow
from windrow.plan.program import compile_script
from windrow.plan.sharing.shared_selection import shared_selections

pytestmark = pytest.mark.usefixtures("sizes")

STREAM = "CREATE STREAM s (ts BIGINT, k INT, n BIGINT, x DOUBLE, f FLOAT, w STRING, d DATE);"
SHAPES = {
    "approximate": "SELECT k, APPROXIMATE MEDIAN(n) AS m, APPROXIMATE COUNT(DISTINCT w) AS d "
    "FROM s [RANGE 6 SECONDS SLIDE 2 SECONDS] WHERE {} GROUP BY k",
    "stream": "SELECT k, n + 1 AS m, w FROM s WHERE {}",
    "window": "SELECT k, w FROM s [RANGE 4 SECONDS] WHERE {}",
    "slide": "SELECT k, w FROM s [RANGE 4 SECONDS SLIDE 3 SECONDS] WHERE {}",
    "now": "SELECT * FROM s [NOW] WHERE {}",
    "groups": "SELECT w, COUNT(*) AS c, SUM(n) AS t, MAX(x) AS g FROM s [RANGE 5 SECONDS] "
    "WHERE {} GROUP BY w HAVING COUNT(*) > 1",
    "one group": "SELECT COUNT(*) AS c, MIN(w) AS v FROM s [RANGE 3 SECONDS] WHERE {}",
    "for ever": "SELECT k, COUNT(*) AS c FROM s WHERE {} GROUP BY k",
    "distinct": "SELECT DISTINCT w FROM s [RANGE 4 SECONDS] WHERE {}",
    "last rows": "SELECT k, n FROM (SELECT k, n FROM s WHERE {}) [ROWS 3]",
    "partition": "SELECT k, n FROM (SELECT k, n FROM s WHERE {}) [PARTITION BY k ROWS 2]",
    "istream": "ISTREAM(SELECT w FROM s [RANGE 2 SECONDS] WHERE {})",
    "rstream": "RSTREAM(SELECT w, COUNT(*) AS c FROM s [RANGE 2 SECONDS] WHERE {} GROUP BY w)",
    "every": "SELECT w, COUNT(*) AS c FROM s [RANGE 4 SECONDS] WHERE {} GROUP BY w EVERY 3 SECONDS",
    "dstream": "DSTREAM(SELECT w FROM s [RANGE 2 SECONDS] WHERE {})",
    "istream restore": "ISTREAM-RESTORE(SELECT w, COUNT(*) AS c FROM s [RANGE 3 SECONDS] "
    "WHERE {} GROUP BY w) EVERY 2 SECONDS",
    "rstream restore": "SELECT RSTREAM-RESTORE(k, w) FROM s [RANGE 3 SECONDS SLIDE 5 SECONDS] "
    "WHERE {}",
    "wstream": "SELECT WSTREAM(k, COUNT(*))[RANGE 4 SECONDS] FROM s [RANGE 2 SECONDS] "
    "WHERE {} GROUP BY k",
    "internal": "SELECT k, w FROM s [RANGE 4 SECONDS INTERNAL] WHERE {}",
    "residual": "SELECT k FROM s [RANGE 4 SECONDS] WHERE {} AND (k > 1 OR w LIKE 'a%')",
}
NUMBERS = st.integers(-2, 6)
REALS = st.sampled_from(["-1.5", "0.0", "0.5", "2", "1e300", "9007199254740993"])
PREDICATES = {
    "n": st.builds("n BETWEEN {} AND {}".format, NUMBERS, NUMBERS),
    "x": st.builds("x {} {}".format, st.sampled_from(["<", "<=", ">", ">=", "="]), REALS),
    "f": st.builds("{} < f AND f <= {}".format, REALS, REALS),
    "n, x": st.builds("n >= {} AND {} > x".format, NUMBERS, REALS),
    "n, w": st.builds(
        "n IN ({}, {}) AND w = '{}' AND n < 4".format, NUMBERS, NUMBERS, st.sampled_from("abc")
    ),
    "sum": st.builds("n * 2 + k <= {}".format, NUMBERS),
    "d": st.builds("d > DATE '2024-01-0{}'".format, st.integers(1, 5)),
}
ROWS = st.lists(
    st.fixed_dictionaries({
        "ts": st.integers(0, 3),
        "k": st.integers(0, 2),
        "n": st.one_of(st.none(), NUMBERS),
        "x": st.sampled_from([None, 0.0, -0.0, 0.5, 2.0, math.nan, math.inf, -math.inf]),
        "f": st.sampled_from([None, 0.5, 2.0, math.nan, -1.5]),
        "w": st.sampled_from([None, "a", "b", "c"]),
        "d": st.sampled_from([None, "2024-01-02", "2024-01-04"]),
    }),
    max_size=14,
)  # fmt: skip


def in_time(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each row's ``ts`` becomes the distance from the one before."""
    now, out = 0, []
    for row in rows:
        now += row["ts"]
        out.append({**row, "ts": now})
    return out


def run(script: str, parts: list[list[dict[str, Any]]], strategy: str) -> list[Any]:
    db = windrow.connect(strategy=strategy)
    queries = db.execute(STREAM + script)
    for part in parts:
        db.push("s", part)
    db.advance(to=60)
    return queries


def bag(table: Any) -> list[str]:
    return sorted(map(repr, table.to_pylist()))


shared_queries = given(
    shape=st.sampled_from(sorted(SHAPES)),
    wanted=st.sampled_from(sorted(PREDICATES)).flatmap(
        lambda kind: st.lists(PREDICATES[kind], min_size=3, max_size=6)
    ),
    rows=ROWS.map(in_time),
    cuts=st.sets(st.integers(0, 13)),
    strategy=st.sampled_from(["upa", "upa", "nt", "direct"]),
)


@settings(max_examples=60)
@shared_queries
def test_a_shared_query_answers_as_it_would_alone(shape, wanted, rows, cuts, strategy):
    assert_as_alone(shape, wanted, rows, cuts, strategy)


@pytest.mark.slow
@settings(max_examples=500)
@shared_queries
def test_many_more_shared_queries_answer_as_alone(shape, wanted, rows, cuts, strategy):
    assert_as_alone(shape, wanted, rows, cuts, strategy)


def assert_as_alone(shape, wanted, rows, cuts, strategy):
    texts = [SHAPES[shape].format(predicate) for predicate in wanted]
    ends = sorted({*(c for c in cuts if c < len(rows)), 0, len(rows)})
    parts = [rows[start:end] for start, end in pairwise(ends)]
    script = "".join(f"CREATE QUERY q{i} AS {text};" for i, text in enumerate(texts))
    shared = run(script, parts, strategy)
    assert all(query._run.job.is_shared for query in shared)
    for query, text in zip(shared, texts, strict=True):
        (alone,) = run(f"{text};", [rows], strategy)
        assert not alone._run.job.is_shared
        assert bag(query.changes()) == bag(alone.changes())
        assert bag(query.answer()) == bag(alone.answer())
        assert (query.rows_in, query.rows_out) == (alone.rows_in, alone.rows_out)
        assert query.now == alone.now


NOT_SHARED = {
    "top k": "SELECT TOP 2 k FROM s [RANGE 5 SECONDS] WHERE n > {} ORDER BY k",
    "a join": "SELECT a.k FROM s [RANGE 5 SECONDS] AS a, s [RANGE 5 SECONDS] AS b "
    "WHERE a.k = b.k AND a.n > {}",
    "a union": "(SELECT k FROM s WHERE n > {0}) UNION ALL (SELECT k FROM s WHERE n < {0})",
    "no range": "SELECT k FROM s WHERE n + {} > k",
    "rounded comparison": "SELECT k FROM s WHERE n > {}.5",
    "lists": "SELECT FREQUENT 2 k, COUNT(*) FROM s [RANGE 9 SLIDE 3] WHERE n > {} GROUP BY k",
    "a selection above a count": "SELECT k FROM s [ROWS 5] WHERE n > {}",
}


@pytest.mark.parametrize("name", NOT_SHARED)
def test_what_cannot_work_per_query_runs_alone(name):
    queries = "".join(f"{NOT_SHARED[name].format(i)};" for i in range(4))
    assert shared_selections(compile_script(STREAM + queries).queries) == ()


def test_queries_of_different_shapes_are_different_groups():
    texts = [
        "SELECT k FROM s WHERE n > {}",
        "SELECT k FROM s [NOW] WHERE n > {}",
        "SELECT k FROM s WHERE x > {}",
        "SELECT k FROM s WHERE n > {} AND w = 'a'",
    ]
    queries = "".join(f"{text.format(i)};" for i in range(3) for text in texts)
    groups = shared_selections(compile_script(STREAM + queries).queries)
    assert sorted(len(g.queries) for g in groups) == [3, 3, 3, 3]
    assert {len(g.routed_node.attributes) for g in groups} == {1, 2}


def test_two_queries_are_not_worth_an_index():
    queries = "".join(f"SELECT k FROM s WHERE n > {i};" for i in range(2))
    assert shared_selections(compile_script(STREAM + queries).queries) == ()


def test_explain_says_that_a_selection_is_shared():
    queries = "".join(f"CREATE QUERY q{i} AS SELECT k FROM s WHERE n > {i};" for i in range(3))
    text = windrow.connect().explain(STREAM + queries + "EXPLAIN q1;")
    assert text.count("it shares its selection with 2 other queries, indexed on s.n") == 4
