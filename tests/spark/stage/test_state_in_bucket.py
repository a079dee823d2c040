"""Files of state in an object store: as on a disk, and read where no copy of them is."""

from __future__ import annotations

import pytest

from tests.spark.stage.test_state_files import Bucket, rows
from tests.support.bucket_fixtures import running_server, server, url
from windrow.core.errors import StateError
from windrow.object_store.object_path import path_of
from windrow.operators.base import Saved
from windrow.result_files.atomic_files import ReplacedError
from windrow.spark.checkpoint.state import sweep
from windrow.spark.stage import state_files
from windrow.spark.stage.state_files import RETAINED, BucketFiles, StateCommits, Version

__all__ = ["running_server", "server", "url"]


@pytest.fixture
def state(url):
    return path_of(f"{url}/state")


def filled(state, batches: int) -> Bucket:
    """Three segments live; each micro-batch replaces the oldest."""
    bucket = Bucket(state)
    for number in range(batches):
        gone = [f"r{number - 3}"] if number >= 3 else []
        bucket.save({f"r{number}": rows(100 * number, 50)}, gone)
    return bucket


@pytest.mark.parametrize("whole", [0, 1 << 20])
def test_versions_are_read_where_no_copy_is_whole_or_in_parts(state, whole, monkeypatch, tmp_path):
    monkeypatch.setattr(state_files.WHOLE, "value", whole)
    bucket = filled(state, 5)
    for cache in ("cache", "elsewhere"):
        monkeypatch.setenv("WINDROW_CACHE_DIR", str(tmp_path / cache))
        for batch, held in enumerate(bucket.versions):
            segments, meta = bucket.load(batch)
            assert meta == {"now": batch}
            assert {n: s.to_pylist() for n, s in segments.items()} == {
                n: s.to_pylist() for n, s in held.items()
            }


def test_what_was_written_here_is_not_asked_for(state, server):
    bucket = filled(state, 3)
    server.requests.clear()
    bucket.files.segments(bucket.contents)
    assert server.requests == []


def test_files_and_copies_go_when_nobody_can_go_back_to_them(state, tmp_path):
    filled(state, RETAINED + 20)
    objects = list(state.glob("0.7/*"))
    copies = [p for p in (tmp_path / "cache" / "named").glob("*/*") if p.suffix == ".state"]
    assert {p.name for p in copies} == {p.name for p in objects}
    assert len(objects) <= RETAINED + 6
    assert len(StateCommits(state).numbers()) == RETAINED + 2


def test_a_sweep_removes_what_no_version_names_but_what_may_yet_be_committed(state):
    bucket = filled(state, 3)
    needed = {path.name for path in state.glob("0.7/*")}
    files = BucketFiles(state, 0, 7)
    old, _ = files.write(2, bucket.contents, Saved({"x": rows(1)}))
    begun, _ = files.write(3, bucket.contents, Saved({"x": rows(1)}))
    sweep(state)
    assert {path.name for path in state.glob("0.7/*")} == {*needed, begun}
    assert old != begun


def test_a_damaged_copy_is_replaced_and_a_damaged_object_is_an_error(state, tmp_path):
    bucket = filled(state, 1)
    (path,) = state.glob("0.7/*")
    (copy,) = (tmp_path / "cache").glob(f"named/*/{path.name}")
    whole = copy.read_bytes()
    for damaged in (whole[:-30], whole.replace(b"v1", b"v2")):
        copy.write_bytes(damaged)
        segments, meta = bucket.load(0)
        assert meta == {"now": 0}
        assert segments["r0"].equals(rows(0, 50))
    path.bucket.put(path.key, whole.replace(b"v1", b"v2"))
    bucket.files.forget_copies()
    with pytest.raises(StateError, match="segment r0 differs from its checksum"):
        bucket.load(0)
    path.unlink()
    bucket.files.forget_copies()
    with pytest.raises(StateError, match="it is missing"):
        bucket.load(0)


def test_of_two_runs_that_end_a_micro_batch_one_is_told(state):
    first, second = StateCommits(state), StateCommits(state)
    first.publish(0, Version({"0.0": "mine"}))
    first.publish(0, Version({"0.0": "mine, again"}))
    with pytest.raises(ReplacedError, match="another process has put there"):
        second.publish(0, Version({"0.0": "of one that was suspended"}))
    assert first.read(0).files == {"0.0": "mine, again"}
