"""Large files of an archive in an object store are fetched in parts, as they are needed."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tests.archive.support.plain import SCHEMA, bag
from windrow.archive.archive import Archive
from windrow.archive.errors import DamagedError
from windrow.archive.format import bucket_disk
from windrow.archive.format.bucket_disk import BucketDisk
from windrow.archive.versions.pinned_reader import Range
from windrow.object_store import local_copies
from windrow.object_store.bucket import Bucket
from windrow.object_store.local_copies import FileCache

ROWS, KEYS, CHUNK = 150_000, 5_000, 16 << 10
FORMS = ["arrow", "parquet"]


@pytest.fixture(autouse=True)
def always_in_parts(monkeypatch):
    monkeypatch.setattr(bucket_disk.WHOLE, "value", 0)
    monkeypatch.setattr(local_copies.CHUNK, "value", CHUNK)


@pytest.fixture
def fetched(monkeypatch) -> list[int]:
    """How many bytes of objects were asked for, each time."""
    sizes: list[int] = []
    whole = Bucket.pieces

    def counted(self, key, stored, first=0, last=None):
        sizes.append((stored.size if last is None else last) - first)
        return whole(self, key, stored, first, last)

    monkeypatch.setattr(Bucket, "pieces", counted)
    return sizes


def data() -> pa.Table:
    numbers = np.random.default_rng(1).permutation(ROWS)
    keys = [f"key {number % KEYS:06d}" for number in numbers.tolist()]
    return pa.table([keys, numbers], schema=SCHEMA)


def filled(url: str, form: str, tmp_path: Path) -> int:
    """The size of the entries of an archive that was filled from another machine."""
    disk = BucketDisk(url, cache=FileCache(tmp_path / "elsewhere"))
    archive = Archive.create(disk, SCHEMA, "key", window=3, scheme="DEL", n=1, format=form)
    archive.append(1, data(), now=1)
    sizes = {name: stored.size for name, stored in disk.bucket.list_folder("runs").items()}
    return next(size for name, size in sizes.items() if name.endswith(f".{form}"))


def expected(number: int) -> list[tuple[str, int]]:
    found = ((f"key {number:06d}", value) for value in range(number, ROWS, KEYS))
    return sorted(found, key=repr)


@pytest.mark.parametrize("form", FORMS)
def test_a_probe_fetches_little_and_a_scan_the_rest(form, url, tmp_path, fetched):
    size = filled(url, form, tmp_path)
    assert size > 4 * CHUNK
    fetched.clear()
    archive = Archive.open(url)
    with archive.reader() as reader:
        assert bag(reader.probe("key 000777")) == expected(777)
        before = sum(fetched)
        assert bag(reader.probe("key 000777")) == expected(777)
        assert sum(fetched) == before
        assert reader.probe("no such key").num_rows == 0
        many = reader.probe(Range("key 001000", "key 001009"))
        assert bag(many) == [row for n in range(1000, 1010) for row in expected(n)]
        assert reader.scan().num_rows == ROWS
        assert sorted(reader.scan()["value"].to_pylist()) == list(range(ROWS))
    entries = max(fetched)
    assert before < sum(fetched)
    assert len(fetched) < 40, "larger pieces when parts follow each other"
    assert entries > CHUNK
    if form == "arrow":
        assert before < size
    del reader
    fetched.clear()
    with Archive.open(url).reader() as again:  # all parts are here: they have become a copy
        assert bag(again.probe("key 000042")) == expected(42)
    assert fetched == []
    parts = [path for path in (tmp_path / "cache").iterdir() if path.name.startswith(".part")]
    assert parts == []


@pytest.mark.parametrize("form", FORMS)
def test_damage_in_a_part_is_noticed_by_whoever_reads_it(form, url, tmp_path):
    filled(url, form, tmp_path)
    bucket = Bucket(url)
    name = next(name for name in bucket.list_folder("runs") if name.endswith(f".{form}"))
    whole = bytearray(bucket.get(f"runs/{name}"))
    for place in range(CHUNK // 2, len(whole) - CHUNK, CHUNK):
        whole[place] ^= 1
    bucket.put(f"runs/{name}", bytes(whole))
    with Archive.open(url).reader() as reader, pytest.raises(DamagedError, match="wrong checksum"):
        reader.scan()
    assert [problem.where for problem in Archive.open(url).verify()] == [f"runs/{name}"]


@pytest.mark.parametrize("form", FORMS)
def test_what_is_merged_is_compared_as_a_whole_though_parts_were_read(form, url, tmp_path):
    filled(url, form, tmp_path)
    archive = Archive.open(url)
    with archive.reader() as reader:
        assert bag(reader.probe("key 000001")) == expected(1)
        archive.append(2, pa.table({"key": ["new"], "value": [1]}, SCHEMA), now=2)
        assert bag(reader.probe("key 000002")) == expected(2)
    with archive.reader() as reader:
        assert reader.scan().num_rows == ROWS + 1
        assert bag(reader.probe("key 000003")) == expected(3)
    assert archive.verify() == []


def test_threads_that_share_a_file_find_all_of_it(url, tmp_path):
    filled(url, "arrow", tmp_path)
    archive, wrong = Archive.open(url), []
    with archive.reader() as shared:

        def look(me: int) -> None:
            wrong.extend(
                number
                for number in range(me, KEYS, 97)
                if bag(shared.probe(f"key {number:06d}")) != expected(number)
            )

        threads = [threading.Thread(target=look, args=(me,)) for me in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert wrong == []


def test_a_file_that_vanishes_between_its_parts_is_told(url, tmp_path):
    filled(url, "arrow", tmp_path)
    bucket = Bucket(url)
    with Archive.open(url).reader() as reader:
        assert bag(reader.probe("key 000001")) == expected(1)
        for name in bucket.list_folder("runs"):
            bucket.delete(f"runs/{name}")
        with pytest.raises(DamagedError, match="expected an object that the manifest names"):
            reader.scan()
