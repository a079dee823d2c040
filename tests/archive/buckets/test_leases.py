"""Leases without locks: who dies is noticed in time, who is taken for dead publishes nothing."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from tests.archive.support.plain import SCHEMA, bag, files_of, named, table
from windrow.archive.archive import Archive
from windrow.archive.errors import ConflictError, DamagedError, StorageError
from windrow.archive.format.bucket_disk import BucketDisk
from windrow.archive.versions.versions import Versions, leases
from windrow.object_store.bucket import Bucket
from windrow.object_store.bucket_leases import BucketLeases

SHORT = 0.4
"""Seconds; the times of the store on loopback are whole seconds."""
ROOT = Path(__file__).parents[3]


def created(url: str) -> Archive:
    return Archive.create(BucketDisk(url, period=SHORT), SCHEMA, "key", window=3, scheme="DEL", n=1)


def bury(disk: BucketDisk) -> None:
    """The process of a disk gives no more signs of life, and deletes nothing when it goes."""
    disk.leases._bucket = _DeafBucket(disk.bucket.url)


class _DeafBucket(Bucket):
    """Puts and deletes nothing."""

    def put(self, key, data):
        """Not heard."""

    def delete(self, key):
        """Left behind."""


def test_a_holder_that_gives_signs_is_alive_however_long_it_takes(url):
    archive = created(url)
    with archive.reader() as reader:
        for day in (1, 2):
            archive.append(day, table([("a", day)]), now=day)
        time.sleep(1 + 3 * SHORT)
        observer = BucketDisk(url, period=SHORT)
        assert not observer.is_abandoned(f"leases/{reader.version:020d}-{reader._lease.token}")
        assert reader.version in Archive.open(observer).vacuum().held
        assert bag(reader.scan()) == []
    assert archive.disk.names("signs") == archive.disk.names("leases") == []


def test_several_that_died_are_waited_for_once(url):
    archive = created(url)
    disks = [BucketDisk(url, period=SHORT) for _ in range(4)]
    held = [Archive.open(disk).reader() for disk in disks]
    for disk in disks:
        bury(disk)
    waits = []
    observer = BucketDisk(url, period=SHORT)
    observer.leases._sleep = lambda seconds: (waits.append(seconds), time.sleep(seconds))
    time.sleep(1 + SHORT)
    assert leases(observer) == []
    assert len(held) == 4
    assert 0 < sum(waits) < 1.5 * SHORT
    assert archive.verify() == []


def test_a_clock_of_the_store_that_jumps_makes_nobody_lose_a_lease(url, monkeypatch):
    """All leases look old at once; whoever goes on giving signs is seen to."""
    archive = created(url)
    archive.append(1, table([("a", 1)]), now=1)
    reader = archive.reader()
    observer = BucketDisk(url, period=SHORT)
    monkeypatch.setattr(BucketLeases, "_now", lambda self: _sign_time(self) + timedelta(days=365))

    def _sign_time(self: BucketLeases):
        key = "signs/.now"
        self._bucket.put(key, b"now")
        return self._bucket.head(key).modified

    assert (reader.version, reader._lease.token) in leases(observer)
    archive.append(2, table([("a", 2)]), now=2)
    Archive.open(observer).vacuum()
    assert bag(reader.scan()) == [("a", 1)]
    reader.close()


def test_a_clock_of_the_store_that_goes_back_only_keeps_files_for_longer(url, monkeypatch):
    archive = created(url)
    disk = BucketDisk(url, period=SHORT)
    reader = Archive.open(disk).reader()
    bury(disk)
    whole = Bucket.head
    monkeypatch.setattr(
        Bucket, "head", lambda self, key: _later(whole(self, key)) if "leases/" in key
        else whole(self, key),
    )  # fmt: skip
    assert len(leases(BucketDisk(url, period=SHORT))) == 1
    assert reader.version == archive.stat().version


def _later(stored):
    return replace(stored, modified=stored.modified + timedelta(days=1))


class SuspendedDisk(BucketDisk):
    """Its process stands still before the ``stage``, while ``meanwhile`` happens elsewhere."""

    def __init__(self, url: str, stage: str, meanwhile) -> None:
        super().__init__(url, period=SHORT)
        self.stage, self.meanwhile = stage, meanwhile

    def _stand_still(self, stage: str) -> None:
        if stage == self.stage:
            self.stage = ""
            take = self.leases._bucket
            self.leases._bucket = _DeafBucket(self.bucket.url)  # no signs come through
            self.meanwhile()
            self.leases._bucket = take

    def is_lease_held(self, token: str) -> bool:
        self._stand_still("before it asks")
        return super().is_lease_held(token)

    def link(self, name: str, new: str) -> None:
        self._stand_still("before it publishes")
        super().link(name, new)


@pytest.mark.parametrize("others", [0, pytest.param(1, marks=pytest.mark.slow), 3])
@pytest.mark.parametrize(
    ("stage", "error", "told"),
    [
        ("before it asks", StorageError, "its lease was taken away"),
        ("before it publishes", ConflictError, "published by another writer"),
    ],
)
def test_a_writer_that_is_taken_for_dead_publishes_nothing(stage, error, told, others, url):
    """Its files are gone, and its number may have come and gone: its put must fail all the same."""
    archive = created(url)
    archive.append(1, table([("a", 1)]), now=1)
    files = []

    def meanwhile() -> None:
        files.extend(archive.disk.names("runs"))
        for day in range(2, 2 + others):
            archive.append(day, table([("other", day)]), now=day)
        time.sleep(1 + SHORT)
        for _ in range(2):
            Archive.open(BucketDisk(url, period=SHORT)).vacuum()
            archive.advance(2 + others)  # so that versions come and go

    with pytest.raises(error, match=told):
        Archive.open(SuspendedDisk(url, stage, meanwhile)).append(9, table([("mine", 9)]))
    assert files, "it had written before it stood still"
    assert archive.verify() == []
    with archive.reader() as reader:
        assert ("mine",) not in bag(reader.scan(columns=["key"]))
    archive.append(8, table([("later", 8)]), now=8)
    archive.vacuum()
    assert files_of(archive.disk) == named(archive)
    with archive.reader() as reader:
        assert bag(reader.scan(columns=["key"])) == [("later",)]


def test_a_reader_that_is_taken_for_dead_is_told_what_to_do(url):
    archive = created(url)
    archive.append(1, table([("a", 1)]), now=1)
    disk = BucketDisk(url, period=SHORT)
    reader = Archive.open(disk).reader()
    bury(disk)
    for day in range(2, 6):
        archive.append(day, table([("b", day)]), now=day)
    time.sleep(1 + SHORT)
    archive.vacuum()
    for path in archive.disk.cache.directory.iterdir():
        path.unlink()  # or it would answer from its copies
    with pytest.raises(DamagedError, match="suspended for a minute or more, open the archive"):
        reader.scan()


def test_a_vacuum_keeps_its_lock_for_as_long_as_it_takes(url):
    archive = created(url)
    disk = BucketDisk(url, period=SHORT)
    lock = disk.try_hold("vacuum.lock")
    time.sleep(1 + 3 * SHORT)
    with pytest.raises(ConflictError, match="another vacuum is running"):
        archive.vacuum()
    disk.unlock(lock)
    archive.vacuum()
    assert archive.disk.names("signs") == []


def test_a_vacuum_that_died_keeps_the_next_one_waiting_for_a_while_only(url):
    archive = created(url)
    disk = BucketDisk(url, period=SHORT)
    assert disk.try_hold("vacuum.lock") is not None
    with pytest.raises(ConflictError, match="another vacuum is running"):
        archive.vacuum()
    bury(disk)
    time.sleep(1 + SHORT)
    assert archive.vacuum().held == ()


def test_one_that_stops_between_a_lost_lease_and_its_fence_is_followed_by_one_that_goes_on(url):
    archive = created(url)
    disk = BucketDisk(url, period=SHORT)
    reader = Archive.open(disk).reader()
    bury(disk)
    time.sleep(1 + SHORT)
    observer = BucketDisk(url, period=SHORT)

    class Crash(BaseException):
        pass

    def stop(name: str) -> None:
        raise Crash

    observer.discard_sign = stop  # after the lease is gone, before the fence is there
    with pytest.raises(Crash):
        leases(observer)
    assert archive.disk.names("leases") == []
    assert len(archive.disk.names("lost")) == 1
    assert leases(BucketDisk(url, period=SHORT)) == []
    assert archive.disk.names("lost") == []
    assert [int(name) for name in archive.disk.names("fences")] == [reader.version + 1]
    assert Versions(archive.disk).numbers()[-1] == reader.version + 1


WRITES = """
import sys, time
from tests.archive.support.plain import table
from windrow.archive.archive import Archive
from windrow.archive.format.bucket_disk import BucketDisk

