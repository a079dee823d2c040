"""Files of state: every version is read as it was written, and what no version needs goes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.core.errors import StateError
from windrow.operators.base import Saved
from windrow.spark.checkpoint.state import sweep
from windrow.spark.stage.state_files import RETAINED, BucketFiles, Contents, StateCommits, Version


def rows(first: int, count: int = 3) -> pa.RecordBatch:
    texts = pa.array([f"v{first + i}" for i in range(count)])
    return pa.record_batch({"k": np.arange(first, first + count), "s": texts})


class Bucket:
    """A bucket as tasks write it, and what it should hold after each micro-batch."""

    def __init__(self, path) -> None:
        self.files, self.commits = BucketFiles(path, 0, 7), StateCommits(path)
        self.contents, self.batch = Contents(), 0
        self.held: dict[str, pa.RecordBatch] = {}
        self.versions: list[dict[str, pa.RecordBatch]] = []

    def save(self, put: dict[str, pa.RecordBatch], drop: list[str]) -> str:
        saved = Saved(put, drop, {"now": self.batch})
        name, self.contents = self.files.write(self.batch, self.contents, saved)
        self.held = {n: b for n, b in self.held.items() if n not in drop} | put
        self.versions.append(self.held)
        self.commit({self.files.key: name})
        self.batch += 1
        return name

    def commit(self, written: dict[str, str]) -> None:
        before = self.commits.before(self.batch)
        self.commits.publish(self.batch, before.after(self.batch, written, [3]))

    def load(self, batch: int) -> tuple[dict[str, pa.RecordBatch], dict[str, object]]:
        contents = self.files.read(self.commits.read(batch).files[self.files.key])
        return self.files.segments(contents), contents.meta


steps = st.lists(
    st.tuples(st.lists(st.integers(0, 6), max_size=3), st.lists(st.integers(0, 6), max_size=3)),
    max_size=2 * RETAINED,
)


@given(steps)
def test_every_version_that_is_kept_is_as_it_was_written(tmp_path_factory, changes):
    bucket = Bucket(tmp_path_factory.mktemp("state"))
    for number, (put, drop) in enumerate(changes):
        gone = [f"r{n}" for n in drop if f"r{n}" in bucket.held and n not in put]
        bucket.save({f"r{n}": rows(100 * number + n) for n in put}, gone)
    for batch in range(max(bucket.batch - RETAINED - 1, 0), bucket.batch):
        assert bucket.load(batch) == (bucket.versions[batch], {"now": batch})


def test_files_that_no_version_needs_are_removed_and_those_that_live_stay(tmp_path):
    bucket = Bucket(tmp_path)
    first = bucket.save({"for ever": rows(0)}, [])
    for number in range(5 * RETAINED):
        bucket.save({f"r{number}": rows(number)}, [f"r{number - 3}"] if number > 2 else [])
    left = sorted(path.name for path in bucket.files.directory.iterdir())
    assert first in left
    assert len(left) <= RETAINED + 8
    assert len(bucket.commits.numbers()) <= RETAINED + 2
    assert bucket.load(bucket.batch - 1)[0]["for ever"] == rows(0)


@pytest.mark.parametrize("reloaded", [False, True])
def test_files_without_segments_are_removed_too_wherever_the_bucket_was_in_between(
    tmp_path, reloaded
):
    bucket = Bucket(tmp_path)
    bucket.save({"for ever": rows(0)}, [])
    for _ in range(5 * RETAINED):
        name = bucket.save({}, [])
        if reloaded:  # as in a worker that does not have it in memory
            bucket.contents = bucket.files.read(name)
    assert len(list(bucket.files.directory.iterdir())) <= RETAINED + 4


def test_the_file_of_a_bucket_that_gets_something_after_a_long_time_stays_until_it_is_over(
    tmp_path,
):
    bucket = Bucket(tmp_path)
    name = bucket.save({}, [])
    for _ in range(2 * RETAINED):
        bucket.commit({})
        bucket.batch += 1
    written = Saved({"a": rows(0)}, [], {"now": bucket.batch})
    bucket.files.write(bucket.batch, bucket.contents, written)
    bucket.contents = bucket.files.read(name)  # the attempt died, and the micro-batch is repeated
    bucket.save({"a": rows(0)}, [])
    assert bucket.files.read(name).meta == {"now": 0}, "to be gone back to"
    for _ in range(2 * RETAINED):
        bucket.save({}, [])
    assert not (bucket.files.directory / name).exists()


def test_what_an_attempt_that_does_not_count_has_written_is_nobodys(tmp_path):
    bucket = Bucket(tmp_path)
    bucket.save({"a": rows(0)}, [])
    lost, _ = bucket.files.write(1, bucket.contents, Saved({"b": rows(5)}, ["a"], {"now": 1}))
    bucket.save({"c": rows(9)}, [])
    assert bucket.load(1)[0] == {"a": rows(0), "c": rows(9)}
    before = {path.name for path in bucket.files.directory.iterdir()}
    sweep(tmp_path)
    assert before - {path.name for path in bucket.files.directory.iterdir()} == {lost}
    assert bucket.load(1)[0] == {"a": rows(0), "c": rows(9)}
    assert bucket.load(0)[0] == {"a": rows(0)}


def test_every_bit_that_is_not_as_it_was_written_is_noticed(tmp_path):
    bucket = Bucket(tmp_path)
    name = bucket.save({"a": rows(0, 20), "b": rows(50)}, [])
    path = bucket.files.directory / name
    whole = path.read_bytes()
    padding = 0
    for at in range(len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 16]) + whole[at + 1 :])
        try:
            found = bucket.load(0)
        except StateError:
            continue
        padding += 1
        assert found == (bucket.versions[0], {"now": 0})
    assert padding < 128, "only what lies between segments may differ"
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(StateError, match="the checkpoint is damaged"):
        bucket.load(0)
    path.unlink()
    with pytest.raises(StateError, match="it is missing; `windrow checkpoint check`"):
        bucket.load(0)


def test_state_that_should_be_there_and_is_not_is_no_fresh_start(tmp_path):
    bucket = Bucket(tmp_path)
    bucket.save({"a": rows(0)}, [])
    assert bucket.commits.before(1) == bucket.commits.read(0)
    assert bucket.commits.before(0) == Version()
    with pytest.raises(StateError, match="expected the state after micro-batch 4; found no such"):
        bucket.commits.before(5)


def test_a_bucket_that_gets_nothing_keeps_the_state_that_it_has(tmp_path):
    bucket = Bucket(tmp_path)
    name = bucket.save({"a": rows(0)}, [])
    bucket.commit({"0.9": "other"})
    assert bucket.commits.read(1) == Version({"0.7": name, "0.9": "other"}, {3: (1, 2)})


def test_segments_can_be_read_as_arrow_by_others(tmp_path):
    bucket = Bucket(tmp_path)
    bucket.save({"a": rows(0)}, [])
    place = bucket.contents.segments["a"]
    with pa.memory_map(str(bucket.files.directory / place.file)) as source:
        source.seek(place.start)
        assert pa.ipc.open_stream(source).read_all() == pa.Table.from_batches([rows(0)])
