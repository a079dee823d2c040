"""Micro-batches of several queries that are published together: each is there whole or not."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest

import windrow
from tests.result_files.disk import Crash, FailingDisk, StoppingDisk
from tests.result_files.written import SCHEMA, filled, identity, micro_batch, place, publish
from windrow.result_files import publication
from windrow.result_files.commits import Commit
from windrow.result_files.directory_lock import Lock
from windrow.result_files.ownership import prepare
from windrow.result_files.publication import Place, Publication, publish_together
from windrow.result_files.sinks import FileSink

NAMES = ("a", "b", "c")


def places(directory: Path) -> list[Place]:
    return [filled(place(directory / name), 3) for name in NAMES]


def next_batch(where: Place, number: int = 3) -> Publication:
    """One that has a hidden file, and the rest of its changes with it."""
    parts = [
        pa.Table.from_arrays(list(map(list, zip(*part, strict=True))), schema=SCHEMA)
        for part in micro_batch(number)
    ]
    commit = Commit(number, where.run, (), 10 * number + 9, 7, sum(map(len, parts)), 1, 2)
    return Publication(where, [where.hide(part) for part in parts[:-1]], commit, parts[-1])


def changes(directory: Path) -> list[pa.Table]:
    return [windrow.results(directory / name).changes() for name in NAMES]


def test_wherever_it_stops_each_has_the_micro_batch_or_has_it_not_and_a_repetition_adds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = filled(place(tmp_path / "alone"), 3)
    before = windrow.results(alone.directory).changes()
    publish(alone, 3, micro_batch(3))
    after = windrow.results(alone.directory).changes()
    at, mixed = 0, False
    while True:
        here = tmp_path / f"at{at}"
        together = [next_batch(where) for where in places(here)]
        with monkeypatch.context() as patch:
            disk = StoppingDisk(patch, at, seed=at)
            try:
                publish_together(together)
            except Crash:
                stopped = True
            else:
                stopped = False
        found = changes(here)
        assert all(one in (before, after) for one in found), disk.log
        mixed |= found not in ([before] * 3, [after] * 3)
        for name in NAMES:
            prepare(here / name, identity())
        assert changes(here) == found, disk.log
        publish_together([next_batch(Place(here / n, "parquet", "r", 10**9)) for n in NAMES])
        assert changes(here) == [after] * 3, disk.log
        if not stopped:
            break
        at += 1
    assert at >= 18
    assert mixed, "some stop between the first and the last commit"


def test_everything_is_written_before_anybody_waits_for_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = [next_batch(where) for where in places(tmp_path)]
    disk = StoppingDisk(monkeypatch, None)
    publish_together(together)
    done = [name for name, _ in disk.log]
    changes_and_commits = 2 * len(NAMES)
    assert done[: 2 * changes_and_commits] == [
        *["write"] * changes_and_commits, *["sync"] * changes_and_commits,
    ]  # fmt: skip


def test_side_by_side_and_a_few_at_a_time_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publication, "TOGETHER", 2)
    with ThreadPoolExecutor(2) as hands:
        publish_together([next_batch(where) for where in places(tmp_path)], hands.map)
        publish_together(
            [next_batch(Place(tmp_path / n, "parquet", "r", 10**9)) for n in NAMES],
            hands.map,
            hands.map,
        )
    expected = filled(place(tmp_path / "alone"), 4)
    assert changes(tmp_path) == [windrow.results(expected.directory).changes()] * 3
    left = [p.name for p in tmp_path.rglob(".*") if p.is_file() and "windrow" not in p.name]
    assert left == []


def test_what_fails_for_one_is_reported_and_the_others_can_be_repeated(tmp_path: Path) -> None:
    together = [next_batch(where) for where in places(tmp_path)]
    (tmp_path / "b" / "_results.json").unlink()
    with pytest.raises(windrow.WindrowError, match="the results of this run"):
        publish_together(together)
    assert not list(tmp_path.rglob("_commit-00000003.json")), "no step is done before the last"


@pytest.mark.parametrize("failure", [OSError("no space left"), KeyboardInterrupt()])
def test_a_sink_that_fails_anywhere_publishes_each_change_once_when_it_goes_on(
    failure: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at, failed = 0, True
    while failed:
        sink = FileSink(Lock(tmp_path / f"at{at}", "INTO"), identity())
        sink.prepare()
        failed = False
        for instant in range(4):
            rows = pa.record_batch([[instant], ["+"], [f"v{instant}"]], schema=SCHEMA)
            sink.write(rows, instant, instant)
            with monkeypatch.context() as patch:
                FailingDisk(patch, at if instant == 1 else None, failure)
                try:
                    sink.flush(instant, instant)
                except (windrow.WindrowError, KeyboardInterrupt):
                    failed = True
        sink.close()
        found = windrow.results(tmp_path / f"at{at}").changes()
        assert found["k"].to_pylist() == ["v0", "v1", "v2", "v3"], f"after operation {at}"
        at += 1
    assert at > 6
