"""Files of an archive in an object store, and their local copies."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tests.archive.support.plain import SCHEMA, bag, table
from windrow.archive.archive import Archive
from windrow.archive.errors import DamagedError, StorageError
from windrow.archive.format.bucket_disk import BucketDisk
from windrow.object_store.bucket import Bucket
from windrow.object_store.local_copies import FileCache


def filled(url: str, form: str = "arrow") -> Archive:
    archive = Archive.create(url, SCHEMA, "key", window=3, scheme="DEL", n=1, format=form)
    archive.append(1, table([("a", 1), ("b", 1)]), now=1)
    return archive


def test_what_was_read_is_not_asked_for_again(url, server):
    archive = filled(url)
    for _ in range(2):  # the writer has it, and so has the next process of this machine
        server.requests.clear()
        with Archive.open(url).reader() as reader:
            assert bag(reader.probe("a")) == [("a", 1)]
        gets = [path for method, path in server.requests if method == "GET" and "/runs/" in path]
        assert gets == []
    archive.disk.cache.directory.rename(f"{archive.disk.cache.directory}.gone")
    with Archive.open(url).reader() as reader:
        assert bag(reader.probe("a")) == [("a", 1)]
    assert [path for method, path in server.requests if method == "GET" and "/runs/" in path]


@pytest.mark.parametrize("form", ["arrow", "parquet"])
def test_verify_finds_a_flipped_bit_in_the_store_though_the_copy_is_sound(form, url):
    archive = filled(url, form)
    assert archive.verify() == []
    bucket = Bucket(url)
    for name in bucket.list_folder("runs"):
        whole = bucket.get(f"runs/{name}")
        flipped = bytearray(whole)
        flipped[len(whole) // 2] ^= 1
        bucket.put(f"runs/{name}", bytes(flipped))
        assert [problem.where for problem in archive.verify()] == [f"runs/{name}"]
        bucket.put(f"runs/{name}", whole)  # as from a copy of the archive
        assert archive.verify() == []
        with Archive.open(url).reader() as reader:
            assert bag(reader.scan()) == [("a", 1), ("b", 1)]


@pytest.mark.parametrize("form", ["arrow", "parquet"])
def test_a_damaged_copy_is_noticed_and_verify_replaces_it(form, url):
    archive = filled(url, form)
    for path in archive.disk.cache.directory.iterdir():
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
    with pytest.raises(DamagedError, match="run `verify`"), Archive.open(url).reader() as reader:
        reader.scan()
    assert archive.verify() == []
    with Archive.open(url).reader() as reader:
        assert bag(reader.scan()) == [("a", 1), ("b", 1)]


def test_an_object_that_is_half_there_or_gone_is_damage(url, server, tmp_path):
    filled(url)
    bucket = Bucket(url)
    for name in bucket.list_folder("runs"):
        whole = bucket.get(f"runs/{name}")
        for broken in (whole[: len(whole) // 2], b""):
            bucket.put(f"runs/{name}", broken)
            with (
                pytest.raises(DamagedError, match=f"{name}: expected the {len(whole)} bytes"),
                Archive.open(url).reader() as reader,
            ):
                reader.scan()
        bucket.delete(f"runs/{name}")
        with (
            pytest.raises(DamagedError, match="expected an object that the manifest names"),
            Archive.open(url).reader() as reader,
        ):
            reader.scan()
        assert [problem.where for problem in Archive.open(url).verify()] == [f"runs/{name}"]
        bucket.put(f"runs/{name}", whole)
    assert Archive.open(url).verify() == []


def test_a_cache_that_holds_next_to_nothing_changes_no_answer(url, tmp_path):
    disk = BucketDisk(url, cache=FileCache(tmp_path / "small", bound=1))
    archive = Archive.create(disk, SCHEMA, "key", window=4, scheme="REINDEX", n=2)
    for day in range(1, 7):
        archive.append(day, table([("a", day), ("b", day)]), now=day)
    with archive.reader() as reader:
        assert bag(reader.scan()) == sorted((k, d) for k in "ab" for d in (3, 4, 5, 6))
    assert archive.verify() == []
    assert len(list((tmp_path / "small").iterdir())) == 1


def test_a_cache_that_cannot_be_written_is_told(url, tmp_path, monkeypatch):
    filled(url)
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("WINDROW_CACHE_DIR", str(tmp_path / "file" / "cache"))
    archive = Archive.open(url)
    with pytest.raises(StorageError, match="file: expected a directory"):
        archive.append(2, table([("a", 2)]), now=2)
    with (
        pytest.raises(StorageError, match="file: expected a directory"),
        archive.reader() as reader,
    ):
        reader.scan()
    assert archive.disk.names("leases") == []


def test_a_store_that_overwrites_is_refused_before_anything_is_put(url, server, monkeypatch):
    monkeypatch.setattr("windrow.object_store.bucket._probed", set())
    server.overwrites = True
    with pytest.raises(StorageError, match="does not overwrite an object when asked not to"):
        Archive.create(url, SCHEMA, "key", window=3, scheme="DEL", n=1)
    assert Bucket(url).list_folder("versions") == {}


def test_who_may_only_read_is_told_that_a_lease_is_needed(url, server):
    filled(url)
    server.refuse = lambda method, path: (
        ("403 Forbidden", "AccessDenied") if method in ("PUT", "POST", "DELETE") else None
    )
    with pytest.raises(StorageError, match="permission to write a lease file there"):
        Archive.open(url).reader()


def test_a_run_that_is_written_again_is_compared_with_what_is_mapped(url):
    """Sums of what is in the store must not vouch for a copy that is not."""
    archive = filled(url)
    for path in archive.disk.cache.directory.iterdir():
        data = bytearray(path.read_bytes())
        data[-100] ^= 1
        path.write_bytes(data)
    with pytest.raises(DamagedError):
        Archive.open(url).append(2, pa.table({"key": ["c"], "value": [2]}, SCHEMA), now=2)
    assert Archive.open(url).verify() == []
