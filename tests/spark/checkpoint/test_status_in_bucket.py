"""The commands that look at a checkpoint in an object store; one that is made by hand."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from tests.spark.written_checkpoint import WrittenCheckpoint, delta_of
from tests.support.bucket_fixtures import running_server, server, url
from tests.support.checkpoints import HandMade
from windrow.cli.main import app
from windrow.object_store.object_path import path_of
from windrow.spark.checkpoint.working_copy import WorkingCopy

__all__ = ["running_server", "server", "url"]


@pytest.fixture
def made(url, tmp_path):
    """Made in a copy, which then is gone."""
    copy = WorkingCopy(url)
    (tmp_path / "state").symlink_to(copy.directory)
    made = HandMade(tmp_path)
    assert made.home.state == path_of(url) / "pipeline-1" / "state"
    copy.push()
    copy.close()
    return made


def said(*arguments: str, code: int = 0) -> str:
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == code, done.output
    return done.output


@pytest.mark.usefixtures("made")
def test_status_says_how_a_run_is_doing(url):
    found = json.loads(said("status", url, "--json"))
    assert found["checkpoint"] == url
    assert found["process"] is None, "nobody has the lock"
    (pipeline,) = found["pipelines"]
    assert (pipeline["condition"], pipeline["batch"]) == ("killed", 2)
    assert [s["files"] for s in pipeline["streams"]] == [3, 3]
    sizes = [query["state_bytes"] for query in pipeline["queries"]]
    assert sizes[1] == 2 * sizes[0] > 0


@pytest.mark.usefixtures("made")
def test_status_names_the_process_that_has_the_lock(url):
    told = {"pid": 12, "host": "elsewhere", "command": "windrow run x.cql"}
    place = path_of(url) / ".windrow.lock"
    place.bucket.put(place.key, f"anything\n{json.dumps(told)}".encode())
    assert json.loads(said("status", url, "--json"))["process"]["host"] == "elsewhere"


def test_there_is_no_checkpoint(url):
    assert url in said("status", f"{url}/none", code=2)
    assert url in said("checkpoint", "check", f"{url}/none", code=2)
    assert list(path_of(url).objects_below()) == []


@pytest.mark.usefixtures("made")
def test_what_is_damaged_is_named_and_moved_away(url):
    notes = path_of(url) / "notes"
    for number in range(3):
        key = (notes / "pipeline-1" / "spark" / "offsets" / str(number)).key
        notes.bucket.put(key, f'v1\n{{}}\n{{"flows":{number + 1},"hosts":{number + 1}}}'.encode())
    notes.bucket.put((notes / "pipeline-1" / "spark" / "metadata").key, b'{"id":"x"}')
    assert "complete up to batch 2" in said("checkpoint", "check", url)
    offsets = notes / "pipeline-1" / "spark" / "offsets" / "2"
    offsets.bucket.put(offsets.key, b"v1")
    assert f"{offsets}: it is cut short" in said("checkpoint", "check", url, code=1)
    spark, state = offsets.parents[1], path_of(url) / "pipeline-1" / "state"
    assert f"{spark} would be moved away" in said("checkpoint", "repair", url, "--dry-run")
    before = {path.relative_to(state) for path in state.objects_below()}
    assert f"{offsets}: it is cut short" in said("checkpoint", "check", url, code=1), "as it was"
    assert "the next run repeats batches 0 to 2" in said("checkpoint", "repair", url)
    place, moved = f"{notes}/pipeline-1/removed-1", state.parent / "removed-1" / "state"
    assert path_of(f"{place}/spark/offsets/2").read_text() == "v1"
    assert {path.relative_to(moved) for path in moved.objects_below()} == before
    assert (spark.objects_below(), state.objects_below()) == ([], [])
    assert "no batch is complete yet" in said("checkpoint", "check", url)


def test_a_checkpoint_answers_sql(url):
    script = """
        CREATE STREAM s (ts BIGINT, k STRING, v BIGINT);
        CREATE QUERY totals AS SELECT k, SUM(v) AS t FROM s [RANGE 9] GROUP BY k;
    """
    copy = WorkingCopy(url)
    written = WrittenCheckpoint(copy.directory, script)
    rows = {"s": delta_of(script, "s", [(ts, "ab"[ts % 2], ts) for ts in range(1, 12)])}
    written.batch(rows, 11)
    copy.push()
    copy.close()
    answers = [
        said("query", url, sql, "--format", "csv")
        for sql in ("SELECT * FROM totals ORDER BY k", "SELECT SUM(v) AS v FROM s [RANGE 2]")
    ]
    assert answers == ['"k","t"\n"a",28\n"b",35\n', '"v"\n21\n']
