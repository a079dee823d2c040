"""Tasks hide changes in files or tell them, the driver publishes: once, in order, nothing else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from windrow.columns.delta import Delta
from windrow.core.errors import StateError
from windrow.core.schema import Field, Schema, Type
from windrow.core.time import Clock
from windrow.result_files.change_table import read_changes
from windrow.result_files.commits import commits
from windrow.result_files.identity import RESULTS, Identity, changes_schema
from windrow.result_files.ownership import prepare
from windrow.spark.sink.file_delivery import FEW, FileDelivery, room_for_changes
from windrow.spark.stage.level_task import TaskReport
from windrow.spark.stage.stage_task import Report

ROW = Schema((Field("k", Type.INT),))
CHANGES = changes_schema(ROW, Clock.INTEGER)


@pytest.fixture(params=[0, 1 << 20], ids=["hidden", "told"])
def room(request) -> int:
    """Bytes of changes that a task tells."""
    return request.param


def answer(instants: list[int]) -> Delta:
    ts = np.array(instants, np.int64)
    return Delta.insertions(ts, pa.record_batch({"k": pa.array(instants, pa.int32())}))


def delivery(
    tmp_path: Path,
    run: str = "r1",
    format_: str = "parquet",
    *,
    overwrite: bool = False,
    room: int = 0,
) -> FileDelivery:
    (tmp_path / "out").mkdir(exist_ok=True)
    prepare(tmp_path / "out", Identity(run, "q", format_, CHANGES), overwrite=overwrite)
    return FileDelivery(str(tmp_path / "out"), format_, run, ROW, Clock.INTEGER, room=room)


def report(into: FileDelivery, instants: list[int], now: int, **counts: int) -> Report:
    """What the driver hears, through Spark."""
    hidden = into.hide([answer(instants)])
    into.sync(hidden)
    told = TaskReport(jobs={7: Report(now, counts, hidden)})
    return TaskReport.unpack(told.pack()).jobs[7]


@pytest.mark.parametrize("format_", ["parquet", "csv", "json"])
def test_published_changes_are_read_back_in_order_of_their_instants(tmp_path, format_, room):
    into = delivery(tmp_path, format_=format_, room=room)
    into.publish(0, [report(into, [3], 4), report(into, [1, 4], 4)])
    into.publish(1, [report(into, [5], 6), report(into, [], 6)])
    found = read_changes(tmp_path / "out", format_, CHANGES)
    assert found.schema == CHANGES
    assert found["instant"].to_pylist() == [1, 3, 4, 5]


def test_changes_that_are_told_are_one_file_and_beside_it_those_of_a_task_that_has_many(tmp_path):
    told, many = delivery(tmp_path, room=1 << 20), delivery(tmp_path)
    told.publish(0, [report(told, [3], 4), report(told, [1], 4), report(many, [2], 4)])
    (commit,) = commits(tmp_path / "out")
    assert (len(commit.files), commit.rows_out) == (2, 3)
    assert read_changes(tmp_path / "out", "parquet", CHANGES)["k"].to_pylist() == [1, 2, 3]


def test_tasks_tell_no_more_than_the_driver_can_hold():
    assert room_for_changes(2, 10) == FEW.value
    assert room_for_changes(200, 1_000) * 200 * 1_000 <= 1 << 26


def test_the_buckets_of_a_task_share_a_file(tmp_path):
    into = delivery(tmp_path)
    hidden = into.hide([answer([5]), answer([]), answer([2])])
    into.publish(0, [Report(6, {}, hidden)])
    assert len(commits(tmp_path / "out")[0].files) == 1
    assert read_changes(tmp_path / "out", "parquet", CHANGES)["k"].to_pylist() == [2, 5]


def test_what_was_hidden_and_not_published_is_not_a_result(tmp_path):
    into = delivery(tmp_path)
    into.hide([answer([1])])
    assert read_changes(tmp_path / "out", "parquet", CHANGES).num_rows == 0
    visible = [p.name for p in (tmp_path / "out").iterdir() if not p.name.startswith(".")]
    assert visible == [RESULTS]
    delivery(tmp_path)
    assert [p.name for p in (tmp_path / "out").iterdir()] == [RESULTS], "the next start removes it"


def test_a_repeated_batch_changes_nothing_and_leaves_nothing_behind(tmp_path, room):
    into = delivery(tmp_path, room=room)
    into.publish(0, [report(into, [1, 2], 3)])
    before = sorted((p.name, p.read_bytes()) for p in (tmp_path / "out").iterdir())
    into.publish(0, [report(into, [1, 2], 3)])
    assert sorted((p.name, p.read_bytes()) for p in (tmp_path / "out").iterdir()) == before


def test_names_that_a_crash_published_without_a_commit_are_replaced(tmp_path, room):
    first, into = delivery(tmp_path), delivery(tmp_path, room=room)
    first.publish(0, [report(first, [1], 2), report(first, [2], 2), report(first, [4], 5)])
    (commit,) = commits(tmp_path / "out")
    assert len(commit.files) == 3
    commit.path(tmp_path / "out").unlink()
    into.publish(0, [report(into, [1, 2], 2)])
    visible = [p.name for p in (tmp_path / "out").iterdir() if not p.name.startswith("_")]
    assert visible == list(commits(tmp_path / "out")[0].files)
    assert read_changes(tmp_path / "out", "parquet", CHANGES)["k"].to_pylist() == [1, 2]


def test_a_commit_says_what_went_in_and_came_out(tmp_path, room):
    into = delivery(tmp_path, room=room)
    first = report(into, [1, 2], 9, rows_in=5, late=1, rejected=2)
    into.publish(4, [first, report(into, [3], 9)])
    (commit,) = commits(tmp_path / "out")
    assert (commit.batch, commit.now, commit.rows_in, commit.rows_out) == (4, 9, 5, 3)
    assert (commit.late, commit.rejected) == (1, 2)


def test_results_of_another_run_give_way_if_they_may_and_other_files_stay(tmp_path):
    into = delivery(tmp_path)
    into.publish(0, [report(into, [1], 2)])
    (tmp_path / "out" / "notes.txt").write_text("mine")
    with pytest.raises(StateError, match=r"those of query q, of another run; .*--overwrite"):
        delivery(tmp_path, run="r2")
    assert read_changes(tmp_path / "out", "parquet", CHANGES)["k"].to_pylist() == [1]
    again = delivery(tmp_path, run="r2", overwrite=True)
    assert {p.name for p in (tmp_path / "out").iterdir()} == {"notes.txt", RESULTS}
    again.publish(0, [report(again, [7], 8)])
    assert read_changes(tmp_path / "out", "parquet", CHANGES)["k"].to_pylist() == [7]
