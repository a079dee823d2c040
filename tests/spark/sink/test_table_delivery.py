"""Jobs that share a table deliver into it together: a micro-batch is one file and one commit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import windrow
from tests.result_files.disk import Crash, StoppingDisk
from windrow.columns.delta import Delta
from windrow.core.schema import Field, Schema, Type
from windrow.core.time import Clock
from windrow.plan.nodes.routed import MEMBER
from windrow.result_files.commits import commits
from windrow.result_files.identity import QUERY, Identity, changes_schema
from windrow.result_files.ownership import prepare
from windrow.result_files.publication import publish_together
from windrow.spark.sink.file_delivery import FileDelivery, MemberDelivery, TablePart, merge
from windrow.spark.stage.level_task import TaskReport
from windrow.spark.stage.stage_task import Report

ROW = Schema((Field("k", Type.BIGINT),))
NUMBERED = Schema((Field(MEMBER, Type.BIGINT), *ROW))
NAMED = Schema((Field(QUERY, Type.STRING), *ROW))
CHANGES = changes_schema(NAMED, Clock.INTEGER)


@pytest.fixture(params=[0, 1 << 20], ids=["hidden", "told"])
def room(request) -> int:
    """Bytes of changes that a task tells."""
    return request.param


def places(tmp_path: Path) -> None:
    for name, schema in (("table", CHANGES), ("group", changes_schema(NUMBERED, Clock.INTEGER))):
        (tmp_path / name).mkdir(parents=True, exist_ok=True)
        identity = Identity("r", name, "parquet", schema, table=name == "table")
        prepare(tmp_path / name, identity)


def alone(tmp_path: Path, room: int) -> FileDelivery:
    place = str(tmp_path / "table")
    return FileDelivery(place, "parquet", "r", ROW, Clock.INTEGER, room=room, query="alone")


def group(tmp_path: Path, room: int) -> MemberDelivery:
    """Queries 1 and 3 write into the table, query 2 has left."""
    part = TablePart(str(tmp_path / "table"), "parquet", "r", {1: "one", 3: "three"}, CHANGES)
    place = str(tmp_path / "group")
    return MemberDelivery(place, "parquet", "r", NUMBERED, Clock.INTEGER, room=room, tables=(part,))


def report(into: FileDelivery, rows: list[tuple[int, ...]], rows_in: int = 5) -> Report:
    """``rows`` are instants, after the number of a query if there are several."""
    columns = list(zip(*rows, strict=True)) or [[]] * len(into.schema)
    names = [field.name for field in into.schema]
    batch = pa.record_batch(
        {name: pa.array(column, pa.int64()) for name, column in zip(names, columns, strict=True)}
    )
    ts = np.array(columns[-1], np.int64)
    hidden = into.hide([Delta.insertions(ts, batch)])
    into.sync(hidden)
    told = TaskReport(jobs={4: Report(9, {"rows_in": rows_in}, hidden)})
    return TaskReport.unpack(told.pack()).jobs[4]


def publish(tmp_path: Path, batch: int, room: int) -> None:
    """A micro-batch of two jobs with two tasks each."""
    single, many = alone(tmp_path, room), group(tmp_path, room)
    first = [report(single, [(4,), (6,)]), report(single, [])]
    second = [report(many, [(1, 5), (2, 8), (3, 3)]), report(many, [(3, 7)], rows_in=1)]
    jobs = [single.publications(batch, first), many.publications(batch, second)]
    tables, (last,) = [p for job in jobs for p in job[0]], jobs[1][1:]
    publish_together(merge(tables))
    publish_together(last)


def rows(tmp_path: Path) -> list[tuple[str, int]]:
    found = windrow.results(tmp_path / "table").changes().to_pylist()
    return [(row["query"], row["k"]) for row in found]


EXPECTED = [("three", 3), ("alone", 4), ("one", 5), ("alone", 6), ("three", 7)]


def test_a_micro_batch_of_a_table_is_one_commit_of_all_jobs(tmp_path, room):
    places(tmp_path)
    publish(tmp_path, 0, room)
    assert rows(tmp_path) == EXPECTED
    (commit,) = commits(tmp_path / "table")
    assert (commit.rows_in, commit.rows_out, commit.now) == (10, 5, 9)
    assert len(commit.files) == (1 if room else 3)
    assert [c.rows_out for c in commits(tmp_path / "group")] == [3]


def test_a_micro_batch_without_changes_has_a_commit_that_says_how_far_time_has_come(tmp_path):
    places(tmp_path)
    many = group(tmp_path, 0)
    for together in many.publications(0, [report(many, [])]):
        publish_together(merge(together))
    (commit,) = commits(tmp_path / "table")
    assert (commit.files, commit.now, commit.rows_out) == ((), 9, 0)


def test_stopped_after_any_operation_a_repetition_makes_it_whole(tmp_path, room, monkeypatch):
    at = 0
    while True:
        here = tmp_path / str(at)
        places(here)
        publish(here, 0, room)
        with monkeypatch.context() as patch:
            disk = StoppingDisk(patch, at, seed=at)
            try:
                publish(here, 1, room)
            except Crash:
                stopped = True
            else:
                stopped = False
        assert rows(here) in (EXPECTED, EXPECTED * 2), disk.log
        places(here)
        publish(here, 1, room)
        assert rows(here) == EXPECTED * 2, disk.log
        if not stopped:
            break
        at += 1
    assert at > 6
