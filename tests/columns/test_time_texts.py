"""TO_TIMESTAMP and STRFTIME give what DuckDB gives."""

from __future__ import annotations

from datetime import datetime, timedelta

import duckdb
import pyarrow as pa
import pytest

import windrow

MOMENTS = [
    datetime(2026, 3, 1, 9, 5, 7, 30),
    datetime(1969, 12, 31, 23, 59, 59, 999_999),
    datetime(2024, 2, 29, 12),
    datetime(1, 1, 1),
    datetime(9999, 12, 31, 23, 59, 59),
    None,
]
SECONDS = [0.0, -0.5, 1_772_355_650.123457, 1e-6, 2.5e-6, -86_400.0, 253_402_300_799.0, None]
TABLE = pa.table(
    {
        "ts": pa.array([1] * 8, pa.int64()),
        "n": pa.array(range(8), pa.int64()),
        "t": pa.array(MOMENTS + [None] * 2, pa.timestamp("us")),
        "x": SECONDS,
    }
)


def answer(expression: str) -> list[object]:
    with windrow.connect() as db:
        db.execute("CREATE STREAM s (ts BIGINT, n BIGINT, t TIMESTAMP, x DOUBLE)")
        [query] = db.execute(f"SELECT n, {expression} AS found FROM s [NOW]")
        db.push("s", TABLE)
        db.advance(to=1)
        rows = query.answer().to_pylist()
    return [row["found"] for row in sorted(rows, key=lambda row: row["n"])]


def oracle(expression: str) -> list[object]:
    with duckdb.connect() as connection:
        connection.register("s", TABLE)
        return [
            v for (v,) in connection.execute(f"SELECT {expression} FROM s ORDER BY n").fetchall()
        ]


@pytest.mark.parametrize(
    "text", ["%Y-%m-%d %H:%M:%S.%f", "%a %A %b %B %I%p %j %y", "100%% %%f %f%f", "plain"]
)
def test_formats_are_those_of_duckdb(text: str) -> None:
    expression = f"strftime(t, '{text}')"
    assert answer(expression) == oracle(expression)
    assert answer(f"strftime(CAST(t AS DATE), '{text}')") == oracle(f"strftime(t::DATE, '{text}')")


@pytest.mark.parametrize("number", ["x", "n * 1000000", "x / 10 - n", "CAST(n AS DECIMAL(5, 2))"])
def test_seconds_since_1970_are_times(number: str) -> None:
    expected = oracle(f"timezone('UTC', to_timestamp(CAST({number} AS DOUBLE)))")
    assert answer(f"to_timestamp({number})") == expected
    whole = [None if t is None else t.replace(microsecond=0) for t in expected]
    assert answer(f"to_timestamp(EXTRACT(epoch FROM to_timestamp({number})))") == whole


def test_what_is_no_time_is_null() -> None:
    beyond = "CASE n WHEN 0 THEN 1e300 WHEN 1 THEN -1e300 WHEN 2 THEN CAST('NaN' AS DOUBLE) END"
    assert answer(f"to_timestamp({beyond})") == [None] * 8
    assert answer("to_timestamp(9223372036855 + n)") == [None] * 8
    assert answer("to_timestamp(-9223372036855 - n)") == [None] * 8
    assert answer("to_timestamp(n)")[7] == datetime(1970, 1, 1) + timedelta(seconds=7)
