"""Whatever request a writer or a vacuum stops at: the archive is yesterday's or today's."""

from __future__ import annotations

import time

import pytest

from tests.archive.buckets.test_two_at_once import copied
from tests.archive.support.plain import SCHEMA, PlainList, assert_same, files_of, named, table
from windrow.archive.archive import Archive
from windrow.archive.errors import ArchiveError, OutcomeUnknownError, StorageError
from windrow.archive.format.bucket_disk import BucketDisk
from windrow.object_store.bucket import Bucket
from windrow.object_store.errors import StoreError

CHANGING = ("put", "put_new", "delete")
WINDOW, NOW, SHORT = 3, 4, 0.2


class Crash(BaseException):
    """The process ends here."""


class FaultyBucket(Bucket):
    """At the ``at``-th request that changes something it stops, before or after it is carried out,
    or fails with ``fault``.
    """

    at, done, stopped, after = 0, 0, False, False
    fault: Exception | None = None

    def _do(self, name: str, key: str, *rest):
        if self.stopped:
            raise Crash
        self.done += 1
        if self.done != self.at:
            return getattr(Bucket, name)(self, key, *rest)
        if self.after:
            getattr(Bucket, name)(self, key, *rest)
        if self.fault is not None:
            raise self.fault
        self.stopped = True
        raise Crash

    def put(self, key, data):
        return self._do("put", key, data)

    def put_new(self, key, data):
        return self._do("put_new", key, data)

    def delete(self, key):
        return self._do("delete", key)


def faulty(url: str, at: int = 0, *, after: bool = False, fault=None) -> BucketDisk:
    disk, bucket = BucketDisk(url), FaultyBucket(url)
    bucket.at, bucket.after, bucket.fault = at, after, fault
    disk.bucket = disk.leases._bucket = bucket
    return disk


def rows(day: int) -> list[tuple[str, int]]:
    return [("a", day), ("b", day)]


def history(url: str, technique: str) -> PlainList:
    archive = Archive.create(
        url, SCHEMA, "key", window=WINDOW, scheme="REINDEX++", n=2, technique=technique
    )
    plain = PlainList(WINDOW)
    for day in range(1, NOW + 1):
        archive.append(day, table(rows(day)), now=day)
        plain.append(day, rows(day))
        plain.now = day
    return plain


def append(archive: Archive) -> None:
    archive.append(NOW + 1, table(rows(NOW + 1)), now=NOW + 1)


def requests(url: str, work) -> int:
    disk = faulty(copied(url))
    work(Archive.open(disk))
    return disk.bucket.done


@pytest.mark.parametrize(
    ("work", "after", "step"),
    [
        (append, True, 9),
        (Archive.vacuum, False, 9),
        *(
            pytest.param(work, after, 1, marks=pytest.mark.slow)
            for work in (append, Archive.vacuum)
            for after in (False, True)
        ),
    ],
)
def test_stopped_at_any_request_it_is_yesterdays_or_todays(work, after, step, url):
    before = history(url, "packed shadow")
    later = before.copy()
    later.append(NOW + 1, rows(NOW + 1))
    later.now = NOW + 1
    total = requests(url, work)
    assert total > 8
    places, seen = [], set()
    for at in sorted({*range(1, total + 1, step * (1 if work is append else 3)), total - 1}):
        disk = faulty(copied(url), at, after=after)
        with pytest.raises(Crash):
            work(Archive.open(disk))
        places.append(disk.bucket.url)
    time.sleep(1 + SHORT)  # for all of the dead at once
    for place in places:
        archive = Archive.open(BucketDisk(place, period=SHORT))
        state = later if archive.stat().now == later.now else before
        seen.add(state.now)
        assert_same(archive, state)
        archive.vacuum()
        assert archive.verify() == []
        assert files_of(archive.disk) == named(archive)
        for folder in ("leases", "retired", "lost"):
            assert archive.disk.names(folder) == []
        if state is before:
            append(archive)
        assert_same(archive, later)
    assert seen == ({before.now, later.now} if work is append else {before.now})


@pytest.mark.parametrize("uncertain", [False, True])
def test_a_request_that_fails_is_told_and_can_be_repeated(uncertain, url):
    """One whose answer was lost may have been carried out; nobody says otherwise."""
    before = history(url, "in-place")
    later = before.copy()
    later.append(NOW + 1, rows(NOW + 1))
    later.now = NOW + 1
    outcomes = set()
    for at in range(1, requests(url, append) + 1):
        fault = StoreError(where="there", expected="an answer", found="none")
        fault.uncertain = uncertain
        disk = faulty(copied(url), at, after=uncertain, fault=fault)
        archive, error = Archive.open(disk), None
        try:
            append(archive)
        except ArchiveError as found:
            error = found
            outcomes.add(type(found))
        state = later if archive.stat().now == later.now else before
        assert_same(archive, state)
        if type(error) is StorageError:
            assert state is before
        if state is before:
            append(archive)
        assert_same(archive, later)
    assert StorageError in outcomes


def test_a_version_whose_answer_is_lost_for_good_is_not_said_to_have_failed(url):
    """The request may arrive later: the outcome is unknown until somebody looks."""

    class Silent(Bucket):
        def put_new(self, key, data):
            if key.startswith("versions/"):
                error = StoreError(where=key, found="no answer")
                error.uncertain = True
                raise error
            return super().put_new(key, data)

    history(url, "in-place")
    disk = BucketDisk(url)
    disk.bucket = Silent(url)
    with pytest.raises(OutcomeUnknownError, match="open the archive again"):
        append(Archive.open(disk))
