"""What SQL can say in several ways has one plan."""

from __future__ import annotations

import pytest

from windrow.plan.nodes import Node
from windrow.plan.program import compile_script

STREAMS = """
CREATE STREAM s (ts BIGINT, k INT, a INT);
CREATE STREAM r (ts BIGINT, k INT, b INT);
"""
OF_R = "(SELECT b FROM r [RANGE 4 SECONDS] WHERE r.k = s.k)"
SAME = [
    ("WHERE a = ANY {0}", "WHERE a IN {0}"),
    ("WHERE a = SOME {0} AND a > 1", "WHERE a IN {0} AND a > 1"),
    ("WHERE a <> ALL {0}", "WHERE a NOT IN {0}"),
    ("WHERE a != ALL {0} OR k = 1", "WHERE a NOT IN {0} OR k = 1"),
    ("WHERE NOT a = ANY {0}", "WHERE a NOT IN {0}"),
    ("WHERE CASE WHEN a = ANY {0} THEN k ELSE a END = 2",
     "WHERE CASE WHEN a IN {0} THEN k ELSE a END = 2"),
    ("WHERE (a, k) = ANY (SELECT b, k FROM r [NOW])", "WHERE (a, k) IN (SELECT b, k FROM r [NOW])"),
    ("ORDER BY a FETCH FIRST 3 ROWS ONLY", "ORDER BY a LIMIT 3"),
    ("ORDER BY a, k DESC FETCH NEXT ROW ONLY", "ORDER BY a, k DESC LIMIT 1"),
    ("GROUP BY ALL", "GROUP BY 1, 2"),
    ("WHERE TRIM(BOTH FROM 'x') = TRIM(LEADING 'ab' FROM 'abc')",
     "WHERE TRIM('x') = LTRIM('abc', 'ab')"),
    ("WHERE TRIM(TRAILING FROM 'x') = 'a'", "WHERE RTRIM('x') = 'a'"),
    ("GROUP BY ALL HAVING COUNT(*) > 1 ORDER BY k FETCH FIRST 2 ROWS ONLY",
     "GROUP BY 1, 2 HAVING COUNT(*) > 1 ORDER BY k LIMIT 2"),
]  # fmt: skip


def plan_of(query: str) -> Node:
    return compile_script(f"{STREAMS}{query};").queries[0].plan


@pytest.mark.parametrize(("one", "other"), SAME)
def test_two_spellings_have_one_plan(one: str, other: str) -> None:
    plans = [
        plan_of(f"SELECT k, a FROM s [RANGE 6 SECONDS] {text.format(OF_R)}")
        for text in (one, other)
    ]
    assert plans[0] == plans[1]


def test_within_stands_behind_all_of_a_sub_query_too() -> None:
    within = "SELECT k FROM s WHERE k {} (SELECT k FROM r) WITHIN 4 SECONDS AFTER"
    assert plan_of(within.format("<> ALL")) == plan_of(within.format("NOT IN"))


@pytest.mark.parametrize(
    ("items", "groups"),
    [
        ("k, a % 2 AS odd, COUNT(*) AS n", "k, odd"),
        ("COUNT(*) AS n, MAX(a) AS m, k", "k"),
        (f"EXISTS {OF_R} AS there, SUM(a) FILTER (WHERE k > 1) AS n", "1"),
        ("k, (SELECT MAX(b) FROM r [NOW]) AS m, COUNT(*) AS n", "1, 2"),
        ("window_start() AS w, k, COUNT(*) AS n", "w, k"),
    ],
)
def test_all_items_without_aggregates_are_grouped_by(items: str, groups: str) -> None:
    query = f"SELECT {items} FROM s [RANGE 6 SECONDS SLIDE 3 SECONDS] GROUP BY"
    assert plan_of(f"{query} ALL") == plan_of(f"{query} {groups}")


def test_where_all_items_are_aggregates_there_is_one_group() -> None:
    query = "SELECT COUNT(*) AS n, MAX(a) AS m FROM s [RANGE 6 SECONDS]"
    assert plan_of(f"{query} GROUP BY ALL") == plan_of(query)
