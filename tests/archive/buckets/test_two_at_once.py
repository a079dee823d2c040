"""Writers, readers and vacuums at once in an object store: put-if-absent decides, as on a disk."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator

import pytest

from tests.archive.support.plain import SCHEMA, bag, files_of, named, table
from tests.support.bucket_server import NAME
from windrow.archive.archive import Archive
from windrow.archive.errors import ConflictError
from windrow.archive.format.bucket_disk import BucketDisk
from windrow.object_store.bucket import Bucket

WINDOW, NOW = 3, 3
OPERATIONS = ("put", "put_new", "get", "head", "list_folder", "delete", "pieces")


class InterruptedBucket(Bucket):
    """Lets ``act`` happen just before the ``at``-th request, of whatever kind it is."""

    at, done, act = 0, 0, staticmethod(lambda: None)

    def __getattribute__(self, name: str):
        if name in OPERATIONS:
            self.done += 1
            if self.done == self.at:
                self.act()
        return super().__getattribute__(name)


def disk_with(bucket: Bucket) -> BucketDisk:
    disk = BucketDisk(bucket.url)
    disk.bucket = disk.leases._bucket = bucket
    return disk


def rows(day: int) -> list[tuple[str, int]]:
    return [("a", day), ("b", day)]


def window(now: int) -> list[tuple[str, int]]:
    return sorted(row for day in range(now - WINDOW + 1, now + 1) for row in rows(day))


def source(url: str) -> None:
    archive = Archive.create(url, SCHEMA, "key", window=WINDOW, scheme="RATA", n=2)
    for day in range(1, NOW + 1):
        archive.append(day, table(rows(day)), now=day)


def copied(url: str) -> str:
    new = f"s3://{NAME}/{uuid.uuid4().hex}"
    old, target = Bucket(url), Bucket(new)
    for folder in ("versions", "runs", "retired"):
        for name in old.list_folder(folder):
            target.put(f"{folder}/{name}", old.get(f"{folder}/{name}"))
    return new


STEPS = [29, pytest.param(1, marks=pytest.mark.slow)]
"""Every so many requests something happens; with another offset for each test."""


def everywhere(
    url: str, work: Callable[[Archive], object], step: int, offset: int = 0
) -> Iterator[tuple[str, Callable[[Callable[[], object]], BucketDisk]]]:
    """A fresh archive for each request of some work, and a disk where something happens then."""
    source(url)
    counting = InterruptedBucket(copied(url))
    archive = Archive.open(disk_with(counting))
    before = counting.done
    work(archive)
    assert counting.done > before + 5
    for at in range(before + 1 + offset % step, counting.done + 1, step):
        place = copied(url)

        def made(act: Callable[[], object], at: int = at, place: str = place) -> BucketDisk:
            bucket = InterruptedBucket(place)
            bucket.at, bucket.act = at, act
            return disk_with(bucket)

        yield place, made


def well(archive: Archive, expected: list[tuple[str, int]]) -> None:
    """All is there, and nothing else once nobody holds anything."""
    archive.vacuum()
    assert archive.verify() == []
    with archive.reader() as reader:
        assert bag(reader.scan()) == expected
    assert files_of(archive.disk) == named(archive)
    assert archive.disk.names("leases") == archive.disk.names("retired") == []
    assert len(archive.disk.names("versions")) == 1


def test_of_two_writers_one_wins_and_the_other_is_told(url):
    barrier = threading.Barrier(2)

    class MeetingDisk(BucketDisk):
        def link(self, name: str, new: str) -> None:
            barrier.wait(30)
            super().link(name, new)

    archive = Archive.create(url, SCHEMA, "key", window=3, scheme="WATA", n=2)
    writers = [Archive.open(MeetingDisk(url)) for _ in range(2)]
    kept = []
    for turn in range(20):
        outcomes = ["", ""]

        def write(me: int, turn: int = turn, outcomes: list[str] = outcomes) -> None:
            try:
                writers[me].append(1, table([(str(me), turn)]))
                outcomes[me] = "won"
            except ConflictError as error:
                outcomes[me] = error.remedy

        threads = [threading.Thread(target=write, args=(me,)) for me in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        told = "nothing was changed; repeat the operation on the new version"
        assert sorted(outcomes) == [told, "won"]
        kept.append((str(outcomes.index("won")), turn))
    archive.advance(1)
    with archive.reader() as reader:
        assert bag(reader.scan()) == sorted(kept, key=repr)
    archive.vacuum()
    assert files_of(archive.disk) == named(archive)


@pytest.mark.parametrize("step", STEPS)
def test_a_vacuum_takes_nothing_of_a_writer_that_comes_and_goes_at_any_moment(step, url):
    for place, made in everywhere(url, Archive.vacuum, step, 0):
        other = Archive.open(place)
        disk = made(lambda other=other: other.append(NOW + 1, table(rows(NOW + 1)), now=NOW + 1))
        Archive.open(disk).vacuum()
        well(other, window(NOW + 1))


@pytest.mark.parametrize("step", STEPS)
def test_a_vacuum_at_any_moment_takes_nothing_of_a_writer_at_work(step, url):
    def work(archive: Archive) -> None:
        archive.append(NOW + 1, table(rows(NOW + 1)), now=NOW + 1)

    for place, made in everywhere(url, work, step, 2):
        other = Archive.open(place)
        work(Archive.open(made(other.vacuum)))
        well(other, window(NOW + 1))


@pytest.mark.parametrize("step", STEPS)
def test_a_reader_that_pins_at_any_moment_of_a_vacuum_keeps_what_it_pinned(step, url):
    for place, made in everywhere(url, Archive.vacuum, step, 4):
        other, readers = Archive.open(place), []

        def act(other: Archive = other, readers: list = readers) -> None:
            readers.append(other.reader())
            other.append(NOW + 1, table(rows(NOW + 1)), now=NOW + 1)
            readers.append(other.reader())

        Archive.open(made(act)).vacuum()
        for reader, now in zip(readers, (NOW, NOW + 1), strict=True):
            assert bag(reader.scan()) == window(now)
            reader.close()
        well(other, window(NOW + 1))


@pytest.mark.parametrize("step", STEPS)
def test_one_writer_in_the_middle_of_another_leaves_one_of_them_whole(step, url):
    def work(archive: Archive) -> None:
        archive.append(NOW + 1, table([("mine", 1)]), now=NOW + 1)

    outcomes = set()
    for place, made in everywhere(url, work, step, 6):
        other = Archive.open(place)
        disk = made(lambda other=other: other.append(NOW + 1, table([("other", 1)]), now=NOW + 1))
        try:
            work(Archive.open(disk))
        except ConflictError:
            outcomes.add("conflict")
        except Exception as error:  # the day is in already when this writer begins
            outcomes.add(type(error).__name__)
        with other.reader() as reader:
            found = bag(reader.scan(NOW + 1, NOW + 1, columns=["key"]))
        assert found in ([("mine",)], [("other",)])
        assert other.verify() == []
        outcomes.add(found[0][0])
    assert {"conflict", "other"} <= outcomes


@pytest.mark.parametrize("vacuums", [1, 2])
def test_a_reader_keeps_its_answers_while_files_are_reclaimed(vacuums, url):
    archive = Archive.create(url, SCHEMA, "key", window=3, scheme="REINDEX", n=1)
    archive.append(1, table([("a", 1), ("b", 1)]), now=1)
    with archive.reader() as reader:
        for day in range(2, 6):
            archive.append(day, table([("a", day)]), now=day)
        for _ in range(vacuums):
            assert reader.version in archive.vacuum().held
        assert bag(reader.scan()) == [("a", 1), ("b", 1)]
    archive.vacuum()
    assert files_of(archive.disk) == named(archive)
