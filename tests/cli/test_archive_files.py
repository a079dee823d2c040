"""What ``windrow archive`` reads: values are in the archive as they are in the files."""

from __future__ import annotations

import json
import math
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from windrow.archive import Archive
from windrow.archive.archive import open_archive
from windrow.cli.main import app

KEYS = {
    "small": pa.array([-5, 3, 3], pa.int8()),
    "huge": pa.array([2**63 + 1, 3, 3], pa.uint64()),
    "ratio": pa.array([1.5, math.nan, -0.0], pa.float32()),
    "text": pa.array(["00123", "b,c", ""]),
    "raw": pa.array([b"\x00\xff", b"a", b"a"]),
    "day": pa.array([date(2026, 3, 1), date(2026, 3, 2), date(2026, 3, 2)]),
    "nanos": pa.array([1, 2, 2], pa.timestamp("ns")),
    "zoned": pa.array([datetime(2026, 3, 1)] * 3, pa.timestamp("us", "Europe/Berlin")),
    "price": pa.array([Decimal("1.10"), Decimal("12345678901234567890.12"), Decimal(-2)],
                      pa.decimal128(30, 2)),
    "cents": pa.array([Decimal("1.10"), Decimal(-3), Decimal(-3)], pa.decimal32(5, 2)),
    "digits": pa.array([Decimal("1.10"), Decimal(10**50), Decimal(-2)], pa.decimal256(70, 2)),
    "half": pa.array([1.5, math.nan, -0.0], pa.float16()),
    "hash": pa.array([b"\x00\xff", b"ab", b"ab"], pa.binary(2)),
    "tags": pa.array([["x", "y"], ["y"], ["z"]], pa.list_(pa.string())),
    "pair": pa.array([["x", "y"], ["y", "y"], ["z", None]], pa.list_(pa.string(), 2)),
}  # fmt: skip
TYPED = pa.table(KEYS)


def windrow(*arguments, fails=False):
    result = CliRunner().invoke(app, ["archive", *(str(a) for a in arguments)])
    assert (result.exit_code == 2) if fails else (result.exit_code == 0), result.output
    return result.output


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def made(columns, key="k", **options):
    given = [word for name, value in options.items() for word in (f"--{name}", value)]
    windrow("create", "a", "--columns", columns, "--key", key, "--window", 7, *given)


def rows(path="a", *, columns=None):
    with open_archive(path).reader() as reader:
        return reader.scan(columns=columns).to_pylist()


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("form", ["parquet", "arrow", "stream"])
def test_an_archive_like_a_file_keeps_its_types_whatever_the_key(key, form):
    name = f"typed.{'arrow' if form == 'stream' else form}"
    if form == "parquet":
        pq.write_table(TYPED, name)
    else:
        opened = pa.ipc.new_file if form == "arrow" else pa.ipc.new_stream
        with opened(name, TYPED.schema) as writer:
            writer.write_table(TYPED)
    windrow("create", "a", "--like", name, "--key", key, "--window", 7)
    windrow("append", "a", name, "--day", "2026-03-01")
    assert Archive.open("a").layout.schema.types == TYPED.schema.types
    others = [n for n in KEYS if n != key or key in ("tags", "pair")]
    assert sorted(map(str, rows(columns=others))) == sorted(
        map(str, TYPED.select(others).to_pylist())
    )


def test_several_values_of_a_record_are_found_from_json_too():
    lines = [{"id": 1, "tags": ["a", "b"]}, {"id": 2, "tags": ["b"]}, {"id": 3, "tags": []}]
    Path("d.json").write_text("\n".join(map(json.dumps, lines)))
    windrow("create", "a", "--like", "d.json", "--key", "tags", "--window", 7)
    windrow("append", "a", "d.json", "--day", "2026-03-01")
    found = windrow("probe", "a", "b", "--json")
    assert sorted(map(json.loads, found.splitlines()), key=str) == lines[:2]
    assert len(windrow("probe", "a", "a", "b", "--json").splitlines()) == 2
    counted = windrow("sql", "a", "SELECT COUNT(*) AS n, MAX(id) AS s FROM archive", "--json")
    assert json.loads(counted) == {"n": 3, "s": 3}
    having = "SELECT id FROM archive WHERE list_contains(tags, 'b') AND id < 2"
    assert json.loads(windrow("sql", "a", having, "--json")) == {"id": 1}


