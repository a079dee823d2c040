"""``windrow match``: files against files, as a new user would try it."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from windrow.cli.main import app

ALERTS = 'id,bytes,src\nbig,> 1000,\nmid,"[100, 200)",a\n'
ROWS = "src,bytes,at\na,150,2024-01-01 00:00:00\nb,5000,2024-01-01 00:00:01\nc,7,\n"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("alerts.csv").write_text(ALERTS)
    Path("rows.csv").write_text(ROWS)
    return tmp_path


def match(*arguments):
    return CliRunner().invoke(app, ["match", *map(str, arguments)])


def test_the_first_matches_and_a_summary_are_printed():
    shown = match("alerts.csv", "rows.csv")
    assert shown.exit_code == 0
    assert re.search(r"big +│ b +│ +5000", shown.stdout)
    assert re.search(r"mid +│ a +│ +150", shown.stdout)
    assert "subscriptions: 2 rows on bytes, src, indexed in" in shown.stdout
    assert re.search(r"data: 3 rows, [\d,]+ rows/s", shown.stdout)
    assert "matches: 2\n" in shown.stdout


def test_only_so_many_are_printed():
    Path("rows.csv").write_text("bytes,src\n" + "2000,x\n" * 15)
    assert "... and 5 more; write them all with --into" in match("alerts.csv", "rows.csv").stdout


def test_all_matches_are_kept_and_formats_are_told_by_names():
    table = pa.table({"src": ["a", "b"], "bytes": pa.array([150, 2000], pa.int32())})
    Path("data").mkdir()
    pq.write_table(table, "data/one.parquet")
    pq.write_table(table, "data/two.parquet")
    Path("alerts.jsonl").write_text('{"id": 7, "bytes_min": 1000}\n')
    shown = match("alerts.jsonl", "data", "--on", "bytes", "--into", "out", "--format", "parquet")
    assert "matches: 2 in out" in shown.stdout
    kept = pq.read_table(next(Path("out").glob("*.parquet")))
    assert kept.to_pylist() == [{"subscription": "7", "src": "b", "bytes": 2000}] * 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("alerts.csv", "rows.csv", "--on", "size"), "expected a column size"),
        (("alerts.csv", "row.csv"), "did you mean rows.csv"),
        (("alert.csv", "rows.csv"), "alert.csv"),
        (("rows.csv", "rows.csv"), "expected a column id"),
    ],
)
def test_mistakes_are_said_in_words(arguments, said):
    shown = match(*arguments)
    assert shown.exit_code == 2
    assert said in shown.stderr
    assert "Traceback" not in shown.stderr


def test_rows_that_cannot_be_read_are_counted():
    many = "".join(f"{i},a\n" for i in range(200_000))
    Path("rows.csv").write_text(f"bytes,src\n{many}many,b\n")
    shown = match("alerts.csv", "rows.csv", "--into", "out")
    assert "1 row could not be read" in shown.stdout


PRICES = ["0.10", "20.20", "12345678901234567.89", "12345678901234567.90", None]


def test_columns_of_parquet_keep_their_types_and_are_compared_exactly():
    table = pa.table(
        {
            "price": pa.array([None if p is None else Decimal(p) for p in PRICES],
                              pa.decimal128(38, 18)),
            "n": pa.array([1, 2**63, 2**64 - 1, 4, 5], pa.uint64()),
            "at": pa.array([1, 2, 3, 4, 5], pa.timestamp("ns", "UTC")),
            "symbol": pa.array(["a", "b", "a", "b", "a"]).dictionary_encode(),
            "tags": [["x"], [], None, ["y"], ["z"]],
        }
    )  # fmt: skip
    pq.write_table(table, "rows.parquet")
    Path("alerts.csv").write_text(
        "id,price,n,at\ntenth,0.1,,\nlong,= 12345678901234567.89,,\n"
        f"huge,,> {2**63},\nlate,,,>= 1970-01-01 00:00:00.000000004\n"
    )
    shown = match("alerts.csv", "rows.parquet", "--into", "out")
    assert "matches: 5 in out" in shown.stdout
    kept = pq.read_table(next(Path("out").glob("*.parquet")))
    found = sorted(zip(kept["subscription"].to_pylist(), kept["n"].to_pylist(), strict=True))
    assert found == [
        ("huge", 2**64 - 1), ("late", 4), ("late", 5), ("long", 2**64 - 1), ("tenth", 1),
    ]  # fmt: skip
    assert kept.schema.field("price").type == pa.decimal128(38, 18)
    assert kept.schema.field("at").type == pa.timestamp("ns", "UTC")
    printed = match("alerts.csv", "rows.parquet")
    assert printed.exit_code == 0
    assert "0.100000000000000000" in printed.stdout
    Path("alerts.csv").write_text("id,price\ncheap,cheap\n")
    refused = match("alerts.csv", "rows.parquet")
    assert "expected decimal128(38, 18), found 'cheap' in price" in refused.stderr


def test_the_type_of_a_column_of_csv_can_be_said():
    Path("rows.csv").write_text("price\n12345678901234567.89\n12345678901234567.90\nn/a\n\n")
    Path("alerts.csv").write_text("id,price\nfirst,<= 12345678901234567.895\n")
    alike = match("alerts.csv", "rows.csv", "--type", "price=double", "--into", "out")
    assert "matches: 2 in out" in alike.stdout
    decimal = ("alerts.csv", "rows.csv", "--type", "price=decimal(20,2)", "--into", "out")
    assert "replace its results with --overwrite" in match(*decimal).stderr
    exact = match(*decimal, "--overwrite")
    assert "matches: 1 in out" in exact.stdout
    assert "1 row could not be read" in exact.stdout
    kept = pq.read_table(next(Path("out").glob("*.parquet")))
    assert kept["price"].to_pylist() == [Decimal("12345678901234567.89")]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("rows.csv", "--type", "bytes"), "expected column=type"),
        (("rows.csv", "--type", "bytes=money"), "expected a type such as decimal(20,4)"),
        (("rows.csv", "--type", "byte=bigint"), "expected a column byte, since --type names one"),
        (("rows.json", "--type", "bytes=decimal(9,2)"), "whose numbers are floating point"),
        (("rows.parquet", "--type", "bytes=decimal(9,2)"), "decimal128(9, 2); found double"),
        (("rows.csv", "--type", "src=binary"), "attribute src: expected a boolean, a number"),
        (("rows.parquet", "other.parquet"), "expected a column src, as in the first file"),
    ],
)  # fmt: skip
def test_types_that_cannot_be_had_are_said_in_words(arguments, said):
    Path("rows.json").write_text('{"src": "a", "bytes": 1.5}\n')
    pq.write_table(pa.table({"src": ["a"], "bytes": [1.5]}), "rows.parquet")
    pq.write_table(pa.table({"bytes": [1.5]}), "other.parquet")
    shown = match("alerts.csv", *arguments)
    assert shown.exit_code == 2
    assert said in " ".join(shown.stderr.split())
    assert "Traceback" not in shown.stderr


def test_a_warning_names_the_file_and_the_line_and_no_code_of_ours():
    Path("swapped.csv").write_text('id,bytes\nbig,> 1000\nmid,"[200, 100]"\n')
    shown = match("swapped.csv", "rows.csv")
    assert shown.exit_code == 0
    assert shown.stderr == (
        "warning: swapped.csv, line 3: the lower bound 200 is above the upper bound 100, so it "
        "matches nothing; did you mean [100, 200]?\n"
    )


def test_a_run_warns_of_subscriptions_in_the_same_words():
    Path("swapped.csv").write_text('id,bytes\nbig,> 1000\nmid,"[200, 100]"\n')
    Path("script.cql").write_text(
        "CREATE STREAM r (at TIMESTAMP, src STRING, bytes INT) FROM 'rows.csv';"
        "CREATE SUBSCRIPTIONS wanted ON r (bytes) FROM 'swapped.csv';"
    )
    shown = CliRunner().invoke(app, ["run", "script.cql", "--once", "--runner", "embedded"])
    assert shown.exit_code == 0
    assert "warning: swapped.csv, line 3: the lower bound 200 is above" in shown.stderr
    assert ".py" not in shown.stderr
