"""VALUES alone: rows that are there from the beginning, said once, however time passes."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import windrow
from windrow.columns.delta import Delta
from windrow.core.patterns import UpdatePattern
from windrow.core.time import BEGINNING
from windrow.engine.pipeline import Pipeline
from windrow.plan.program import compile_script

STREAM = "CREATE STREAM s (ts BIGINT, k INT) TIMESTAMP BY ts;"


def rows_of(table: pa.Table) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in table.to_pylist()]


def test_a_query_over_values_only_is_answered_at_once():
    with windrow.connect() as connection:
        (query,) = connection.execute("CREATE QUERY q AS VALUES (1, 'a'), (2, NULL), (1 + 2, 'c')")
        assert rows_of(query.answer()) == [(1, "a"), (2, None), (3, "c")]
        assert rows_of(query.changes()) == [(None, "+", 1, "a"), (None, "+", 2, None),
                                            (None, "+", 3, "c")]  # fmt: skip


def test_they_are_said_once_whatever_comes_later():
    with windrow.connect() as connection:
        connection.execute(STREAM)
        (query,) = connection.execute("SELECT k FROM s [RANGE 2] UNION ALL VALUES (1)")
        for ts in (3, 4, 9):
            connection.push("s", [{"ts": ts, "k": ts}])
        connection.advance(to=20)
        changes = rows_of(query.changes())
        assert changes == [(None, "+", 1), (3, "+", 3), (4, "+", 4), (5, "-", 3), (6, "-", 4),
                           (9, "+", 9), (11, "-", 9)]  # fmt: skip
        assert rows_of(query.answer()) == [(1,)]


def test_a_saved_pipeline_does_not_say_them_again():
    (query,) = compile_script(f"{STREAM} VALUES (1) UNION ALL SELECT k FROM s").queries
    pipeline, again = (Pipeline(query.plan, changes=True) for _ in range(2))
    nothing = {"s": Delta.empty(pa.schema([("ts", pa.int64()), ("k", pa.int32())]))}
    assert pipeline.process(nothing, 4).rows.to_pylist() == [{"col1": 1}]
    saved = pipeline.save()
    again.load(saved.put, saved.meta)
    assert len(again.process(nothing, 5)) == len(pipeline.process(nothing, 5)) == 0


def test_nothing_is_said_before_time_has_come_anywhere():
    (query,) = compile_script("VALUES (1)").queries
    pipeline = Pipeline(query.plan, changes=True)
    assert query.plan.pattern is UpdatePattern.MONOTONIC
    assert len(pipeline.process({}, BEGINNING)) == 0
    assert len(pipeline.process({}, BEGINNING + 1)) == 1


def test_a_view_of_them_can_be_asked_once():
    with windrow.connect() as connection:
        connection.execute("CREATE VIEW limits (name, most) AS VALUES ('a', 1), ('b', 2)")
        assert rows_of(connection.query("SELECT MAX(most) FROM limits")) == [(2,)]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT a, b FROM (VALUES (1), (2)) AS v (a), (VALUES (2), (3)) AS w (b) WHERE a < b",
         [(1, 2), (1, 3), (2, 3)]),
        ("SELECT b, COUNT(*), SUM(a) FROM (VALUES (1, 'x'), (2, 'x')) AS v (a, b) GROUP BY b",
         [("x", 2, 3)]),
        ("WITH v (a) AS (VALUES (1), (2), (2)) SELECT DISTINCT a FROM v", [(1,), (2,)]),
        ("SELECT * FROM (VALUES (1), (2)) AS v (a) FULL JOIN (VALUES (2), (3)) AS w (b) ON a = b",
         [(1, None), (2, 2), (None, 3)]),
        ("VALUES (1), (2), (2) INTERSECT ALL VALUES (2), (2), (3)", [(2,), (2,)]),
        ("SELECT a FROM (VALUES (3), (1), (2)) AS v (a) ORDER BY a LIMIT 2", [(1,), (2,)]),
        ("SELECT a FROM (VALUES (1), (2)) v (a) WHERE a <> (SELECT MAX(b) FROM (VALUES (2)) w (b))",
         [(1,)]),
        ("SELECT a, u FROM (VALUES (1, [7, 8])) AS v (a, l), UNNEST(l) AS u", [(1, 7), (1, 8)]),
        ("VALUES (1) EVERY 5 SECONDS", [(1,)]),
    ],
)  # fmt: skip
def test_what_sql_says_over_them_alone(query: str, expected: list[tuple[Any, ...]]):
    with windrow.connect() as connection:
        (running,) = connection.execute(query)
        found = rows_of(running.answer())
    assert sorted(found, key=repr) == sorted(expected, key=repr)
