"""VALUES on Spark: a query over nothing else is answered, and no row is said twice."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import windrow

pytestmark = pytest.mark.timeout(300)


def rows_of(table: pa.Table) -> list[tuple[Any, ...]]:
    return sorted((tuple(row.values()) for row in table.to_pylist()), key=repr)


SCRIPT = """
CREATE STREAM s (ts BIGINT, k INT) TIMESTAMP BY ts;
CREATE VIEW named (k, name) AS VALUES (1, 'one'), (2, 'two'), (2, 'zwei'), (NULL, 'none');
CREATE QUERY alone AS SELECT k, COUNT(*) AS n FROM named GROUP BY k;
CREATE QUERY united AS SELECT k FROM s [RANGE 5] UNION ALL SELECT k FROM named;
CREATE QUERY kept AS SELECT n.name, s.ts FROM named AS n LEFT JOIN s [RANGE 5] ON n.k = s.k;
"""


def test_rows_of_values_are_said_once_on_spark_as_embedded_also_after_a_stop(spark, tmp_path):
    changes = []
    for options in ({}, {"spark": spark, "checkpoint": tmp_path}):
        found: dict[str, list[Any]] = {}
        with windrow.connect(**options) as db:
            db.execute(SCRIPT)
            assert rows_of(db.queries["alone"].answer()) == [(1, 1), (2, 2), (None, 1)]
            db.push("s", [{"ts": 3, "k": 2}, {"ts": 4, "k": 7}])
            db.advance(to=5)
            if options:
                found = {name: rows_of(query.changes()) for name, query in db.queries.items()}
            else:
                db.push("s", [{"ts": 6, "k": 1}])
                db.advance(to=20)
                changes.append({name: rows_of(q.changes()) for name, q in db.queries.items()})
        if options:
            with windrow.connect(**options) as db:
                db.execute(SCRIPT)
                db.push("s", [{"ts": 6, "k": 1}])
                db.advance(to=20)
                changes.append({name: rows_of(q.changes()) for name, q in db.queries.items()})
                assert all(set(found[name]) <= set(changes[-1][name]) for name in found)
    embedded, on_spark = changes
    assert on_spark == embedded
    assert [row for row in embedded["united"] if row[0] is None] == rows_of(
        pa.table({"instant": [None] * 4, "change": ["+"] * 4, "k": [1, 2, 2, None]})
    )
