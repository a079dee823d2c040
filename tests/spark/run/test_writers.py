"""Checkpoint and results have one writer, stay together, and are compacted while Spark writes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import windrow
from tests.spark.scripts import compiled, net_changes, run_embedded, run_on_spark, write_streams
from windrow.core.errors import StateError
from windrow.result_files.commits import Compacted
from windrow.result_files.directory_lock import Lock
from windrow.result_files.publication import COMPACT_AT
from windrow.result_files.reader import published_results

pytestmark = pytest.mark.spark

QUERIES = {
    "counts": "SELECT k, COUNT(*) AS n FROM a [RANGE 9] GROUP BY k",
    "some": "SELECT k, v FROM a [RANGE 9] WHERE v > 10",
    "more": "SELECT k, v FROM a [RANGE 9] WHERE v > 20",
    "most": "SELECT k, v FROM a [RANGE 9] WHERE v > 30",
}


def contents(directory: Path) -> dict[str, bytes]:
    return {str(p): p.read_bytes() for p in sorted(directory.rglob("*")) if p.is_file()}


@pytest.fixture(scope="module")
def finished(spark, tmp_path_factory):
    """A run with a checkpoint that has ended, compacted at every second micro-batch."""
    path = tmp_path_factory.mktemp("finished")
    write_streams(path, files=6, rows=60)
    expected, found = (compiled(path, QUERIES, out) for out in ("expected", "found"))
    reference = run_embedded(expected)
    patch = pytest.MonkeyPatch()
    patch.setattr(COMPACT_AT, "value", 2)
    report = run_on_spark(found, path / "checkpoint")
    patch.undo()
    return path, found, expected, report, reference


def test_results_that_were_compacted_while_they_came_are_those_of_the_embedded_runner(finished):
    path, found, expected, report, reference = finished
    for name in QUERIES:
        compacted = Compacted.read(path / "found" / name)
        assert compacted is not None
        assert compacted.through > 0
        assert net_changes(found, name) == net_changes(expected, name) != {}
    for ours, theirs in zip(report.queries, reference.queries, strict=True):
        assert sorted(map(str, ours.answer.to_pylist())) == (
            sorted(map(str, theirs.answer.to_pylist()))
        )
        assert (ours.rows_in, ours.now) == (theirs.rows_in, theirs.now)
    answer = windrow.results(path / "found" / "counts").answer().to_pylist()
    assert sorted(map(str, answer)) == sorted(map(str, report.queries[0].answer.to_pylist()))


def test_spark_reads_results(finished, spark):
    found = windrow.results(finished[0] / "found" / "some")
    rows = found.changes().num_rows
    assert spark.createDataFrame(found.changes()).count() == rows > 0
    assert spark.read.parquet(*map(str, found.files())).count() == rows


def test_a_second_run_on_a_checkpoint_is_told_who_has_it_and_touches_nothing(finished):
    path, found, *_ = finished
    lock = Lock(path / "checkpoint", "here")
    before = contents(path)
    write_streams(path / "new", files=1, rows=5)
    shutil.move(path / "new" / "a" / "00.parquet", path / "a" / "99.parquet")
    with pytest.raises(StateError, match=r"--checkpoint .*/checkpoint: expected no other run"):
        run_on_spark(found, path / "checkpoint")
    shutil.rmtree(path / "new")
    (path / "a" / "99.parquet").unlink()
    lock.release()
    assert contents(path) == before


def test_a_run_without_the_checkpoint_leaves_its_results_alone(finished):
    path, found, *_ = finished
    before = contents(path / "found")
    for checkpoint in (None, path / "other"):
        with pytest.raises(StateError, match=r"found those of query counts, of another run"):
            run_on_spark(found, checkpoint)
    with pytest.raises(StateError, match=r"of another run.*--overwrite"):
        run_embedded(found)
    assert contents(path / "found") == before


@pytest.mark.parametrize("lost", ["counts", "some"])
@pytest.mark.parametrize("how", ["deleted", "emptied", "a file"])
def test_a_run_whose_earlier_results_are_gone_says_so_and_stops(finished, lost, how):
    path, found, *_ = finished
    place, saved = path / "found" / lost, path / "saved"
    shutil.copytree(place, saved)
    if how == "a file":
        name = next(n for n in published_results(place).names() if n.startswith("batch-"))
        (place / name).unlink()
    else:
        shutil.rmtree(place)
        if how == "emptied":
            place.mkdir()
    with pytest.raises(StateError, match=r"results of the checkpoint .* are gone.*restore the dir"):
        run_on_spark(found, path / "checkpoint")
    shutil.rmtree(place, ignore_errors=True)
    saved.rename(place)


def test_the_same_command_with_no_new_file_says_the_same_answer(finished):
    path, found, _, report, _ = finished
    again = run_on_spark(found, path / "checkpoint")
    assert [q.rows_in for q in again.queries] == [0, 0, 0, 0]
    for ours, theirs in zip(again.queries, report.queries, strict=True):
        assert sorted(map(str, ours.answer.to_pylist())) == (
            sorted(map(str, theirs.answer.to_pylist()))
        )


def test_changes_of_a_connection_are_drained_and_heard_as_embedded(spark, tmp_path):
    script = """
        CREATE STREAM s (ts BIGINT, k INT);
        CREATE QUERY alone AS SELECT k, COUNT(*) AS n FROM s [RANGE 3] GROUP BY k;
        CREATE QUERY one AS SELECT k FROM s [RANGE 3] WHERE k > 0;
        CREATE QUERY two AS SELECT k FROM s [RANGE 3] WHERE k > 1;
        CREATE QUERY three AS SELECT k FROM s [RANGE 3] WHERE k > 2;
    """
    heard: dict[str, list[object]] = {}
    taken: dict[str, list[object]] = {}
    for name, session in (("embedded", None), ("spark", spark)):
        with windrow.connect(session) as db:
            alone, one, two, _ = db.execute(script)
            heard[name], taken[name] = [], []
            two.on_change(lambda batch, to=heard[name]: to.extend(batch.to_pylist()))
            for ts in range(3):
                db.push("s", {"ts": [2 * ts, 2 * ts + 1], "k": [ts, ts + 1]})
                taken[name].append(sorted(map(str, alone.changes(drain=True).to_pylist())))
                taken[name].append(sorted(str(r) for b in one.stream() for r in b.to_pylist()))
                assert alone.changes().num_rows == 0
                taken[name].append(sorted(map(str, alone.answer().to_pylist())))
            two.stop() if session is not None else None
    assert taken["spark"] == taken["embedded"]
    assert sorted(map(str, heard["spark"])) == sorted(map(str, heard["embedded"])) != []
