"""EXISTS and IN over sub-queries with UNNEST, QUALIFY and LAG: no clause is left out."""

from __future__ import annotations

import pytest

import windrow
from windrow.core.errors import BindError

SCRIPT = """
CREATE STREAM s (ts BIGINT, k STRING, v INT);
CREATE STREAM t (ts BIGINT, k STRING, v INT, a INT[]);
"""
LEFT = [(1, "x", 1), (2, "y", 2)]
RIGHT = [(1, "x", 1, []), (1, "x", 3, []), (2, "y", 2, [2, None])]
VALUES = "SELECT UNNEST(a) AS one FROM t [RANGE 9] WHERE t.k = s.k"
FIRST = "SELECT t.v FROM t [RANGE 9] {} QUALIFY ROW_NUMBER() OVER (ORDER BY t.v DESC) <= 1"
EARLIER = "SELECT LAG(t.v) OVER (ORDER BY ts) FROM t {}"
CORRELATED = "WHERE t.k = s.k"


def keys_where(condition: str) -> set[str]:
    """The keys that the condition selects when all rows are there."""
    with windrow.connect() as db:
        db.execute(SCRIPT)
        [query] = db.execute(f"SELECT k FROM s [RANGE 9] WHERE {condition};")
        for stream, rows in (("s", LEFT), ("t", RIGHT)):
            names = ["ts", "k", "v", "a"]
            db.push(stream, [dict(zip(names, row, strict=False)) for row in rows])
        db.advance(to=2)
        return {row["k"] for row in query.answer().to_pylist()}


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (f"EXISTS ({VALUES})", {"y"}),
        (f"NOT EXISTS ({VALUES})", {"x"}),
        ("EXISTS (SELECT UNNEST(a) FROM t [RANGE 9] WHERE v < 2)", set()),
        (f"v IN ({VALUES})", {"y"}),
        (f"v NOT IN ({VALUES})", {"x"}),
        (f"v + 1 IN ({FIRST.format('')})", {"y"}),
        (f"v IN ({FIRST.format('')})", set()),
        (f"EXISTS ({FIRST.format(CORRELATED)})", {"x", "y"}),
        (f"v IN ({EARLIER.format('')})", {"x"}),
    ],
)  # fmt: skip
def test_a_sub_query_holds_what_all_of_its_clauses_leave(
    condition: str, expected: set[str]
) -> None:
    assert keys_where(condition) == expected


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        (f"v IN ({FIRST.format(CORRELATED)})", "IN with QUALIFY cannot read .* found s.k; compare"),
        (f"v NOT IN ({FIRST.format(CORRELATED)})", "IN with QUALIFY cannot read"),
        (f"v IN ({EARLIER.format(CORRELATED)})", "IN with LAG cannot read columns of .* found s.k"),
        ("EXISTS (SELECT 1)", "expected FROM and a stream, relation or view; found none"),
        ("v IN (SELECT 1)", "expected FROM and a stream, relation or view; found none"),
        (
            "v = (SELECT t.v FROM t [RANGE 9] WHERE t.k = s.k ORDER BY ts DESC LIMIT 1)",
            "found s.k; in place of ORDER BY y LIMIT 1 write SELECT MIN_BY",
        ),
        (
            "v = (SELECT s.v + MAX(t.v) FROM t [RANGE 9] WHERE t.k = s.k)",
            "found s.v; compute with s.v outside of the sub-query",
        ),
        (
            "v = (SELECT COUNT(*) FROM (SELECT * FROM t [RANGE 9] WHERE t.k = s.k) AS q)",
            "reads columns of the query around it only in the WHERE of an aggregate",
        ),
    ],
)  # fmt: skip
def test_what_a_sub_query_cannot_do_is_refused_and_not_left_out(
    condition: str, message: str
) -> None:
    with pytest.raises(BindError, match=message):
        keys_where(condition)
