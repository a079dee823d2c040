"""Checkpoints in an object store: a run goes on from there, wherever it is started."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter

import pytest

import windrow
from tests.spark.run.test_bucket_points import assert_whole, catalog, failing_run
from tests.spark.scripts import run_embedded, run_on_spark, write_streams
from tests.support.bucket_fixtures import running_server, server, url
from windrow.object_store.object_path import path_of
from windrow.plan.program import compile_script

__all__ = ["running_server", "server", "url"]

pytestmark = pytest.mark.spark


@pytest.fixture
def machine(spark, server, monkeypatch, tmp_path_factory):
    """Makes this machine another one: nothing is cached, and workers start anew."""

    def move() -> None:
        for where in (os.environ, spark.sparkContext.environment):
            cache = str(tmp_path_factory.mktemp("machine"))
            monkeypatch.setitem(where, "WINDROW_CACHE_DIR", cache)

    for name, value in server.environment.items():
        monkeypatch.setitem(spark.sparkContext.environment, name, value)
    move()
    return move


def test_a_driver_that_failed_is_gone_on_with_elsewhere(tmp_path, monkeypatch, url, machine):
    write_streams(tmp_path, files=4, rows=60)
    found, checkpoint = catalog(tmp_path, "found"), path_of(f"{url}/checkpoint")
    failing_run(found, checkpoint, monkeypatch, "published", 2, run_on_spark)
    machine()
    assert_whole(tmp_path, checkpoint, run_on_spark)


RELATIONS = """
CREATE STREAM a (ts BIGINT, k INT, v BIGINT) TIMESTAMP BY ts;
CREATE RELATION names (k INT, name STRING);
CREATE QUERY who AS SELECT a.v, names.name FROM a [RANGE 4], names WHERE a.k = names.k;
CREATE QUERY low AS SELECT v FROM a [RANGE 3] WHERE v < 25;
CREATE QUERY high AS SELECT v FROM a [RANGE 3] WHERE v > 15;
"""


def test_a_later_connection_goes_on_elsewhere(spark, url, machine):
    embedded = windrow.connect()
    known = embedded.execute(RELATIONS)
    for step in range(2):
        machine()
        with windrow.connect(spark=spark, checkpoint=url) as db:
            found = db.execute(RELATIONS)
            for connection in (embedded, db):
                updates = {"instant": [1 + 9 * step], "change": ["+"], "k": [step], "name": ["x"]}
                connection.push("names", updates)
                rows = {"ts": [2, 3, 6], "k": [0, 1, 0], "v": [10, 20, 30]}
                connection.push("a", {**rows, "ts": [9 * step + t for t in rows["ts"]]})
                connection.advance(to=9 * step + 7)
            for ours, theirs in zip(found, known, strict=True):
                expected = sorted(map(str, theirs.changes().to_pylist()))
                assert sorted(map(str, ours.changes().to_pylist())) == expected != []
                assert sorted(map(str, ours.answer().to_pylist())) == sorted(
                    map(str, theirs.answer().to_pylist())
                )


COMMAND = "from windrow.cli.main import main; main()"
SCRIPT = """
CREATE STREAM a (ts BIGINT, k INT) FROM '{0}/a' FORMAT csv TIMESTAMP BY ts;
CREATE RELATION names (k INT, name STRING) FROM '{0}/names.csv' FORMAT csv;
CREATE QUERY who AS SELECT a.ts, names.name FROM a [RANGE 50], names WHERE a.k = names.k
  INTO '{0}/{1}';
"""


@pytest.mark.slow
def test_the_commands_take_it(tmp_path, url):
    """In processes of their own, which have their own Spark."""
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "1.csv").write_text("ts,k\n1,1\n2,2\n")
    (tmp_path / "names.csv").write_text("k,name\n1,ann\n2,bob\n")
    script, place = tmp_path / "x.cql", f"{url}/checkpoint"
    script.write_text(SCRIPT.format(tmp_path, "found"))

    def windrow_says(*arguments: str, code: int = 0) -> str:
        command = [sys.executable, "-c", COMMAND, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    run = ("run", str(script), "--once", "--checkpoint", place)
    windrow_says(*run)
    (tmp_path / "a" / "2.csv").write_text("ts,k\n3,2\n9,1\nnever,1\n")
    assert f"1 row quarantined in {place}/quarantine" in windrow_says(*run)
    (page,) = path_of(f"{place}/quarantine").glob("a/*.jsonl")
    assert "never" in page.read_text()
    status = json.loads(windrow_says("status", place, "--json"))
    assert status["checkpoint"] == place
    (pipeline,) = status["pipelines"]
    assert (pipeline["condition"], pipeline["queries"][0]["rows_in"]) == ("stopped", 6)
    assert "complete up to batch" in windrow_says("checkpoint", "check", place)
    state = max((path_of(place) / "pipeline-1" / "state").glob("*/*.state"))
    state.bucket.put(state.key, state.read_bytes()[:-9])
    assert "does not end as a file of state" in windrow_says("checkpoint", "check", place, code=1)
    assert "repaired" in windrow_says("checkpoint", "repair", place)
    assert "complete up to batch" in windrow_says("checkpoint", "check", place)
    (tmp_path / "a" / "3.csv").write_text("ts,k\n12,2\n")
    windrow_says(*run)
    changes = windrow.results(tmp_path / "found").changes().to_pylist()
    run_embedded(compile_script(SCRIPT.format(tmp_path, "expected")).catalog)
    expected = windrow.results(tmp_path / "expected").changes().to_pylist()
    assert Counter(map(str, changes)) == Counter(map(str, expected)) != Counter()
    rewind = ("checkpoint", "rewind", str(script), place, "--query", "who")
    assert "starts it over" in windrow_says(*rewind)
    windrow_says(*run)
    again = windrow.results(tmp_path / "found").changes().to_pylist()
    assert Counter(map(str, again)) == Counter(map(str, expected))
