"""ARRAYs and STRUCTs from files to results and back: every format that takes them."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

import windrow
from windrow.core.errors import BindError

COLUMNS = "ts BIGINT, a ARRAY<DATE>, s STRUCT<x DECIMAL(9, 2), l STRUCT<t STRING[]>>"
ROWS: list[dict[str, Any]] = [
    {"ts": 1, "a": ["2026-03-01", None], "s": {"x": "1.25", "l": {"t": ["u", "v"]}}},
    {"ts": 2, "a": [], "s": {"x": None, "l": None}},
    {"ts": 3, "a": None, "s": None},
    {"ts": 4, "a": ["2026-03-02"], "s": {"l": {"t": []}, "more": 1}},
]
MISFITS = [{"ts": 5, "a": ["2026-13-01"], "s": None}, {"ts": 6, "a": [], "s": {"x": "1.255"}}]


def written(directory: Path, format_: str) -> Path:
    path = directory / f"rows.{format_}"
    rows = [*ROWS, *MISFITS]
    if format_ == "json":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        inner = pa.struct([("t", pa.large_list(pa.string()))])
        kind = pa.struct([("x", pa.string()), ("l", inner), ("more", pa.int64())])
        schema = pa.schema([("ts", pa.int64()), ("a", pa.list_(pa.string())), ("s", kind)])
        pa.parquet.write_table(pa.Table.from_pylist(rows, schema), path)
    return path


def plain(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, list):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {name: plain(v) for name, v in value.items()}
    return None if value is None else str(value) if not isinstance(value, int) else value


def expected(row: dict[str, Any]) -> dict[str, Any]:
    s = row["s"]
    return {"a": row["a"], "s": None if s is None else {"x": s.get("x"), "l": s.get("l")}}


@pytest.mark.parametrize("into", ["json", "parquet"])
@pytest.mark.parametrize("format_", ["json", "parquet"])
def test_files_are_read_and_results_written_with_all_that_is_inside(
    tmp_path: Path, format_: str, into: str
) -> None:
    path, results = written(tmp_path, format_), tmp_path / "results"
    with windrow.connect() as db, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        db.execute(f"CREATE STREAM s ({COLUMNS}) FROM '{path}' FORMAT {format_};")
        db.execute(
            f"CREATE QUERY q AS SELECT a, s FROM s [UNBOUNDED] INTO '{results}' FORMAT {into};"
        )
        db.advance(10)
        assert plain(db.queries["q"].answer().to_pylist()) == [expected(row) for row in ROWS]
        refused = db.quarantined_rows("s").to_pylist()
        assert [("column a" in r["reason"], "column s" in r["reason"]) for r in refused] == [
            (True, False), (False, True),
        ]  # fmt: skip
        listed = db.query("SELECT SUM(len(a)) AS n, MAX(s.x) AS x, MAX(s.l.t[2]) AS t FROM q")
        assert plain(listed.to_pylist()) == [{"n": "3", "x": "1.25", "t": "v"}]
    again = windrow.connect()
    columns = COLUMNS.replace("ts BIGINT", "instant BIGINT")
    again.execute(
        f"CREATE STREAM t ({columns}) FROM '{results}' FORMAT {into} TIMESTAMP BY instant;"
    )
    (query,) = again.execute("SELECT a, s FROM t [UNBOUNDED];")
    again.advance(10)
    assert plain(query.answer().to_pylist()) == [expected(row) for row in ROWS]


def test_lines_that_are_read_one_by_one_have_the_same_values(tmp_path: Path) -> None:
    path = written(tmp_path, "json")
    path.write_text("{broken}\n" + path.read_text())
    with windrow.connect() as db, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        db.execute(f"CREATE STREAM s ({COLUMNS}) FROM '{path}' FORMAT json;")
        (query,) = db.execute("SELECT a, s FROM s [UNBOUNDED];")
        db.advance(10)
        assert plain(query.answer().to_pylist()) == [expected(row) for row in ROWS]
        assert len(db.quarantined_rows("s")) == 3


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("CREATE STREAM c (ts BIGINT, a INT[]) FROM 'x.csv'", "FORMAT json or parquet"),
        ("CREATE RELATION c (a STRUCT<b INT>) FROM 'x.csv'", "FORMAT json or parquet"),
        ("SELECT a FROM s [NOW] INTO 'x' FORMAT csv", "FORMAT parquet or json"),
        ("SELECT MIN(a) FROM s [NOW]", "MIN does not take this type"),
        ("SELECT FIRST(a) FROM s [NOW]", "numbers, texts or times to be ordered"),
        ("SELECT ARRAY_AGG(a) FROM s [NOW]", "numbers, texts or times to be ordered"),
        ("SELECT APPROX_DISTINCT(a) FROM s [RANGE 4 SLIDE 2]", "a sketch takes numbers"),
        ("SELECT t[1] FROM s [NOW]", "of a JSON text write x -> 0"),
        ("SELECT s.z FROM s [NOW]", "no field z"),
        ("SELECT x.s.z FROM s [NOW] AS x", "no field z; there is x, l"),
        ("SELECT a.z FROM s [NOW]", "has no fields"),
        ("SELECT a + 1 FROM s [NOW]", "does not take these types"),
        ("SELECT a = t FROM s [NOW]", "does not take these types"),
        ("SELECT ARRAY[1, 'a'] FROM s [NOW]", "values of one type"),
        ("SELECT {'a': 1, 'A': 2} FROM s [NOW]", "each under a name of its own"),
        ("SELECT named_struct(t, 1) FROM s [NOW]", "names in quotes, each before its value"),
        ("SELECT named_struct('a') FROM s [NOW]", "names in quotes, each before its value"),
        ("SELECT CAST(a AS STRING) FROM s [NOW]", "cannot be cast"),
        ("SELECT ARRAY_AGG(ts ORDER BY ts, ts) FROM s [NOW]", "one expression in ORDER BY"),
    ],
)
def test_what_they_are_not_for_is_refused_with_words_of_our_own(script: str, words: str) -> None:
    with windrow.connect() as db:
        db.execute(f"CREATE STREAM s ({COLUMNS}, t STRING);")
        with pytest.raises(BindError, match=words.replace("[", r"\[").replace("+", r"\+")):
            db.execute(f"{script};")


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("[3, 1][1]", 3), ("[3, 1][-1]", 1), ("[3, 1][0]", None), ("[3, 1][3]", None),
        ("[3, 1][NULL]", None), ("CARDINALITY([])", 0), ("len([1, NULL])", 2),
        ("array_contains([1, 2], 2.0)", True), ("array_contains([1, NULL], 2)", False),
        ("array_contains([1], NULL)", None), ("2 = ANY([1, NULL])", None),
        ("1 = ANY([1, NULL])", True), ("NULL = ANY([])", False), ("2 = ANY([1])", False),
        ("[1, 2] = [1.0, 2.0]", True), ("[1] < [1, 2]", True), ("[NULL] = [NULL]", True),
        ("[1, NULL] > [1, 9]", True), ("[] = CAST([] AS BIGINT[])", True),
        ("COALESCE(NULL, [1])", [1]), ("CASE WHEN ts > 9 THEN [1] ELSE [] END", []),
        ("[[1], [2, 3]][2][1]", 2), ("{'a': {'b': [7]}}.a.b[1]", 7), ("({'a': 1}).A", 1),
        ("{'a': 1}['a']", 1), ("{'a': 1, 'b': 2} < {'a': 1, 'b': 3}", True),
        ("STRUCT(1 AS a, ts)", {"a": 1, "ts": 1}), ("ROW(1, 'x')", {"col1": 1, "col2": "x"}),
        ("named_struct('a', 1, 'b', ts)", {"a": 1, "b": 1}),
        ("CAST({'a': '7'} AS STRUCT<a INT>)", {"a": 7}), ("TRY_CAST(['7', 'x'] AS INT[])", None),
        ("CAST([1, 2] AS STRING[])", ["1", "2"]), ("[1, 2] IN ([1], [1, 2])", True),
    ],
)  # fmt: skip
def test_what_is_made_of_them_has_this_value(expression: str, value: Any) -> None:
    with windrow.connect() as db:
        db.execute("CREATE STREAM s (ts BIGINT);")
        (query,) = db.execute(f"SELECT {expression} AS v FROM s [NOW];")
        db.push("s", {"ts": [1]})
        db.advance(to=1)
        assert query.answer()["v"].to_pylist() == [value]


def test_a_python_function_takes_and_gives_them() -> None:
    with windrow.connect() as db:
        db.function("turned", lambda a: a[::-1], returns="BIGINT[]", takes=["ARRAY<BIGINT>"])
        db.execute("CREATE STREAM s (ts BIGINT, a BIGINT[]);")
        (query,) = db.execute("SELECT turned(a) AS v FROM s [NOW];")
        db.push("s", [{"ts": 1, "a": [1, 2]}])
        db.advance(to=1)
        assert query.answer()["v"].to_pylist() == [[2, 1]]
