"""The sink of a group publishes each micro-batch once for each query, wherever it was cut short."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from windrow.plan.nodes.routed import MEMBER
from windrow.result_files.change_table import read_changes
from windrow.result_files.commits import commits
from windrow.result_files.identity import Identity
from windrow.result_files.ownership import prepare
from windrow.result_files.sinks import Place
from windrow.spark.sink.shared_writer import SharedSinkSpec, SharedWriter
from windrow.spark.stage.blobs import pack
from windrow.spark.stage.packing import packed_batch

CHANGES = pa.schema(
    [("instant", pa.int64()), ("change", pa.string()), (MEMBER, pa.int64()), ("k", pa.int64())]
)
OWN = pa.schema([f for f in CHANGES if f.name != MEMBER])


def result(rows: list[tuple[int, int]], now: int, **counts: int) -> pa.RecordBatch:
    """``rows``: the number of a query and an instant."""
    member = pa.array([m for m, _ in rows], pa.int64())
    instants = pa.array([t for _, t in rows], pa.int64())
    arrays = [instants, pa.array(["+"] * len(rows), pa.string()), member, instants]
    changes = pa.RecordBatch.from_arrays(arrays, schema=CHANGES)
    return packed_batch([(-1, 0, pack({"now": now, "counts": counts}, {"changes": changes}))])


def writer(tmp_path: Path, run: str = "r1") -> SharedWriter:
    """Queries 0 and 1 have directories, 2 is kept with the group, 3 has left."""
    own = {0: (str(tmp_path / "q0"), "parquet"), 1: (str(tmp_path / "q1"), "csv")}
    for name in ("q0", "q1", "group"):
        (tmp_path / name).mkdir(exist_ok=True)
        format_, schema = (
            ("csv" if name == "q1" else "parquet"),
            CHANGES if name == "group" else OWN,
        )
        prepare(tmp_path / name, Identity(run, name, format_, schema))
    return SharedWriter(
        SharedSinkSpec(str(tmp_path / "group"), "parquet", run, own=own, kept=frozenset({2}))
    )


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


def test_each_query_gets_its_own_changes_in_order_and_one_that_has_left_gets_none(tmp_path):
    sink = writer(tmp_path)
    parts = [sink.write(iter([result(BATCH[:3], 9, rows_in=4)])), sink.write(iter([])),
             sink.write(iter([result(BATCH[3:], 9)]))]  # fmt: skip
    sink.commit(parts, 0)
    assert found(tmp_path) == [[2, 4], [3, 5], [6]]
    (whole,) = commits(tmp_path / "group")
    (own,) = commits(tmp_path / "q0")
    assert (whole.rows_in, whole.rows_out, whole.now) == (4, 5, 9)
    assert (own.rows_in, own.rows_out, own.now) == (4, 2, 9)
    assert not hidden(tmp_path)


def test_a_query_without_changes_has_no_commit_but_the_group_has(tmp_path):
    sink = writer(tmp_path)
    sink.commit([sink.write(iter([result([(0, 1)], 2)]))], 0)
    sink.commit([sink.write(iter([result([], 3)]))], 1)
    assert [c.batch for c in commits(tmp_path / "q0")] == [0]
    assert commits(tmp_path / "q1") == []
    assert [(c.batch, c.now) for c in commits(tmp_path / "group")] == [(0, 2), (1, 3)]


@pytest.mark.parametrize("reached", range(4))
def test_a_repetition_publishes_for_those_that_were_not_reached(tmp_path, monkeypatch, reached):
    sink = writer(tmp_path)
    count = 0
    publish = Place.publish

    def until(self, *arguments):
        nonlocal count
        if count == reached:
            raise OSError("the driver died")
        count += 1
        publish(self, *arguments)

    with monkeypatch.context() as context:
        context.setattr("windrow.spark.sink.shared_writer.HANDS", 1)
        context.setattr(Place, "publish", until)
        part = sink.write(iter([result(BATCH, 9)]))
        if reached < 3:
            with pytest.raises(OSError, match="the driver died"):
                sink.commit([part], 0)
        else:
            sink.commit([part], 0)
    before = {p: p.read_bytes() for p in tmp_path.rglob("batch-*")}
    sink.commit([sink.write(iter([result(BATCH, 9)]))], 0)
    assert found(tmp_path) == [[2, 4], [3, 5], [6]]
    assert {p: p.read_bytes() for p in before} == before


def test_an_aborted_batch_leaves_nothing_behind(tmp_path):
    sink = writer(tmp_path)
    sink.abort([sink.write(iter([result(BATCH, 9)])), None], 0)
    assert not hidden(tmp_path)
    assert found(tmp_path) == [[], [], []]
