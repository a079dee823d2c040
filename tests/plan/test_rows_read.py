"""Which rows of its streams a plan looks at."""

from __future__ import annotations

import pytest

from windrow.core.thresholds import lowered_thresholds
from windrow.plan.expressions import render
from windrow.plan.physical.rows_read import rows_read
from windrow.plan.program import compile_script

STREAMS = """
CREATE STREAM s (ts BIGINT, a BIGINT, b STRING, c STRING) TIMESTAMP BY ts;
CREATE STREAM r (ts BIGINT, a BIGINT, d STRING) TIMESTAMP BY ts;
CREATE FUNCTION odd (x BIGINT) RETURNS BOOLEAN AS 'operator:truth';
"""


def conditions(script: str) -> dict[str, str]:
    plans = [q.plan for q in compile_script(f"{STREAMS} {script}").queries]
    return {name: render(found) for name, found in rows_read(plans).items()}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT a FROM s", {}),
        ("SELECT a FROM s WHERE b = 'x'", {"s": "b = 'x'"}),
        ("SELECT a + 1 FROM s WHERE b = 'x' AND a > 2", {"s": "b = 'x' AND a > 2"}),
        ("SELECT a FROM s WHERE b LIKE 'x%' OR NOT (c IN ('p', 'q') AND a IS NULL)",
         {"s": "b LIKE 'x%' OR NOT (c IN ('p', 'q') AND a IS NULL)"}),
        ("SELECT c, COUNT(*) FROM s [RANGE 5 SLIDE 5] WHERE b <> c GROUP BY c", {"s": "b <> c"}),
        ("SELECT l.b FROM s [RANGE 5] AS l, r [RANGE 5] WHERE l.a = r.a AND b = 'x'",
         {"s": "b = 'x'"}),
        ("SELECT l.b FROM s [RANGE 5] AS l, s [RANGE 5] AS o WHERE l.a = o.a AND l.b = 'x'", {}),
        ("SELECT l.b FROM s [NOW] AS l, s [NOW] AS o WHERE l.a = o.a AND l.b = 'x' AND o.b = 'y'",
         {"s": "b = 'x' OR b = 'y'"}),
    ],
)  # fmt: skip
def test_a_row_that_fails_what_stands_over_every_scan_is_not_looked_at(query, expected):
    assert conditions(f"{query};") == expected


@pytest.mark.parametrize(
    "query",
    [
        "SELECT a FROM s WHERE a + 1 > 2",
        "SELECT a FROM s WHERE b = 'x' AND CAST(c AS BIGINT) > 2",
        "SELECT a FROM s WHERE odd(a)",
        "SELECT a FROM s [ROWS 5] WHERE b = 'x'",
        "SELECT a FROM s WHERE upper(b) = 'X'",
    ],
)
def test_all_rows_count_where_a_condition_may_fail_or_is_dear_or_above_a_window_of_rows(query):
    assert conditions(f"{query};") == {}


def test_of_several_plans_any_condition_counts_as_long_as_they_are_few():
    script = "".join(f"CREATE QUERY q{n} AS SELECT a FROM s WHERE a = {n};" for n in range(3))
    assert conditions(script) == {"s": "(a = 0 OR a = 1) OR a = 2"} or conditions(script) == {
        "s": "a = 0 OR a = 1 OR a = 2"
    }
    with lowered_thresholds():
        assert conditions(script) == {}
    assert conditions(f"{script} CREATE QUERY others AS SELECT a FROM s;") == {}
