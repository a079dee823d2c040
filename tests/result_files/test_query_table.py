"""Queries INTO one directory: one table whose rows say whose they are, and for each query the same
as alone."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import windrow
from windrow.core.errors import BindError, InputError
from windrow.plan.program import compile_script
from windrow.result_files.compaction import compact
from windrow.result_files.query_table import with_members

STREAM = "CREATE STREAM s (ts BIGINT, k BIGINT, v BIGINT) TIMESTAMP BY ts;"
QUERIES = {
    "short": "SELECT k, COUNT(*) AS n FROM s [RANGE 3] GROUP BY k",
    "long": "SELECT k, COUNT(*) AS n FROM s [RANGE 9 SLIDE 3] GROUP BY k",
    "low": "SELECT k, SUM(v) AS n FROM s [RANGE 5] WHERE v < 4 GROUP BY k",
    "mid": "SELECT k, SUM(v) AS n FROM s [RANGE 5] WHERE v BETWEEN 2 AND 6 GROUP BY k",
    "high": "SELECT k, SUM(v) AS n FROM s [RANGE 5] WHERE v > 5 GROUP BY k",
}
"""The last three share their selection."""


def script(place: str, format_: str = "parquet", queries: dict[str, str] = QUERIES) -> str:
    """``place`` with the query's name in it, or one for all."""
    return STREAM + "".join(
        f"CREATE QUERY {name} AS {query} INTO '{place.format(name)}' FORMAT {format_};"
        for name, query in queries.items()
    )


def feed(connection: windrow.Connection) -> None:
    for t in range(1, 30):
        connection.push("s", [{"ts": t, "k": t % 3, "v": (7 * t) % 9}])
    connection.advance(to=60)


def rows(table: pa.Table) -> Counter[str]:
    return Counter(map(str, table.to_pylist()))


def of_query(table: pa.Table, name: str) -> Counter[str]:
    mine = [row for row in table.to_pylist() if row["query"] == name]
    return Counter(str({k: v for k, v in row.items() if k != "query"}) for row in mine)


@pytest.mark.parametrize("format_", ["parquet", "csv", "json"])
def test_each_query_has_in_the_table_what_it_has_alone(tmp_path: Path, format_: str) -> None:
    with windrow.connect() as together, windrow.connect() as apart:
        together.execute(script(f"{tmp_path}/table", format_))
        apart.execute(script(f"{tmp_path}/{{}}", format_))
        for connection in (together, apart):
            feed(connection)
        for name in QUERIES:
            one, other = together.queries[name], apart.queries[name]
            assert rows(one.changes()) == rows(other.changes())
            assert rows(one.answer()) == rows(other.answer())
            assert one.rows_out == other.rows_out > 0
    table = windrow.results(tmp_path / "table")
    assert table.schema.names == ["instant", "change", "query", "k", "n"]
    for name in QUERIES:
        alone = windrow.results(tmp_path / name)
        assert of_query(table.changes(), name) == rows(alone.changes())
        assert of_query(table.answer(), name) == rows(alone.answer())
    before = table.changes(), rows(table.answer())
    compact(tmp_path / "table")
    assert (table.changes(), rows(table.answer())) == before
    assert len(table.files()) == 1


def test_what_queries_change_together_is_one_file_and_one_commit(tmp_path: Path) -> None:
    with windrow.connect() as connection:
        connection.execute(script(f"{tmp_path}/table"))
        connection.push("s", [{"ts": t, "k": t, "v": 3} for t in range(1, 9)])
    (file,) = windrow.results(tmp_path / "table").files()
    assert {"short", "long", "low", "mid"} <= set(pq.read_table(file)["query"].to_pylist())


def test_the_last_rows_of_streams_are_those_of_each(tmp_path: Path) -> None:
    wanted = {f"q{n}": f"SELECT ISTREAM(k, v) FROM s [NOW] WHERE k = {n}" for n in range(2)}
    with windrow.connect() as connection:
        connection.execute(script(f"{tmp_path}/table", queries=wanted))
        feed(connection)
        for n, name in enumerate(wanted):
            assert set(connection.queries[name].changes()["k"].to_pylist()) == {n}
    compact(tmp_path / "table")
    assert windrow.results(tmp_path / "table").answer().num_rows == 19


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("SELECT k, COUNT(*) AS m FROM s [RANGE 3] GROUP BY k INTO 'out'",
         "expected the columns k BIGINT, n BIGINT; found k BIGINT, m BIGINT"),
        ("SELECT k, AVG(v) AS n FROM s [RANGE 3] GROUP BY k INTO 'out'",
         "expected the columns k BIGINT, n BIGINT; found k BIGINT, n DOUBLE"),
        ("SELECT k, COUNT(*) AS n FROM s [RANGE 3] GROUP BY k INTO './out/' FORMAT csv",
         "expected FORMAT parquet; found csv"),
        ("SELECT k, v AS n FROM s INTO 'out'", "expected results of a relation; found a stream"),
        ("SELECT k, COUNT(*) AS n FROM r GROUP BY k INTO 'out'",
         "q writes its results into 'out' already; give each query a directory of its own"),
    ],
)  # fmt: skip
def test_what_cannot_be_rows_of_one_table_is_refused_with_what_differs(query, says) -> None:
    declared = STREAM + "CREATE RELATION r (k BIGINT, v BIGINT);"
    first = "CREATE QUERY q AS SELECT k, COUNT(*) AS n FROM s [RANGE 5] GROUP BY k INTO 'out';"
    with pytest.raises(BindError) as refused:
        compile_script(f"{declared}{first}CREATE QUERY p AS {query};")
    assert says in str(refused.value)


def test_a_query_that_comes_later_is_told_that_it_is_late(tmp_path: Path) -> None:
    with windrow.connect() as connection:
        connection.execute(script(f"{tmp_path}/table"))
        feed(connection)
        with pytest.raises(InputError, match="queries of one table start together"):
            connection.execute(f"CREATE QUERY late AS {QUERIES['short']} INTO '{tmp_path}/table';")
        assert connection.queries["short"].answer().num_rows == 0


def test_members_without_a_name_are_left_out() -> None:
    schema = pa.schema([("instant", pa.int64()), ("change", pa.string()), ("query", pa.string()),
                        ("k", pa.int64())])  # fmt: skip
    changes = pa.record_batch(
        {"instant": [1, 2, 3, 4], "change": ["+"] * 4, "k": pa.array([5, 6, 7, 8], pa.int64())}
    )
    member = pa.array([9, 2, 0, 4]).to_numpy()
    found = with_members(changes, member, {0: "a", 2: "c", 4: "e"}, schema)
    assert found["query"].to_pylist() == ["c", "a", "e"]
    assert found["k"].to_pylist() == [6, 7, 8]


def test_members_may_have_other_columns_of_what_is_common() -> None:
    schema = pa.schema([("instant", pa.int64()), ("change", pa.string()), ("query", pa.string()),
                        ("n", pa.int64())])  # fmt: skip
    values = {name: pa.array([n, n + 1, n + 2], pa.int64()) for n, name in ((10, "a"), (20, "b"))}
    changes = pa.record_batch({"instant": [1, 2, 3], "change": ["+"] * 3, **values})
    places = {0: (0, 1, 2), 1: (0, 1, 3)}
    member = pa.array([1, 0, 1]).to_numpy()
    found = with_members(changes, member, {0: "first", 1: "second"}, schema, places)
    rows = {(row["instant"], row["query"], row["n"]) for row in found.to_pylist()}
    assert rows == {(1, "second", 20), (2, "first", 11), (3, "second", 22)}