def test_texts_that_look_like_numbers_stay_texts():
    Path("d.csv").write_text("k,when,n\n00123,2026-03-01,+1\n1e3,true,2\n")
    made("k STRING, when STRING, n BIGINT")
    windrow("append", "a", "d.csv", "--day", "2026-03-01")
    assert sorted(rows(), key=lambda r: r["n"]) == [
        {"k": "00123", "when": "2026-03-01", "n": 1},
        {"k": "1e3", "when": "true", "n": 2},
    ]


@pytest.mark.parametrize("column", ["digits", "half"])
def test_sql_over_a_type_that_duckdb_has_not_is_refused_in_words(column):
    pq.write_table(TYPED.select(["text", column]), "typed.parquet")
    windrow("create", "a", "--like", "typed.parquet", "--key", "text", "--window", 7)
    windrow("append", "a", "typed.parquet", "--day", "2026-03-01")
    said = windrow("sql", "a", "SELECT text FROM archive", fails=True)
    assert "expected columns of types that DuckDB supports" in said
    assert f"{column} {TYPED.schema.field(column).type}" in " ".join(said.split())


def test_csv_values_are_read_as_types_that_no_script_has():
    pq.write_table(TYPED.drop_columns(["tags", "pair"]), "typed.parquet")
    windrow("create", "a", "--like", "typed.parquet", "--key", "price", "--window", 7)
    Path("d.csv").write_text(
        "small,huge,ratio,text,raw,day,nanos,zoned,price,cents,digits,half,hash\n"
        "7,18446744073709551615,1.5,x,y,2026-03-01,2026-03-01 00:00:00.000000001,"
        "2026-03-01 00:00:00Z,0.10,0.10,1e40,0.5,yz\n,,,,,,,,,,,,\n"
    )
    windrow("append", "a", "d.csv", "--day", "2026-03-01")
    found = rows(columns=["small", "huge", "raw", "price"])
    assert {"small": 7, "huge": 2**64 - 1, "raw": b"y", "price": Decimal("0.10")} in found
    assert dict.fromkeys(["small", "huge", "raw", "price"]) in found
    short = rows(columns=["cents", "digits", "half", "hash"])
    assert {"cents": Decimal("0.10"), "digits": 10**40, "half": 0.5, "hash": b"yz"} in short


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("bad.csv", "k,v\n1,2\nx,3\n", "bad.csv, row 2"),
        ("bad.csv", "k,v\n1,2\n1.5,3\n", "bad.csv, row 2"),
        ("bad.csv", "k,v\n1,2\n3\n", "bad.csv, row 2"),
        ("bad.csv", "k\n1\n", "one column v"),
        ("bad.csv", "", "one column k"),
        ("bad.json", '{"k": 1, "v": 2}\n{"k": "x"}\n', "bad.json, row 2"),
        ("bad.json", '{"k": 1, "v": 2}\n{"k"', "bad.json, row 2"),
        ("bad.parquet", "PAR1 or not", "a readable parquet file"),
        ("bad.arrow", "ARROW1 or not", "a readable arrow file"),
    ],
)
def test_what_does_not_fit_is_refused_and_nothing_comes_in(name, text, said):
    Path(name).write_text(text)
    made("k BIGINT, v BIGINT")
    assert said in windrow("append", "a", name, "--day", "2026-03-01", fails=True)
    assert rows() == []


def test_values_of_another_kind_are_refused_with_their_place():
    made("k STRING, v DOUBLE")
    pq.write_table(pa.table({"k": [1, 2], "v": [1.0, 2.0]}), "d.parquet")
    assert "d.parquet, row 1: expected string in column k; found 1" in windrow(
        "append", "a", "d.parquet", "--day", "2026-03-01", fails=True
    )


