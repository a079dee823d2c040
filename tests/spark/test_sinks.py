"""The sink publishes each micro-batch once, whatever happens between."""

from __future__ import annotations

import pyarrow as pa
import pytest

from windrow.core.errors import StateError
from windrow.result_files.change_table import read_changes
from windrow.result_files.commits import commits
from windrow.result_files.identity import RESULTS, Identity
from windrow.result_files.ownership import prepare
from windrow.spark.sink.result_writer import ResultWriter, SinkSpec
from windrow.spark.stage.blobs import pack
from windrow.spark.stage.packing import packed_batch

CHANGES = pa.schema([("instant", pa.int64()), ("change", pa.string()), ("k", pa.int32())])


def result(instants: list[int], now: int, **counts: int) -> pa.RecordBatch:
    columns = [pa.array(instants), pa.array(["+"] * len(instants)), pa.array(instants, pa.int32())]
    changes = pa.RecordBatch.from_arrays(columns, schema=CHANGES)
    return packed_batch([(-1, 0, pack({"now": now, "counts": counts}, {"changes": changes}))])


def writer(tmp_path, run="r1", format_="parquet", *, overwrite=False) -> ResultWriter:
    (tmp_path / "out").mkdir(exist_ok=True)
    prepare(tmp_path / "out", Identity(run, "q", format_, CHANGES), overwrite=overwrite)
    return ResultWriter(SinkSpec(str(tmp_path / "out"), format_, run))


@pytest.mark.parametrize("format_", ["parquet", "csv", "json"])
def test_committed_changes_are_read_back_in_order_of_their_instants(tmp_path, format_):
    sink = writer(tmp_path, format_=format_)
    sink.commit([sink.write(iter([result([3], 4)])), sink.write(iter([result([1, 4], 4)]))], 0)
    sink.commit([sink.write(iter([result([5], 6)])), sink.write(iter([result([], 6)]))], 1)
    found = read_changes(tmp_path / "out", format_, CHANGES)
    assert found.schema == CHANGES
    assert found["instant"].to_pylist() == [1, 3, 4, 5]


def test_what_was_written_and_not_committed_is_not_a_result(tmp_path):
    sink = writer(tmp_path)
    sink.write(iter([result([1], 2)]))
    assert read_changes(tmp_path / "out", "parquet", CHANGES).num_rows == 0
    visible = [p.name for p in (tmp_path / "out").iterdir() if not p.name.startswith(".")]
    assert visible == [RESULTS]


def test_a_repeated_batch_changes_nothing_and_leaves_nothing_behind(tmp_path):
    sink = writer(tmp_path)
    sink.commit([sink.write(iter([result([1, 2], 3)]))], 0)
    before = sorted((p.name, p.read_bytes()) for p in (tmp_path / "out").iterdir())
    sink.commit([sink.write(iter([result([1, 2], 3)]))], 0)
    assert sorted((p.name, p.read_bytes()) for p in (tmp_path / "out").iterdir()) == before


def test_an_aborted_batch_leaves_nothing_behind(tmp_path):
    sink = writer(tmp_path)
    sink.abort([sink.write(iter([result([1], 2)])), None], 0)
    assert [p.name for p in (tmp_path / "out").iterdir()] == [RESULTS]


def test_names_that_a_crash_published_without_a_commit_are_replaced(tmp_path):
    sink = writer(tmp_path)
    sink.commit([sink.write(iter([result([1], 2)])), sink.write(iter([result([2], 2)]))], 0)
    (commit,) = commits(tmp_path / "out")
    commit.path(tmp_path / "out").unlink()
    sink.commit([sink.write(iter([result([1, 2], 2)]))], 0)
    visible = [p.name for p in (tmp_path / "out").iterdir() if not p.name.startswith("_")]
    assert visible == list(commits(tmp_path / "out")[0].files)
    assert read_changes(tmp_path / "out", "parquet", CHANGES)["k"].to_pylist() == [1, 2]


def test_a_commit_says_what_went_in_and_came_out(tmp_path):
    sink = writer(tmp_path)
    parts = [result([1, 2], 9, rows_in=5, late=1, rejected=2), result([3], 9)]
    sink.commit([sink.write(iter([p])) for p in parts], 4)
    (commit,) = commits(tmp_path / "out")
    assert (commit.batch, commit.now, commit.rows_in, commit.rows_out) == (4, 9, 5, 3)
    assert (commit.late, commit.rejected) == (1, 2)


def test_results_of_another_run_give_way_if_they_may_and_other_files_stay(tmp_path):
    sink = writer(tmp_path)
    sink.commit([sink.write(iter([result([1], 2)]))], 0)
    (tmp_path / "out" / "notes.txt").write_text("mine")
    with pytest.raises(StateError, match=r"those of query q, of another run; .*--overwrite"):
        writer(tmp_path, run="r2")
    assert read_changes(tmp_path / "out", "parquet", CHANGES)["k"].to_pylist() == [1]
    again = writer(tmp_path, run="r2", overwrite=True)
    assert {p.name for p in (tmp_path / "out").iterdir()} == {"notes.txt", RESULTS}
    again.commit([again.write(iter([result([7], 8)]))], 0)
    assert read_changes(tmp_path / "out", "parquet", CHANGES)["k"].to_pylist() == [7]
