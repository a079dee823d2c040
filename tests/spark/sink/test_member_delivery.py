"""The delivery of a group publishes a micro-batch once for each query, wherever it is cut short."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from windrow.columns.delta import Delta
from windrow.core.schema import Field, Schema, Type
from windrow.core.time import Clock
from windrow.plan.nodes.routed import MEMBER
from windrow.result_files.change_table import read_changes
from windrow.result_files.commits import commits
from windrow.result_files.identity import Identity, changes_schema
from windrow.result_files.ownership import prepare
from windrow.result_files.publication import Publication
from windrow.spark.sink.file_delivery import MemberDelivery
from windrow.spark.stage.level_task import TaskReport
from windrow.spark.stage.stage_task import Report

ROW = Schema((Field(MEMBER, Type.BIGINT), Field("k", Type.BIGINT)))
CHANGES = changes_schema(ROW, Clock.INTEGER)
OWN = pa.schema([f for f in CHANGES if f.name != MEMBER])


def report(into: MemberDelivery, rows: list[tuple[int, int]], now: int, **counts: int) -> Report:
    """``rows``: the number of a query and an instant."""
    ts = np.array([t for _, t in rows], np.int64)
    values = pa.record_batch({MEMBER: pa.array([m for m, _ in rows], pa.int64()), "k": ts})
    hidden = into.hide([Delta.insertions(ts, values)])
    into.sync(hidden)
    told = TaskReport(jobs={7: Report(now, counts, hidden)})
    return TaskReport.unpack(told.pack()).jobs[7]


@pytest.fixture(params=[0, 1 << 20], ids=["hidden", "told"])
def room(request) -> int:
    """Bytes of changes that a task tells."""
    return request.param


def delivery(tmp_path: Path, room: int = 0, run: str = "r1") -> MemberDelivery:
    """Queries 0 and 1 have directories, 2 is kept with the group, 3 has left."""
    own = {0: (str(tmp_path / "q0"), "parquet"), 1: (str(tmp_path / "q1"), "csv")}
    for name in ("q0", "q1", "group"):
        (tmp_path / name).mkdir(exist_ok=True)
        format_, schema = (
            ("csv" if name == "q1" else "parquet"),
            CHANGES if name == "group" else OWN,
        )
        prepare(tmp_path / name, Identity(run, name, format_, schema))
    place = str(tmp_path / "group")
    kept = frozenset({2})
    return MemberDelivery(place, "parquet", run, ROW, Clock.INTEGER, room=room, own=own, kept=kept)


def found(tmp_path: Path) -> list[list[int]]:
    tables = [
        read_changes(tmp_path / "q0", "parquet", OWN),
        read_changes(tmp_path / "q1", "csv", OWN),
        read_changes(tmp_path / "group", "parquet", CHANGES),
    ]
    return [t["k"].to_pylist() for t in tables]


def hidden(tmp_path: Path) -> list[Path]:
    return [p for p in tmp_path.rglob(".*") if p.is_file()]


BATCH = [(1, 5), (0, 4), (2, 6), (0, 2), (3, 1), (1, 3)]


def test_each_query_gets_its_own_changes_in_order_and_one_that_has_left_gets_none(tmp_path, room):
    into = delivery(tmp_path, room)
    nothing = Report(None, {}, {"file": None, "rows": 0, "own": []})
    parts = [report(into, BATCH[:3], 9, rows_in=4), nothing, report(into, BATCH[3:], 9)]
    into.publish(0, parts)
    assert found(tmp_path) == [[2, 4], [3, 5], [6]]
    (whole,) = commits(tmp_path / "group")
    (own,) = commits(tmp_path / "q0")
    assert (whole.rows_in, whole.rows_out, whole.now) == (4, 5, 9)
    assert (own.rows_in, own.rows_out, own.now) == (4, 2, 9)
    assert not hidden(tmp_path)


def test_a_query_without_changes_has_no_commit_but_the_group_has(tmp_path, room):
    into = delivery(tmp_path, room)
    into.publish(0, [report(into, [(0, 1)], 2)])
    into.publish(1, [report(into, [], 3)])
    assert [c.batch for c in commits(tmp_path / "q0")] == [0]
    assert commits(tmp_path / "q1") == []
    assert [(c.batch, c.now) for c in commits(tmp_path / "group")] == [(0, 2), (1, 3)]


@pytest.mark.parametrize("reached", range(4))
def test_a_repetition_publishes_for_those_that_were_not_reached(
    tmp_path, monkeypatch, reached, room
):
    into = delivery(tmp_path, room)
    count, name_commit = 0, Publication.name_commit

    def until(self):
        nonlocal count
        if count == reached:
            raise OSError("the driver died")
        count += 1
        name_commit(self)

    with monkeypatch.context() as context:
        context.setattr(Publication, "name_commit", until)
        part = report(into, BATCH, 9)
        if reached < 3:
            with pytest.raises(OSError, match="the driver died"):
                into.publish(0, [part])
        else:
            into.publish(0, [part])
    assert [len(commits(tmp_path / name)) for name in ("q0", "q1", "group")].count(1) == reached
    assert reached == 3 or not commits(tmp_path / "group"), "it comes last"
    before = {p: p.read_bytes() for p in tmp_path.rglob("_commit-*")}
    into.publish(0, [report(into, BATCH, 9)])
    assert found(tmp_path) == [[2, 4], [3, 5], [6]]
    assert {p: p.read_bytes() for p in before} == before