def test_files_of_several_formats_come_in_together_and_an_empty_one_is_an_empty_day():
    made("k BIGINT, v DOUBLE")
    Path("a.csv").write_text("v,k,else\n1,1,x\n")
    Path("b.json").write_text('{"k": 2, "v": 2.5}\n')
    pq.write_table(pa.table({"K": pa.array([3], pa.int8()), "v": [3]}), "c.parquet")
    windrow("append", "a", "a.csv", "b.json", "c.parquet", "--day", "2026-03-01")
    assert sorted(r["k"] for r in rows()) == [1, 2, 3]
    Path("none.csv").write_text("k,v\n")
    assert "2026-03-02: 0 rows" in windrow("append", "a", "none.csv", "--day", "2026-03-02")


def test_days_are_cut_by_a_column_that_the_archive_does_not_have():
    made("k BIGINT")
    Path("d.csv").write_text("k,at\n1,2026-03-01 23:59:59.999999999\n2,2026-03-02\n")
    said = json.loads(windrow("append", "a", "d.csv", "--by", "at", "--json"))
    assert said["days"] == {"2026-03-01": 1, "2026-03-02": 1}
    assert "one column when" in windrow("append", "a", "d.csv", "--by", "when", fails=True)


def test_one_date_in_the_future_does_not_expire_the_rest():
    made("k BIGINT, at TIMESTAMP")
    Path("d.csv").write_text("k,at\n1,2026-03-01\n2,9062-03-02\n3,2026-03-03\n")
    said = windrow("append", "a", "d.csv", "--by", "at")
    assert "9062-03-02 is in the future: kept until the window reaches it" in said
    assert "up to 2026-03-03" in said
    assert sorted(r["k"] for r in rows()) == [1, 3]
    assert Archive.open("a").stat().ahead


def test_one_number_far_ahead_does_not_expire_the_rest_until_others_follow_it():
    windrow("create", "a", "--columns", "k BIGINT, at BIGINT", "--key", "k", "--window", 7,
            "--calendar", "numbers")  # fmt: skip
    Path("d.csv").write_text("k,at\n1,1\n2,999\n3,3\n")
    said = windrow("append", "a", "d.csv", "--by", "at")
    assert "999 is more than the window of 7 after 3: kept until" in said
    assert "up to 3" in said
    assert sorted(r["k"] for r in rows()) == [1, 3]
    Path("e.csv").write_text("k,at\n4,4\n")
    assert "up to 4" in windrow("append", "a", "e.csv", "--by", "at")
    Path("f.csv").write_text("k,at\n5,1001\n")
    assert "up to 1001" in windrow("append", "a", "f.csv", "--by", "at")
    assert sorted(r["k"] for r in rows()) == [2, 5]


def test_numbers_are_no_times_and_times_no_numbers():
    made("k BIGINT, at TIMESTAMP")
    Path("d.csv").write_text("k,at\n1,2026-03-01\n")
    assert "expected times" in windrow("append", "a", "d.csv", "--by", "k", fails=True)
    windrow("create", "b", "--columns", "k BIGINT, at TIMESTAMP", "--key", "k", "--window", 7,
            "--calendar", "numbers")  # fmt: skip
    assert "expected whole numbers" in windrow("append", "b", "d.csv", "--by", "at", fails=True)
    assert "up to 1" in windrow("append", "b", "d.csv", "--by", "k")


@pytest.mark.parametrize("form", ["csv", "json", "parquet", "arrow"])
def test_columns_that_the_archive_does_not_have_are_left_out_with_a_word(form):
    made("k BIGINT")
    table = pa.table({"Extra": [1], "K": [7], "more": [None], "at": [date(2026, 3, 1)]})
    name = f"d.{form}"
    if form == "csv":
        Path(name).write_text("Extra,K,more,at\n1,7,,2026-03-01\n")
    elif form == "json":
        Path(name).write_text('{"Extra": 1, "k": 7, "more": null, "at": "2026-03-01"}\n')
    elif form == "parquet":
        pq.write_table(table, name)
    else:
        pa.feather.write_feather(table, name)
    done = CliRunner().invoke(app, ["archive", "append", "a", name, "--by", "at", "--json"])
    assert "columns left out, which the archive does not have: Extra, more" in done.stderr
    assert json.loads(done.stdout)["left_out_columns"] == ["Extra", "more"]
    assert rows() == [{"k": 7}]