class Stopping(BucketDisk):
    def link(self, name, new):
        print("written", flush=True)
        time.sleep(600)

Archive.open(Stopping(sys.argv[1])).append(2, table([("dead", 2)]), now=2)
"""


def test_a_writer_that_is_killed_between_its_files_and_its_version_leaves_nothing(url, server):
    archive = created(url)
    archive.append(1, table([("a", 1)]), now=1)
    process = subprocess.Popen(
        [sys.executable, "-c", WRITES, url],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"},
    )
    assert process.stdout.readline() == "written\n"
    process.kill()
    process.wait()
    process.stdout.close()
    with archive.reader() as reader:
        assert bag(reader.scan()) == [("a", 1)]
    assert files_of(archive.disk) > named(archive)
    assert len(Archive.open(url).vacuum().held) == 1  # it may be alive, by all that is known
    time.sleep(1 + SHORT)
    archive.vacuum()
    assert files_of(archive.disk) == named(archive)
    archive.append(2, table([("b", 2)]), now=2)
    assert archive.verify() == []


def test_who_is_not_patient_takes_the_dead_for_alive_until_it_is_certain_and_never_waits(url):
    disk = BucketDisk(url, period=SHORT)
    disk.hold("leases/of-the-dead")
    bury(disk)
    time.sleep(1 + 2 * SHORT)
    now = 0.0

    def never(seconds):
        raise AssertionError(f"waited {seconds} s")

    bucket = Bucket(url)
    watch = BucketLeases(bucket, SHORT, clock=lambda: now, sleep=never, patient=False)
    assert not watch.is_abandoned("leases/of-the-dead")
    now += SHORT / 2
    assert not watch.is_abandoned("leases/of-the-dead")
    now += SHORT / 2
    assert watch.is_abandoned("leases/of-the-dead")
