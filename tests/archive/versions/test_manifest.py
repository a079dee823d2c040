"""A version as JSON: quick to write and to read again, whoever reads it."""

from __future__ import annotations

import json
import shutil

import pyarrow as pa
import pytest

from windrow.archive.format.disk import Disk
from windrow.archive.lifetimes.lifetime_index import LifetimeIndex
from windrow.archive.lifetimes.partition_grid import Grid
from windrow.archive.versions.manifest import Manifest
from windrow.archive.versions.versions import version_file

SCHEMA = pa.schema([("k", pa.int64())])


def filled(path, key: int) -> LifetimeIndex:
    index = LifetimeIndex.create(Disk(path), SCHEMA, "k", longest=400, interval=1, grid=Grid(2, 2))
    for now in (1, 2):
        table = pa.table({"k": [key] * 300}, schema=SCHEMA)
        index.insert(now, table, pa.array([now + life for life in range(1, 301)]))
    return index


def newest(index: LifetimeIndex) -> bytes:
    return index.disk.read(version_file(index.stat().version))


def test_a_manifest_has_a_line_for_each_run_however_many_periods_its_records_expire_in(tmp_path):
    index = filled(tmp_path, 7)
    text = newest(index)
    lines = [json.loads(line.rstrip(b",")) for line in text.split(b"\n") if line[:6] == b'{"name']
    assert lines == json.loads(text)["runs"]
    assert len(lines) == 4
    assert text.count(b"\n") < 20
    assert Manifest.from_json(text, "").to_json() == text


@pytest.fixture
def taken_apart(monkeypatch):
    """How many manifests were taken apart."""
    found, plain = [], Manifest.from_json.__func__

    def counting(cls, text, where):
        found.append(where)
        return plain(cls, text, where)

    monkeypatch.setattr(Manifest, "from_json", classmethod(counting))
    return found


def test_readers_of_one_version_take_its_manifest_apart_once(tmp_path, taken_apart):
    index = filled(tmp_path, 7)
    taken_apart.clear()
    for _ in range(5):
        with index.reader() as reader:
            assert reader.probe(7).num_rows == 599
    assert len(taken_apart) == 1
    other = LifetimeIndex.open(Disk(tmp_path))
    other.advance(3)
    with index.reader() as reader:
        assert reader.probe(7).num_rows == 597


def test_an_archive_that_was_made_anew_under_the_same_path_is_not_taken_for_the_old_one(tmp_path):
    index = filled(tmp_path / "a", 7)
    with index.reader() as reader:
        assert reader.probe(8).num_rows == 0
    filled(tmp_path / "b", 8)
    shutil.rmtree(tmp_path / "a")
    (tmp_path / "b").rename(tmp_path / "a")
    with index.reader() as reader:
        assert reader.probe(8).num_rows == 599
