"""Calls as other systems write them have the plans of those that CQL has."""

from __future__ import annotations

import logging

import pytest

import windrow
from windrow.core.errors import ScriptError

STREAM = "CREATE STREAM s (ts BIGINT, k STRING, v INT, o BOOLEAN);"
SAME = [
    ("COUNT_IF(v > 5)", "COUNT(*) FILTER (WHERE v > 5)"),
    ("COUNTIF(o) FILTER (WHERE v > 5)", "COUNT(CASE WHEN o THEN 1 END) FILTER (WHERE v > 5)"),
    ("PERCENTILE_CONT(0.3) WITHIN GROUP (ORDER BY v)", "QUANTILE(v, 0.3)"),
    (
        "PERCENTILE_CONT(0.3) WITHIN GROUP (ORDER BY v) FILTER (WHERE o)",
        "QUANTILE(v, 0.3) FILTER (WHERE o)",
    ),
    ("VAR_SAMP(v)", "VAR(v)"),
    ("LISTAGG(k, ';') WITHIN GROUP (ORDER BY v DESC)", "STRING_AGG(k, ';' ORDER BY v DESC)"),
    ("STRING_AGG(k) WITHIN GROUP (ORDER BY v)", "STRING_AGG(k ORDER BY v)"),
    ("STDDEV_SAMP(v)", "STDDEV(v)"),
    ("QUANTILE_CONT(v, 0.3)", "QUANTILE(v, 0.3)"),
    ("COUNT_IF(o) * 2", "COUNT(CASE WHEN o THEN 1 END) * 2"),
]


@pytest.mark.parametrize(("other", "ours"), SAME)
def test_both_spellings_have_one_plan(other: str, ours: str) -> None:
    db = windrow.connect()
    db.execute(STREAM)
    plans = [db.explain(f"SELECT k, {x} AS x FROM s [NOW] GROUP BY k") for x in (other, ours)]
    assert plans[0] == plans[1]


def test_truth_values_of_a_group_leave_nulls_out() -> None:
    db = windrow.connect()
    db.execute(STREAM)
    [query] = db.execute(
        "SELECT k, BOOL_AND(o) AS a, EVERY(v > 1) AS e, BOOL_OR(o) AS b FROM s [RANGE 9] GROUP BY k"
    )
    rows = [("a", 1, True), ("a", 2, None), ("b", 2, True), ("b", 3, False), ("c", None, None)]
    db.push("s", [{"ts": 1, "k": k, "v": v, "o": o} for k, v, o in rows])
    db.advance(to=1)
    assert sorted(tuple(row.values()) for row in query.answer().to_pylist()) == [
        ("a", True, False, True),
        ("b", False, True, True),
        ("c", None, None, None),
    ]


def test_a_path_that_is_none_is_an_error_and_no_log(caplog: pytest.LogCaptureFixture) -> None:
    db = windrow.connect()
    db.execute(STREAM)
    with caplog.at_level(logging.DEBUG), pytest.raises(ScriptError, match="a path to one value"):
        db.execute("SELECT k ->> '$.a[' FROM s")
    assert not caplog.records


@pytest.mark.parametrize(
    ("star", "columns"),
    [
        ("* EXCLUDE (ts, o)", "k, v"),
        ("s.* EXCEPT (TS), ts AS w", "k, v, o, ts AS w"),
        ("* EXCLUDE k", "ts, v, o"),
    ],
)
def test_a_star_may_leave_columns_out(star: str, columns: str) -> None:
    db = windrow.connect()
    db.execute(STREAM)
    plans = [db.explain(f"SELECT {items} FROM s [NOW]") for items in (star, columns)]
    assert plans[0] == plans[1]
