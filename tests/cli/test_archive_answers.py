"""What ``windrow archive`` answers: in whose order, in which form, and what it reads for that."""

from __future__ import annotations

import csv
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
import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from windrow.archive.archive import Archive
from windrow.archive.format.day_calendar import Calendar
from windrow.archive.runs.parquet_entries import ParquetEntries
from windrow.cli.main import app
from windrow.engine.one_time_sql import run_sql

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
                run_sql(connection, endless)
        finally:
            signal.signal(signal.SIGINT, handler)


@pytest.mark.parametrize(
    "query", ["SELECT 1; SELECT 2", "CREATE TABLE x AS SELECT 1", "", "SET a = 1"]
)
def test_sql_is_one_select(month, query):
    assert "expected one SELECT" in windrow("sql", month, query, fails=True)


def test_every_line_is_json_whatever_the_values(odd):
    assert lines("scan", odd, "--columns", "k,x,raw,tags") == [
        {"k": ":key: [bold]b[/]", "x": "NaN", "raw": "\\x00\\xFF", "tags": ["a", "b"]},
        {"k": "b", "x": "-Infinity", "raw": "b", "tags": None},
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
    assert "an existing directory" in windrow("scan", odd, "--into", "nowhere/a.csv", fails=True)
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


FAR = {
    "t": pa.array([2**62, 0], pa.timestamp("us")),
    "zoned": pa.array([2**62, 0], pa.timestamp("us", "Europe/Berlin")),
    "d": pa.array([2**31 - 1, -(2**31)], pa.int32()).cast(pa.date32()),
    "long": pa.array([2**63 - 1, -5], pa.duration("s")),
    "short": pa.array([3, -3], pa.duration("ns")),
    "tm": pa.array([5 * 3_600_000_000_000, 1], pa.time64("ns")),
    "raw": pa.array([b"\x03\xff", b"A/8="]),
    "fixed": pa.array([b"ab", b"\\\x00"], pa.binary(2)),
}


@pytest.fixture
def far(tmp_path, monkeypatch):
    """Values that Python, JSON or CSV has not."""
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"k": ["a", "b"], **FAR}), "far.parquet")
    return "far.parquet"


def kept(far, key="k"):
    windrow("create", key, "--like", far, "--key", key, "--window", 2)
    windrow("append", key, far, "--day", "2026-03-01")
    return key


def test_values_that_python_has_not_are_written_out(far):
    kept(far)
    assert "5881580-07-11" in windrow("scan", "k", "--columns", "k,d")
    (first,) = lines("probe", "k", "a")
    assert first == {
        "k": "a",
        "t": "148108-07-06 14:00:27.387904",
        "zoned": "148108-07-06 14:00:27.387904+00:00",
        "d": "5881580-07-11",
        "long": "106751991167300 days, 15:30:07",
        "short": "0:00:00.000000003",
        "tm": "05:00:00",
        "raw": "\\x03\\xFF",
        "fixed": "ab",
    }
    windrow("scan", "k", "--into", "far.json")
    assert json.loads(Path("far.json").read_text().splitlines()[0]) == first
    assert "2 rows" in windrow("export", "k", "far.csv")
    with Path("far.csv").open(newline="") as file:
        assert next(csv.DictReader(file)) == {**first, "tm": "05:00:00.000000000"}
    assert lines("sql", "k", "SELECT date '20000-01-01' AS d, [date '20000-01-01'] AS ds") == [
        {"d": "20000-01-01", "ds": ["20000-01-01"]}
    ]


@pytest.mark.parametrize("key", FAR)
def test_keys_are_probed_in_the_form_in_which_they_are_printed(far, key):
    kept(far, key)
    for row in lines("scan", key):
        assert json.loads(windrow("probe", key, "--json", "--", row[key])) == row
        assert row in lines("probe", key, f"--from={row[key]}")


@pytest.mark.parametrize("form", ["csv", "json"])
def test_what_was_written_is_appended_as_it_was(far, form):
    names = "k,long,short,tm,raw,fixed"
    windrow("scan", kept(far), "--columns", names, "--into", f"some.{form}")
    pq.write_table(pq.read_table(far, columns=names.split(",")), "some.parquet")
    windrow("create", "again", "--like", "some.parquet", "--key", "k", "--window", 2)
    windrow("append", "again", f"some.{form}", "--day", "2026-03-01")
    assert lines("scan", "again") == lines("scan", "k", "--columns", names)


@pytest.mark.parametrize("form", ["arrow", "parquet"])
def test_a_flipped_bit_is_told_by_every_command_that_reads_it(form, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = pa.table(
        {"k": [f"k{i % 9}" for i in range(20_000)], "v": np.random.default_rng(1).random(20_000)}
    )
    archive = Archive.create("a", table.schema, "k", window=3, scheme="DEL", n=1, format=form)
    archive.append(1, table, now=1)
    path = next(Path("a/runs").glob(f"*.{form}"))
    flipped = bytearray(path.read_bytes())
    flipped[len(flipped) // 2] ^= 1
    path.write_bytes(flipped)
    asked = [
        ("scan", "a"),
        ("probe", "a", "--from", "k0"),
        ("export", "a", "copy.parquet"),
        ("sql", "a", "SELECT SUM(v) FROM archive"),
        ("sql", "a", "SELECT SUM(v) FROM archive WHERE k >= 'k0'"),
    ]
    for arguments in asked:
        said = " ".join(windrow(*arguments, fails=True).split())
        assert path.name in said
        assert "Traceback" not in said
        assert "restore the file" in said
