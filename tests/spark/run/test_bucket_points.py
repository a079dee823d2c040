"""Checkpoints in an object store, with Spark's part of a run done here: all points, no Java."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.faults.points import POINTS, fail_at
from tests.spark.scripts import compiled, net_changes, run_embedded, write_streams
from tests.support.bucket_fixtures import running_server, server, url
from tests.support.without_spark import run_without_spark
from windrow.archive.archive import Archive
from windrow.cli.main import app
from windrow.core.errors import StateError, WindrowError
from windrow.engine.progress import Report
from windrow.object_store.errors import StoreError
from windrow.object_store.object_path import path_of
from windrow.plan.catalog import Catalog
from windrow.plan.program import compile_script
from windrow.result_files.directory_lock import hold_directories
from windrow.spark.checkpoint.state import sweep
from windrow.spark.stage import level_task
from windrow.spark.stage.state_files import StateCommits
from windrow.spark.stage.worker_cache import WorkerCache

__all__ = ["running_server", "server", "url"]

Run = Callable[[Catalog, Path], Report]
QUERIES = {
    "groups": "SELECT k, COUNT(*) AS n FROM a [RANGE 20] GROUP BY k",
    "pairs": "SELECT a.v, COUNT(*) AS n FROM a [RANGE 20], b [RANGE 10] WHERE a.k = b.k "
    "GROUP BY a.v",
    "total": "SELECT COUNT(*) AS n, SUM(v) AS s FROM b [RANGE 30]",
}
BUCKETS = 4
"""Two on each of two levels, of which every micro-batch writes a file of state."""


def broken() -> None:
    raise RuntimeError("broken by a test")


def catalog(directory: Path, out: str):
    """The queries, and an archive of what one of them reads."""
    place = directory / out / "seen"
    text = f"CREATE ARCHIVE seen ON b KEY k WINDOW 7 MINUTES USING WATA(3) INTO '{place}';"
    return compiled(directory, QUERIES, out, more=text)


def failing_run(found, checkpoint, monkeypatch, point: str, count: int, run: Run) -> None:
    """A run that ends where it is broken."""
    with monkeypatch.context() as patch:
        fail_at(point, count, broken, patch.setattr)
        with pytest.raises(WindrowError, match="broken by a test"):
            run(found, checkpoint)


def assert_whole(directory: Path, checkpoint, run: Run) -> None:
    """Run to the end: everything is as if nothing had happened."""
    found, expected = (catalog(directory, out) for out in ("found", "expected"))
    run(found, checkpoint)
    run_embedded(expected)
    for name in QUERIES:
        assert net_changes(found, name) == net_changes(expected, name) != {}
    archives = []
    for out in ("found", "expected"):
        with Archive.open(directory / out / "seen").reader() as reader:
            archives.append(Counter(map(str, reader.scan().to_pylist())))
    assert archives[0] == archives[1] != Counter()


@pytest.fixture
def move(monkeypatch, tmp_path_factory):
    """Makes this machine another one: nothing is cached, and workers have no state."""

    def forget() -> None:
        monkeypatch.setenv("WINDROW_CACHE_DIR", str(tmp_path_factory.mktemp("machine")))
        monkeypatch.setattr(level_task, "CACHE", WorkerCache())

    return forget


@pytest.mark.parametrize("point", POINTS)
def test_a_driver_that_fails_at_a_point_is_gone_on_with_elsewhere(
    tmp_path, monkeypatch, url, move, point
):
    write_streams(tmp_path, files=3, rows=60)
    checkpoint = path_of(f"{url}/checkpoint")
    found, count = catalog(tmp_path, "found"), 1 + POINTS.index(point) % 2
    failing_run(found, checkpoint, monkeypatch, point, count, run_without_spark)
    move()
    assert_whole(tmp_path, checkpoint, run_without_spark)
    state = checkpoint / "pipeline-1" / "state"
    sweep(state)
    versions = StateCommits(state).numbers()
    assert len(list(state.glob("*/*.state"))) == BUCKETS * len(versions), "and nothing is left over"


def test_a_driver_that_loses_the_store_at_any_request_is_gone_on_with(
    tmp_path, monkeypatch, url, server, move
):
    """Whatever it has put by then; the next ones get further."""
    write_streams(tmp_path, files=3, rows=60)
    found, checkpoint = catalog(tmp_path, "found"), path_of(f"{url}/checkpoint")
    failures = 0
    for allowed in range(5, 400, 23):
        left = [allowed]

        def refuse(method: str, path: str, left=left):
            left[0] -= method == "PUT" and "_signs" not in path
            gone = left[0] < 0 and "lock" not in path and "_signs" not in path
            return ("403 Forbidden", "AccessDenied") if gone else None

        server.refuse = refuse
        try:
            run_without_spark(found, checkpoint)
            break
        except (WindrowError, OSError):
            failures += 1
        finally:
            server.refuse = lambda method, path: None
        move()
    assert failures > 1
    assert_whole(tmp_path, checkpoint, run_without_spark)


TEXT = """
CREATE STREAM a (ts BIGINT, k INT) FROM '{0}/a' FORMAT csv TIMESTAMP BY ts;
CREATE RELATION names (k INT, name STRING) FROM '{0}/names' FORMAT csv;
CREATE QUERY who AS SELECT a.ts, names.name FROM a [RANGE 50], names WHERE a.k = names.k
  INTO '{0}/{1}';
"""


def test_text_and_relations_are_read_by_the_next_driver_as_by_the_first(
    tmp_path, monkeypatch, url, move
):
    for name in ("a", "names"):
        (tmp_path / name).mkdir()
    for number in range(3):
        (tmp_path / "a" / f"{number}.csv").write_text(f"ts,k\n{9 * number},1\n{9 * number},2\nx,\n")
        lines = f"{8 * number},+,{number},n{number}\n{8 * number},-,7,none\n"
        (tmp_path / "names" / f"{number}.csv").write_text(f"instant,change,k,name\n{lines}")
    found, expected = (
        compile_script(TEXT.format(tmp_path, out)).catalog for out in ("found", "expected")
    )
    checkpoint = path_of(f"{url}/checkpoint")
    for point in ("reports", "published"):
        failing_run(found, checkpoint, monkeypatch, point, 2, run_without_spark)
        move()
    run_without_spark(found, checkpoint)
    run_embedded(expected)
    assert net_changes(found, "who") == net_changes(expected, "who") != {}
    (tmp_path / "x.cql").write_text(TEXT.format(tmp_path, "found"))
    rewind = ["checkpoint", "rewind", str(tmp_path / "x.cql"), str(checkpoint), "--query", "who"]
    done = CliRunner().invoke(app, rewind)
    assert f"its old state is in {checkpoint}/who/removed-1" in done.output.replace("\n", "")
    assert net_changes(found, "who") == {}
    run_without_spark(found, checkpoint)
    assert net_changes(found, "who") == net_changes(expected, "who")


def test_a_store_that_overwrites_is_refused(tmp_path, url, server):
    write_streams(tmp_path, files=1, rows=10)
    server.overwrites = True
    with pytest.raises(StoreError, match="a store that does not overwrite"):
        run_without_spark(catalog(tmp_path, "found"), path_of(f"{url}/checkpoint"))


def test_a_run_has_the_checkpoint_alone(tmp_path, url):
    write_streams(tmp_path, files=1, rows=10)
    checkpoint = path_of(f"{url}/checkpoint")
    with hold_directories([(checkpoint, "another")]), pytest.raises(StateError, match="no other"):
        run_without_spark(catalog(tmp_path, "found"), checkpoint)
