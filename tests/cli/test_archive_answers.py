"""What ``windrow archive`` answers: in whose order, in which form, and what it reads for that."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import threading
from datetime import datetime, timedelta
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from windrow.archive.archive import Archive
from windrow.archive.calendar import Calendar
from windrow.archive.runs.parquet import ParquetEntries
from windrow.cli.archive.querying import answered
from windrow.cli.main import app

FIRST = datetime(2026, 3, 1)
DAYS = Calendar.of("days")
ROWS = 6_000


def windrow(*arguments, fails=False):
    result = CliRunner().invoke(app, ["archive", *(str(a) for a in arguments)])
    assert (result.exit_code == 2) if fails else (result.exit_code == 0), result.output
    return result.output


def lines(*arguments):
    """The rows of an answer; anything that is not JSON is an error."""

    def refuse(name):
        raise AssertionError(f"{name} is no JSON")

    found = windrow(*arguments, "--json").splitlines()
    return [json.loads(line, parse_constant=refuse) for line in found]


@pytest.fixture(scope="module")
def month(tmp_path_factory):
    """Four days in runs of Parquet."""
    path = tmp_path_factory.mktemp("answers") / "month"
    schema = pa.schema(
        {"src": pa.string(), "n": pa.int64(), "ts": pa.timestamp("us"), "note": pa.string()}
    )
    archive = Archive.create(
        path, schema, "src", window=7, scheme="WATA", n=2, format="parquet", calendar=DAYS
    )
    for day in range(4):
        table = pa.table({
            "src": [f"h{i % 2000:04}" for i in range(ROWS)],
            "n": [ROWS * day + i for i in range(ROWS)],
            "ts": [FIRST + timedelta(days=day, seconds=i) for i in range(ROWS)],
            "note": [f"note {i}" for i in range(ROWS)],
        }, schema=schema)  # fmt: skip
        archive.append(20_513 + day, table, now=20_513 + day)
    return path


@pytest.fixture
def odd(tmp_path, monkeypatch):
    """Values that JSON, CSV and a terminal have trouble with."""
    monkeypatch.chdir(tmp_path)
    table = pa.table({
        "k": [":key: [bold]b[/]", "b"],
        "x": [math.nan, -math.inf],
        "raw": [b"\x00\xff", b"b"],
        "tags": [["a", "b"], None],
    })  # fmt: skip
    archive = Archive.create("odd", table.schema, "k", window=3, scheme="DEL", n=1, calendar=DAYS)
    archive.append(20_513, table, now=20_513)
    return "odd"


def test_an_answer_in_sql_keeps_the_order_it_was_asked_for_in(month):
    shown = windrow("sql", month, "SELECT n FROM archive ORDER BY n DESC LIMIT 3")
    places = [shown.index(str(4 * ROWS - i)) for i in (1, 2, 3)]
    assert places == sorted(places)


def test_days_are_dates_in_answers(month):
    query = (
        "SELECT _day, COUNT(*) AS n FROM archive WHERE _day >= '2026-03-03' GROUP BY 1 ORDER BY 1"
    )
    assert lines("sql", month, query) == [
        {"_day": "2026-03-03", "n": ROWS},
        {"_day": "2026-03-04", "n": ROWS},
    ]
    scanned = lines("probe", month, "h0001", "--columns", "_day", "--since", "2026-03-04")
    assert {row["_day"] for row in scanned} == {"2026-03-04"}


@pytest.mark.parametrize(
    ("condition", "most"),
    [
        ("src = 'h0017'", 12),
        ("src IN ('h0017', 'h1900')", 24),
        ("src BETWEEN 'h0017' AND 'h0019' AND n > 5", 36),
        ("src = 'h0017' AND _day = '2026-03-04'", 3),
        ("_day = '2026-03-04'", ROWS),
        ("src = 'nobody'", 0),
        ("n % 2 = 0", 4 * ROWS),
    ],
)
def test_conditions_in_sql_go_to_the_index(month, condition, most, monkeypatch):
    query = f"SELECT src, n, _day FROM archive WHERE {condition} ORDER BY n"
    everything = pa.Table.from_pylist(lines("scan", month, "--columns", "src,n,_day"))
    read = []
    plain = ParquetEntries._read

    def counting(self, start, stop, names):
        read.append((stop - start, names))
        return plain(self, start, stop, names)

    monkeypatch.setattr(ParquetEntries, "_read", counting)
    found = lines("sql", month, query)
    with duckdb.connect() as oracle:
        oracle.register("archive", everything)
        assert found == oracle.sql(query).to_arrow_table().to_pylist()
    assert sum(rows for rows, _ in read) <= most
    assert all("note" not in names for _, names in read)


def test_a_query_may_join_the_archive_with_itself(month):
    query = (
        "SELECT COUNT(*) AS n FROM archive a JOIN archive b ON a.src = b.src "
        "WHERE a.src = 'h0001' AND b._day = '2026-03-01'"
    )
    assert lines("sql", month, query) == [{"n": 4 * 3 * 3}]


@pytest.mark.parametrize("seconds", [0.05, 0.5])  # before the query has begun, perhaps; or after
def test_a_query_is_given_up_at_ctrl_c(seconds):
    endless = "SELECT COUNT(*) FROM r a, r b WHERE a.x < b.x"
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE r AS SELECT random() AS x FROM range(1_000_000)")
        pressed = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
        # A process that a shell has started in the background would not hear it.
        handler = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            pressed.start()
            with pytest.raises(KeyboardInterrupt):
                answered(connection, endless)
        finally:
            signal.signal(signal.SIGINT, handler)


@pytest.mark.parametrize(
    "query", ["SELECT 1; SELECT 2", "CREATE TABLE x AS SELECT 1", "", "SET a = 1"]
)
def test_sql_is_one_select(month, query):
    assert "expected one SELECT" in windrow("sql", month, query, fails=True)


def test_every_line_is_json_whatever_the_values(odd):
    assert lines("scan", odd, "--columns", "k,x,raw,tags") == [
        {"k": ":key: [bold]b[/]", "x": "NaN", "raw": "AP8=", "tags": ["a", "b"]},
        {"k": "b", "x": "-Infinity", "raw": "Yg==", "tags": None},
    ]
    assert lines("sql", odd, "SELECT 1 AS a, 2 AS a") == [{"a": 1, "a_2": 2}]
    assert "[bold]b[/]" in windrow("probe", odd, ":key: [bold]b[/]")


@pytest.mark.parametrize("command", [("verify",), ("scan", "--json"), ("scan",)])
def test_whoever_reads_only_the_beginning_gets_no_complaint(odd, command):
    reading, writing = os.pipe()
    os.close(reading)
    program = [sys.executable, "-c", "from windrow.cli.main import main; main()", "archive"]
    try:
        done = subprocess.run(
            [*program, command[0], odd, *command[1:]],
            stdout=writing, stderr=subprocess.PIPE, check=False,
        )  # fmt: skip
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, b"")


def test_files_are_whole_or_not_there(odd):
    assert "2 rows in all.json" in windrow("scan", odd, "--into", "all.json")
    assert len(Path("all.json").read_text().splitlines()) == 2
    assert json.loads(windrow("export", odd, "all.arrow", "--json"))["rows"] == 2
    with pa.memory_map("all.arrow") as source:
        assert pa.ipc.open_file(source).read_all().num_rows == 2
    assert "2 rows in all.parquet" in windrow("export", odd, "all.parquet")
    assert pq.read_table("all.parquet").column("tags").to_pylist() == [["a", "b"], None]
    before = set(Path().iterdir())
    assert "choose another format" in windrow("export", odd, "all.csv", fails=True)
    assert ".parquet, .csv, .json, .arrow" in windrow("scan", odd, "--into", "a.xls", fails=True)
    assert "a directory" in windrow("scan", odd, "--into", "nowhere/a.csv", fails=True)
    assert set(Path().iterdir()) == before


def test_keys_and_a_range_are_not_asked_for_at_once(odd):
    assert "keys, or --from and --to" in windrow("probe", odd, "b", "--from", "a", fails=True)


def test_parts_of_a_composite_key_may_have_commas(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = pa.table({"a": ["x,y", "x"], "b": [1, 2]})
    archive = Archive.create("two", table.schema, ("a", "b"), window=3, scheme="DEL", n=1)
    archive.append(1, table, now=1)
    assert lines("probe", "two", '"x,y", 1') == [{"a": "x,y", "b": 1}]
    assert lines("probe", "two", "x,2") == lines("probe", "two", "x") == [{"a": "x", "b": 2}]
    assert "at most 2 values" in windrow("probe", "two", "x,y,1", fails=True)
