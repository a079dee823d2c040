"""A scalar sub-query by the PRIMARY KEY of a relation is its one row; two of them are an error."""

from __future__ import annotations

from typing import Any

import pytest

import windrow
from windrow.core.errors import DataError

DECLARED = (
    "CREATE STREAM s (ts BIGINT, k INT, j INT); "
    "CREATE RELATION p (k INT PRIMARY KEY, name STRING, size DECIMAL(9, 2)); "
    "CREATE RELATION q (k INT, j INT, name STRING, PRIMARY KEY (k, j));"
)


def rows_of(query: windrow.Query) -> list[dict[str, Any]]:
    return sorted(query.answer().to_pylist(), key=repr)


def update(instant: int, change: str, k: int, name: str | None) -> dict[str, Any]:
    return {"instant": instant, "change": change, "k": k, "name": name, "size": None}


@pytest.fixture
def db() -> Any:
    with windrow.connect() as connection:
        connection.execute(DECLARED)
        yield connection


def test_the_row_of_a_key_follows_its_updates_and_is_null_where_there_is_none(db: Any) -> None:
    [query] = db.execute(
        "SELECT k, (SELECT name FROM p WHERE p.k = s.k) AS name, "
        "(SELECT UPPER(name) FROM p WHERE k = 1) AS first FROM s [RANGE 9];"
    )
    db.push("p", [update(1, "+", 1, "a"), update(1, "+", 2, None)])
    db.push("s", [{"ts": 1, "k": 1, "j": 0}, {"ts": 2, "k": 2, "j": 0}, {"ts": 2, "k": 3, "j": 0}])
    db.push("p", [update(2, "+", 3, "c")])
    db.advance(to=2)
    shown = [(1, "a", "A"), (2, None, "A"), (3, "c", "A")]
    assert [tuple(r.values()) for r in rows_of(query)] == shown
    db.push("p", [update(3, "+", 1, "b"), update(3, "-", 1, "a"), update(3, "-", 3, "c")])
    db.advance(to=3)
    shown = [(1, "b", "B"), (2, None, "B"), (3, None, "B")]
    assert [tuple(r.values()) for r in rows_of(query)] == shown


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("SELECT (SELECT name FROM p WHERE p.k = s.k) AS n FROM s [RANGE 9]",
         r"PRIMARY KEY \(k\) of p: expected one row; found 2 rows where k = 7; delete"),
        ("SELECT k FROM s [RANGE 9] WHERE (SELECT name FROM p WHERE p.k = s.k) = 'x'",
         r"found 2 rows where k = 7"),
        ("SELECT (SELECT name FROM p WHERE k = 7) AS n FROM s [RANGE 9]",
         r"found 2 rows where k = 7"),
        ("SELECT (SELECT name FROM q WHERE q.k = s.k AND q.j = 4) AS n FROM s [RANGE 9]",
         r"PRIMARY KEY \(k, j\) of q: expected one row; found 2 rows where k = 7 and j = 4"),
    ],
)  # fmt: skip
def test_two_rows_of_a_key_stop_the_query_that_meets_them(db: Any, query: str, found: str) -> None:
    db.execute(f"CREATE QUERY one AS {query};")
    both = [update(1, "+", 7, "a"), update(1, "+", 7, "b")]
    db.push("p", both)
    db.push("q", [{"k": 7, "j": 4, "name": n} for n in ("a", "b")])
    db.push("s", [{"ts": 2, "k": 7, "j": 4}])
    with pytest.raises(DataError, match=f"query one, .*{found}"):
        db.advance(to=2)


def test_two_rows_that_no_tuple_asks_for_stop_nothing(db: Any) -> None:
    [query] = db.execute("SELECT k, (SELECT name FROM p WHERE p.k = s.k) AS n FROM s [RANGE 9];")
    db.push("p", [update(1, "+", 7, "a"), update(1, "+", 7, "b"), update(1, "+", 8, "c")])
    db.push("s", [{"ts": 2, "k": 8, "j": 0}])
    db.advance(to=2)
    assert rows_of(query) == [{"k": 8, "n": "c"}]


@pytest.mark.parametrize(
    "query",
    ["SELECT (SELECT name FROM q WHERE q.k = s.k) AS n FROM s [RANGE 9]",
     "SELECT (SELECT name FROM q WHERE q.k = s.k AND q.j > s.j) AS n FROM s [RANGE 9]",
     "SELECT (SELECT name FROM p WHERE p.k + 1 = s.k) AS n FROM s [RANGE 9]",
     "SELECT (SELECT name FROM q WHERE k = 1) AS n FROM s [RANGE 9]"],
)  # fmt: skip
def test_less_than_the_whole_key_is_refused(db: Any, query: str) -> None:
    with pytest.raises(windrow.WindrowError, match=r"at most one row|compared .* by = only"):
        db.execute(query)
