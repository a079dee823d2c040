"""``windrow match``: files against files, as a new user would try it."""

from __future__ import annotations

import re
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
    assert "... and 5 more; keep them all with --into" in match("alerts.csv", "rows.csv").stdout


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
