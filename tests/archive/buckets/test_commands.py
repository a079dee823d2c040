"""``windrow archive`` and scripts with an archive in an object store."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import windrow
from tests.support.bucket_server import NAME
from windrow.archive.archive import Archive
from windrow.cli.main import app


def run(*arguments: object, code: int = 0) -> str:
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert done.exit_code == code, done.output
    return done.output


def lines(said: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in said.splitlines()]


def test_all_commands_take_a_place_in_an_object_store(url, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for day in (1, 2, 3):
        Path(f"{day}.csv").write_text(f"src,bytes\na,{day}\nb,{10 * day}\n")
    assert run(
        "archive", "create", url, "--like", "1.csv", "--key", "src", "--window", 2,
        "--scheme", "DEL", "-n", 1, "--calendar", "numbers",
    ).startswith(f"{url}: ")  # fmt: skip
    for day in (1, 2, 3):
        run("archive", "append", url, f"{day}.csv", "--day", day, "--advance")
    assert lines(run("archive", "probe", url, "a", "--json")) == [
        {"src": "a", "bytes": 2},
        {"src": "a", "bytes": 3},
    ]
    assert len(lines(run("archive", "scan", url, "--json"))) == 4
    found = run("archive", "sql", url, "SELECT MAX(bytes) AS top FROM archive", "--json")
    assert lines(found) == [{"top": 30}]
    run("archive", "export", url, "all.parquet")
    run("archive", "migrate", url, "--format", "parquet")
    run("archive", "advance", url, "--to", 4)
    assert run("archive", "verify", url)
    assert run("archive", "vacuum", url)
    assert run("archive", "stat", url)
    assert run("archive", "plan", url)
    assert lines(run("archive", "probe", url, "b", "--json")) == [{"src": "b", "bytes": 30}]
    assert not Path("s3:").exists()


def test_an_error_says_what_to_do(url, server):
    said = run("archive", "stat", f"s3://no-{NAME}-bucket/x", code=2)
    assert "create it, or correct its name or AWS_ENDPOINT_URL" in said.replace("\n", " ")
    assert "create it first, or correct the path" in run("archive", "stat", url, code=2)


SCRIPT = """
CREATE STREAM s (ts BIGINT, k STRING, v BIGINT) FROM 's.csv' FORMAT csv TIMESTAMP BY ts;
CREATE ARCHIVE m ON s KEY k WINDOW 4 SECONDS USING WATA(2) INTO '{url}';
"""


def test_a_script_fills_an_archive_there_and_running_it_again_repeats_nothing(
    url, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    rows = [f"{t},k{t % 3},{t}" for t in range(9)]
    Path("s.csv").write_text("ts,k,v\n" + "\n".join(rows) + "\n")
    Path("q.cql").write_text(SCRIPT.format(url=url))
    for _ in range(2):
        run("run", "q.cql", "--runner", "embedded", "--once")
        with Archive.open(url).reader() as reader:
            assert sorted(reader.scan()["v"].to_pylist()) == list(range(5, 9))
    with windrow.connect() as db:
        db.execute(SCRIPT.format(url=url))
    assert Archive.open(url).verify() == []


@pytest.mark.parametrize("text", ["s3://", "s3:///"])
def test_an_address_without_a_bucket_is_refused(text):
    assert "expected s3://bucket/path" in run("archive", "stat", text, code=2)
