"""``windrow checkpoint rewind``: a watermark that went too far ahead."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from windrow.cli.main import app
from windrow.result_files.commits import Commit
from windrow.result_files.directory_lock import LOCK, Lock
from windrow.result_files.reader import published_results
from windrow.spark.checkpoint.pipeline_directory import new_pipeline, read_pipeline
from windrow.spark.checkpoint.query_directory import IDENTITY
from windrow.spark.source.file_log import Entry, FileLog

SCRIPT = """
CREATE STREAM s (ts TIMESTAMP, k INT) FROM 's' FORMAT csv {clause};
CREATE QUERY q AS SELECT k FROM s [RANGE 1 MINUTE] INTO 'out' FORMAT csv;
CREATE QUERY other AS SELECT COUNT(*) AS n FROM s [RANGE 1 MINUTE];
"""
ROWS = "ts,k\n2023-11-14 10:00:00,1\n9999-12-31 00:00:00,2\n2023-11-14 10:00:05,3\n"
YEAR_9999 = 253_402_214_400_000_000
PAST = 1_700_000_000_000_000


def windrow(*arguments: object):
    return CliRunner().invoke(app, [str(a) for a in arguments])


@pytest.fixture
def here(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "1.csv").write_text(ROWS)
    (tmp_path / "script.cql").write_text(SCRIPT.format(clause=""))
    return tmp_path


def made(here: Path, query: str, top: int, into: Path | None = None) -> Path:
    """A query's directory as a run leaves it, and a pipeline, Spark's own files apart."""
    directory = here / "state" / query
    directory.mkdir(parents=True)
    (directory / IDENTITY).write_text(json.dumps({"run": "r1"}))
    home = new_pipeline(here / "state", [query])
    home.offsets.mkdir(parents=True)
    FileLog(home.log("s")).append([Entry(str(here / "s" / "1.csv"), 9, top)])
    results = into or directory / "results"
    results.mkdir(parents=True)
    (results / "batch-0.csv").write_text("instant,change,k\n")
    commit = Commit(0, "r1", ("batch-0.csv",), top, 1, 1, 0, 0)
    commit.path(results).write_text(commit.to_json())
    return directory


def test_what_is_astray_is_moved_away_and_everything_else_stays(here: Path) -> None:
    q, other = made(here, "q", YEAR_9999, here / "out"), made(here, "other", PAST)
    (here / "out" / "mine.txt").write_text("no result")
    dry = windrow("checkpoint", "rewind", "script.cql", "state", "--dry-run")
    assert dry.exit_code == 0, dry.output
    assert "q: s has a watermark of 9999-12-31 00:00:00; at most " in dry.output
    assert "q: the next run would start it over, and read 1 file" in dry.output
    assert (here / "state" / "pipeline-1").exists()
    assert published_results(here / "out").commits
    done = windrow("checkpoint", "rewind", "script.cql", "state")
    assert "q: the next run starts it over, and reads 1 file; its old state is in" in done.output
    assert sorted(p.name for p in q.iterdir()) == ["removed-1", IDENTITY]
    assert sorted(p.name for p in (q / "removed-1").iterdir()) == ["into-0", "pipeline-1"]
    assert sorted(p.name for p in (here / "out").iterdir()) == [LOCK, "mine.txt"]
    assert published_results(q / "removed-1" / "into-0").commits
    assert (here / "state" / "pipeline-2").exists()
    assert published_results(other / "results").commits
    again = windrow("checkpoint", "rewind", "script.cql", "state")
    assert again.output.startswith("no stream is further ahead than AHEAD allows")


def test_a_query_that_is_named_begins_anew_whatever_its_time(here: Path) -> None:
    other = made(here, "other", PAST)
    made(here, "q", PAST)
    done = windrow("checkpoint", "rewind", "script.cql", "state", "--query", "other")
    assert done.exit_code == 0, done.output
    assert (other / "removed-1" / "pipeline-1").exists()
    wrong = windrow("checkpoint", "rewind", "script.cql", "state", "--query", "nobody")
    assert wrong.exit_code == 2
    assert "expected one of q; found no such query" in wrong.output


@pytest.mark.parametrize("clause", ["AHEAD UNBOUNDED", "AHEAD 9999 WEEKS"])
def test_what_the_script_allows_is_not_astray(here: Path, clause: str) -> None:
    (here / "script.cql").write_text(SCRIPT.format(clause=clause))
    top = YEAR_9999 if "UNBOUNDED" in clause else PAST + 10**15
    made(here, "q", top, here / "out")
    assert (
        "no stream is further ahead"
        in windrow("checkpoint", "rewind", "script.cql", "state").output
    )


def test_files_that_are_gone_are_named_before_anything_is_touched(here: Path) -> None:
    made(here, "q", YEAR_9999, here / "out")
    (here / "s" / "1.csv").rename(here / "s" / "2.csv")
    refused = windrow("checkpoint", "rewind", "script.cql", "state")
    assert refused.exit_code == 2
    assert "1.csv: expected the files that were read" in refused.output
    assert (here / "state" / "pipeline-1").exists()
    done = windrow("checkpoint", "rewind", "script.cql", "state", "--without-missing")
    assert "starts it over, and reads 0 files" in done.output


def test_a_checkpoint_that_a_run_is_using_is_left_alone(here: Path) -> None:
    made(here, "q", YEAR_9999, here / "out")
    lock = Lock(here / "state", "state")
    refused = windrow("checkpoint", "rewind", "script.cql", "state")
    lock.release()
    assert refused.exit_code == 2
    assert "expected no other run that uses the directory" in refused.output
    assert (here / "state" / "pipeline-1").exists()


@pytest.mark.parametrize("place", ["state", "nowhere"])
def test_what_is_no_checkpoint_of_the_script_is_refused(here: Path, place: str) -> None:
    made(here, "somebody", YEAR_9999)
    refused = windrow("checkpoint", "rewind", "script.cql", place)
    assert refused.exit_code == 2
    assert "expected the checkpoint of a query of this script" in refused.output


def test_a_query_that_is_not_alone_leaves_its_pipeline_to_the_others(here: Path) -> None:
    made(here, "other", PAST)
    q = made(here, "q", PAST, here / "out")
    state = here / "state"
    (state / "pipeline-2" / "pipeline.json").unlink()
    read_pipeline(state / "pipeline-1").write(members=("other", "q"))
    done = windrow("checkpoint", "rewind", "script.cql", "state", "--query", "q")
    assert done.exit_code == 0, done.output
    assert read_pipeline(state / "pipeline-1").members == ("other", None)
    assert published_results(q / "removed-1" / "into-0").commits
    assert published_results(state / "other" / "results").commits


def test_the_checkpoint_of_a_connection_is_refused(here: Path) -> None:
    made(here, "q", YEAR_9999)
    (here / "state" / "pipeline-1" / "inboxes.json").write_text("{}")
    refused = windrow("checkpoint", "rewind", "script.cql", "state")
    assert "push the rows again" in refused.output


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_a_run_that_was_led_astray_is_right_after_a_rewind(here: Path) -> None:
    """As a version without AHEAD left it: what came after the year 9999 was late."""
    (here / "script.cql").write_text(SCRIPT.format(clause="AHEAD UNBOUNDED"))
    run = ("run", "script.cql", "--once", "--checkpoint", "state", "--master", "local[2]")
    first = windrow(*run)
    assert "q at 9999-12-31 00:00:00: 1 row" in first.output
    (here / "s" / "2.csv").write_text("ts,k\n2023-11-14 10:00:07,4\n")
    (here / "script.cql").write_text(SCRIPT.format(clause=""))
    done = windrow("checkpoint", "rewind", "script.cql", "state")
    assert done.exit_code == 0, done.output
    second = windrow(*run)
    assert second.exit_code == 0, second.output
    assert "q at 2023-11-14 10:00:07: 3 rows" in second.output
    assert "other at 2023-11-14 10:00:07: 1 row" in second.output
    said = windrow("results", "out", "--format", "csv").output.splitlines()[1:]
    assert [line.rpartition(",")[2] for line in sorted(said)] == ["1", "3", "4"]
