"""Results are read as Arrow, by DuckDB, polars and on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import polars
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import windrow
from windrow.cli.main import app
from windrow.core.errors import InputError
from windrow.result_files import directory
from windrow.result_files.commits import Published
from windrow.result_files.directory_lock import Lock
from windrow.result_files.reader import published_results

SCRIPT = """
    CREATE STREAM hits (ts TIMESTAMP, page STRING, d DATE);
    CREATE QUERY busy AS SELECT TOP 2 page, COUNT(*) AS n FROM hits [RANGE 2 MINUTES] GROUP BY page
      ORDER BY n DESC INTO 'out/busy' FORMAT {0};
    CREATE QUERY seen AS SELECT page, d FROM hits INTO 'out/seen' FORMAT {0};
"""


@pytest.fixture(params=["parquet", "csv", "json"])
def db(request, tmp_path, monkeypatch):
    """A connection whose queries have published three micro-batches."""
    monkeypatch.chdir(tmp_path)
    with windrow.connect() as connection:
        connection.execute(SCRIPT.format(request.param))
        for minute, pages in enumerate(("ab", "bb", "c")):
            stamp = f"2026-03-01 12:0{minute}:00"
            rows = [{"ts": stamp, "page": page, "d": "2026-03-01"} for page in pages]
            connection.push("hits", rows)
            connection.advance(to=stamp)
        yield connection


def test_changes_and_answer_are_what_the_connection_says(db) -> None:
    for name, query in db.queries.items():
        found = windrow.results(f"out/{name}")
        assert found.query == name
        assert found.schema == query.changes().schema
        assert found.changes() == query.changes()
        assert found.answer() == query.answer()
    assert found.batch == 2
    assert repr(found) == "<results of seen in out/seen, up to micro-batch 2>"


def test_changes_are_asked_for_by_instant_and_by_micro_batch(db) -> None:
    found = windrow.results("out/seen")
    assert found.changes(since="2026-03-01 12:01")["page"].to_pylist() == ["b", "b", "c"]
    assert found.changes(after=1)["page"].to_pylist() == ["c"]
    assert found.changes(after=found.batch).num_rows == 0
    db.push("hits", [{"ts": "2026-03-01 12:03", "page": "d", "d": None}])
    db.advance(to="2026-03-01 12:03")
    assert found.changes(after=2).to_pylist()[0]["page"] == "d"


def test_who_asks_after_the_last_number_gets_every_change_once_while_a_run_writes(
    db, monkeypatch
) -> None:
    minutes = iter(range(3, 60))

    def early(path: Path) -> Published:
        """The run goes on between what was said of the results and what is read of them."""
        found, stamp = published_results(path), f"2026-03-01 12:{next(minutes):02}:00"
        db.push("hits", [{"ts": stamp, "page": "x", "d": None}])
        db.advance(to=stamp)
        return found

    monkeypatch.setattr(directory, "published_results", early)
    pages, after = [], -1
    for _ in range(3):
        said = run("results", "out/seen", "--after", after, "--into", "new.parquet")
        pages += pa.parquet.read_table("new.parquet")["page"].to_pylist()
        after = int(said.split()[-1])
        found = windrow.results("out/seen").snapshot()
        pages += found.changes(after=after)["page"].to_pylist()
        after = found.batch
    assert pages == [*"abbbc", *"x" * (after - 2)]
    assert after > 6


def test_an_instant_of_another_clock_is_no_beginning(db) -> None:
    db.execute(
        "CREATE STREAM ticks (at BIGINT) TIMESTAMP BY at;"
        "CREATE QUERY ticked AS SELECT at FROM ticks INTO 'out/ticked';"
    )
    db.push("ticks", {"at": [5, 9]})
    db.advance(to=9)
    found = windrow.results("out/ticked")
    assert found.changes(since=6)["at"].to_pylist() == [9]
    with pytest.raises(InputError, match=r"since: expected an integer, as the time .* is one"):
        found.changes(since="2026-03-01")
    for query, since, form in (
        ("ticked", "2026-03-01", "a whole number; found 2026-03-01"),
        ("seen", "5", "such as '2026-03-01 12:00'; found 5"),
    ):
        said = CliRunner().invoke(app, ["results", f"out/{query}", "--since", since])
        assert said.exit_code == 2
        assert f"--since: expected an instant as the results have it, {form}" in said.stderr
    said = CliRunner().invoke(app, ["results", "out/ticked", "--since", "6", "--format", "json"])
    assert [json.loads(line)["at"] for line in said.stdout.splitlines()] == [9]


def test_whatever_takes_arrow_takes_results(db) -> None:
    found = windrow.results("out/seen")
    rows = found.changes()
    assert pa.table(found) == rows
    assert found.reader().read_all() == rows
    assert polars.DataFrame(found)["page"].to_list() == rows["page"].to_pylist()
    dataset = found.dataset()
    assert dataset.to_table() == rows
    for source in ("found", "rows", "dataset"):
        counted = duckdb.sql(f"SELECT page, count(*) FROM {source} WHERE page > 'a' GROUP BY page")
        assert sorted(counted.fetchall()) == [("b", 3), ("c", 1)]
    assert sum(path.suffix == ".parquet" for path in found.files()) in (0, 3)


def run(*arguments: object) -> str:
    found = CliRunner().invoke(app, [str(a) for a in arguments])
    assert found.exit_code == 0, found.output
    return found.stdout


def test_the_command_shows_changes_and_answer(db, tmp_path) -> None:
    shown = run("results", "out/seen")
    assert "│ 2026-03-01 12:00:00 │ +      │ a " in shown
    assert shown.splitlines()[-1] == "seen at 2026-03-01 12:02:00: 5 changes, micro-batch 2"
    lines = run("results", "out/busy", "--answer", "--format", "json").splitlines()
    assert [json.loads(line) for line in lines] == db.queries["busy"].answer().to_pylist()
    text = run("results", "out/seen", "--after", 1, "--format", "csv")
    assert text == '"instant","change","page","d"\n2026-03-01 12:02:00.000000,"+","c",2026-03-01\n'
    nothing = run("results", "out/seen", "--after", 2, "--format", "csv")
    assert nothing == '"instant","change","page","d"\n'
    assert "1 change in x.parquet" in run(
        "results", "out/seen", "--since", "2026-03-01 12:02", "--into", "x.parquet"
    )
    assert pa.parquet.read_table("x.parquet")["page"].to_pylist() == ["c"]


def test_the_command_compacts_what_nobody_writes(db) -> None:
    before = windrow.results("out/seen").changes()
    refused = CliRunner().invoke(app, ["compact", "out/seen"])
    assert refused.exit_code == 2
    assert "another run or connection of this process" in refused.stderr
    db.close()
    assert run("compact", "out/seen") == "out/seen: 3 files before, 1 now\n"
    assert windrow.results("out/seen").changes() == before


def test_reading_takes_no_lock_and_leaves_no_trace(db) -> None:
    before = sorted(p.name for p in Path("out/seen").iterdir())
    windrow.results("out/seen").answer()
    assert sorted(p.name for p in Path("out/seen").iterdir()) == before
    db.close()
    lock = Lock(Path("out/seen"), "here")
    assert windrow.results("out/seen").changes().num_rows == 5
    lock.release()


def test_a_directory_without_results_is_refused_in_words(tmp_path) -> None:
    with pytest.raises(
        InputError, match=r"results of a query, which has _results.json; found no directory"
    ):
        windrow.results(tmp_path / "none")
    with pytest.raises(InputError, match=r"a directory without _results.json.*that INTO names"):
        windrow.results(tmp_path)
