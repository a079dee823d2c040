"""Writers that race, readers that pin, and processes that die with a lease in hand."""

from __future__ import annotations

import fcntl
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.archive.support.plain import (
    SCHEMA,
    PlainList,
    answers,
    assert_same,
    bag,
    files_of,
    named,
    table,
)
from tests.support.altered import altered
from windrow.archive.archive import Archive
from windrow.archive.errors import ConflictError
from windrow.archive.format import disk as disk_module
from windrow.archive.format.disk import Disk
from windrow.archive.lifetimes.lifetime_index import LifetimeIndex
from windrow.archive.lifetimes.partition_grid import Grid
from windrow.archive.versions.versions import Versions, leases
from windrow.archive.wave.wave import TECHNIQUES

TOLD = "nothing was changed; repeat the operation on the new version"
ROOT = Path(__file__).parents[3]


class MeetingDisk(Disk):
    """Waits before publishing until the other writer is about to publish as well."""

    def __init__(self, root: Path, barrier: threading.Barrier) -> None:
        super().__init__(root)
        self._barrier = barrier

    def link(self, name: str, new: str) -> None:
        self._barrier.wait(30)
        super().link(name, new)


def test_of_two_writers_one_wins_and_the_other_is_told_two_hundred_times(tmp_path):
    barrier = threading.Barrier(2)
    archive = Archive.create(Disk(tmp_path), SCHEMA, "key", window=3, scheme="WATA", n=2)
    writers = [Archive.open(MeetingDisk(tmp_path, barrier)) for _ in range(2)]
    kept = []
    for turn in range(200):
        outcomes: list[str] = ["", ""]

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
        assert sorted(outcomes) == [TOLD, "won"]
        kept.append((str(outcomes.index("won")), turn))
        if turn % 50 == 49:
            archive.vacuum()
    archive.advance(1)
    with archive.reader() as reader:
        assert bag(reader.scan()) == sorted(kept, key=repr)
    archive.vacuum()
    assert files_of(archive.disk) == named(archive)


def test_a_writer_whose_base_was_left_behind_is_told_even_after_a_vacuum(tmp_path):
    """Its version has come and gone: without the lease, put-if-absent would find it absent."""

    class SlowDisk(Disk):
        def link(self, name: str, new: str) -> None:
            for day in (1, 2, 3):
                other.append(day, table([("other", day)]), now=day)
            other.vacuum()
            super().link(name, new)

    other = Archive.create(Disk(tmp_path), SCHEMA, "key", window=3, scheme="DEL", n=1)
    with pytest.raises(ConflictError):
        Archive.open(SlowDisk(tmp_path)).append(1, table([("mine", 1)]))
    with other.reader() as reader:
        assert bag(reader.scan(columns=["key"])) == [("other",)] * 3
    other.vacuum()
    assert files_of(other.disk) == named(other)


def test_files_that_a_writer_has_not_published_yet_survive_a_vacuum(tmp_path):
    class SlowDisk(Disk):
        def link(self, name: str, new: str) -> None:
            archive.vacuum()
            super().link(name, new)

    archive = Archive.create(Disk(tmp_path), SCHEMA, "key", window=3, scheme="DEL", n=1)
    Archive.open(SlowDisk(tmp_path)).append(1, table([("a", 1)]), now=1)
    assert archive.verify() == []
    with archive.reader() as reader:
        assert bag(reader.scan()) == [("a", 1)]


@pytest.mark.parametrize("form", ["arrow", "parquet"])
def test_a_pinned_reader_keeps_its_answers_while_files_are_reclaimed(form, tmp_path):
    archive = Archive.create(
        Disk(tmp_path), SCHEMA, "key", window=3, scheme="REINDEX", n=1, format=form
    )
    archive.append(1, table([("a", 1), ("b", 1)]), now=1)
    with archive.reader() as reader:
        for day in range(2, 8):
            archive.append(day, table([("a", day)]), now=day)
            archive.vacuum()
        plain = PlainList(3)
        plain.append(1, [("a", 1), ("b", 1)])
        plain.now = 1
        assert dict(answers(reader, 1))["scan"] == [("a", 1, 1), ("b", 1, 1)]
        held = files_of(archive.disk)
        assert held > named(archive)
    archive.vacuum()
    assert files_of(archive.disk) == named(archive)


@pytest.mark.parametrize(
    ("scheme", "technique"), [("REINDEX++", "packed shadow"), ("DEL", "in-place")]
)
def test_readers_in_threads_always_see_one_whole_day_while_days_come_and_files_go(
    scheme, technique, tmp_path
):
    archive = Archive.create(
        Disk(tmp_path), SCHEMA, "key", window=3, scheme=scheme, n=2, technique=technique
    )
    over, wrong, looks = threading.Event(), [], []

    def look(shared: Archive) -> None:
        while not over.is_set():
            with shared.reader() as reader:
                now = reader.now or 0
                days = range(max(1, now - 2), now + 1)
                for _ in range(3):
                    found = sorted(reader.probe("a", columns=["value"])["value"].to_pylist())
                    if found != list(days) or len(reader.scan(now, now)) != 2 * (now > 0):
                        wrong.append((now, found))
            looks.append(now)

    readers = [archive, Archive.open(Disk(tmp_path))]
    threads = [threading.Thread(target=look, args=(shared,)) for shared in readers]
    for thread in threads:
        thread.start()
    try:
        for day in range(1, 41):
            archive.append(day, table([("a", day), ("b", day)]), now=day)
            archive.vacuum()
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert wrong == []
    assert len(set(looks)) > 5


def test_a_version_that_is_retired_while_it_is_being_pinned_is_not_used(tmp_path):
    class LateDisk(Disk):
        late = True

        def hold(self, name: str) -> int | None:
            if self.late:
                self.late = False
                archive.append(1, table([("a", 1)]), now=1)
                archive.vacuum()
            return super().hold(name)

    archive = Archive.create(Disk(tmp_path), SCHEMA, "key", window=3, scheme="DEL", n=1)
    with Archive.open(LateDisk(tmp_path)).reader() as reader:
        assert bag(reader.scan()) == [("a", 1)]


def test_a_lease_that_comes_between_the_look_and_the_deed_is_seen_after_it(tmp_path):
    """Somebody who had listed the versions long ago pins the oldest just as it is taken away."""
    held: list[int | None] = []

    class PinnedMeanwhile(Disk):
        def rename(self, name: str, new: str) -> None:
            if not held:
                oldest = Versions(self).numbers()[0]
                held.append(self.hold(f"leases/{oldest:020d}-late"))
                Versions(self).read(oldest)
            super().rename(name, new)

    archive = Archive.create(Disk(tmp_path), SCHEMA, "key", window=2, scheme="DEL", n=1)
    archive.append(1, table([("a", 1)]), now=1)
    archive.vacuum()
    oldest = Versions(archive.disk).read(archive.stat().version)
    for day in (2, 3, 4):
        archive.append(day, table([("a", day)]), now=day)
    Archive.open(PinnedMeanwhile(tmp_path)).vacuum()
    assert {run.name for run in oldest.runs} <= files_of(archive.disk)
    archive.vacuum()  # still held, and still known by what it names
    assert {run.name for run in oldest.runs} <= files_of(archive.disk)
    assert Versions(archive.disk).numbers()[0] == oldest.version + 1  # whoever writes next is told
    archive.disk.let_go(f"leases/{oldest.version:020d}-late", held[0])
    archive.vacuum()
    assert files_of(archive.disk) == named(archive)


def test_a_lease_that_is_taken_for_abandoned_before_it_is_locked_is_taken_anew(
    tmp_path, monkeypatch
):
    archive = Archive.create(Disk(tmp_path), SCHEMA, "key", window=2, scheme="DEL", n=1)
    lock, found = fcntl.flock, []

    def late(handle: int, how: int) -> None:
        if how == fcntl.LOCK_EX and not found:
            found.append(archive.disk.names("leases"))
            assert leases(archive.disk) == []  # it is there, nobody has locked it: it goes
        lock(handle, how)

    monkeypatch.setattr(disk_module, "fcntl", altered(fcntl, flock=late))
    with archive.reader() as reader:
        assert leases(archive.disk) == [(reader.version, reader._lease.token)]
    assert len(found[0]) == 1


def child(code: str, path: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, str(path)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}"},
    )


READS = """
import sys, time
from windrow.archive.archive import Archive
reader = Archive.open(sys.argv[1]).reader()
print(reader.version, flush=True)
time.sleep(600)
"""


def test_a_reader_that_was_killed_does_not_hold_files_back(tmp_path):
    archive = Archive.create(tmp_path, SCHEMA, "key", window=2, scheme="DEL", n=1)
    archive.append(1, table([("a", 1)]), now=1)
    process = child(READS, tmp_path)
    version = int(process.stdout.readline())
    archive.append(2, table([("a", 2)]), now=2)
    assert version in archive.vacuum().held
    assert files_of(archive.disk) > named(archive)
    process.kill()
    process.wait()
    process.stdout.close()
    assert archive.vacuum().held == ()
    assert files_of(archive.disk) == named(archive)


WRITES = """
import sys
from pathlib import Path
from tests.archive.support.plain import table
from windrow.archive.archive import Archive
archive = Archive.open(sys.argv[1])
day = archive.stat().now or 0
while True:
    day += 1
    archive.append(day, table([("a", day), ("b", day), (str(day), day)]), now=day)
    if day % 3 == 0:
        archive.vacuum()
    print(day, flush=True)
"""


def last_words(script: str, path: Path, chance: random.Random) -> int:
    """The last number that a child said before it was killed, somewhere in its first steps."""
    process = child(script, path)
    first = process.stdout.readline()
    time.sleep(chance.random() * 0.2)
    process.send_signal(signal.SIGKILL)
    rest = process.stdout.read().split()
    process.wait()
    process.stdout.close()
    return int(rest[-1] if rest else first)


def kill_again_and_again(path: Path, scheme: str, technique: str, times: int, seed: int) -> None:
    archive = Archive.create(path, SCHEMA, "key", window=4, scheme=scheme, n=2, technique=technique)
    chance = random.Random(seed)
    for _ in range(times):
        said = last_words(WRITES, path, chance)
        now = archive.stat().now
        assert now in (said, said + 1)
        plain = PlainList(4)
        plain.now = now
        for day in range(1, now + 1):
            plain.append(day, [("a", day), ("b", day), (str(day), day)])
        assert_same(archive, plain)
        assert archive.verify() == []
        archive.vacuum()
        assert files_of(archive.disk) == named(archive)
        assert len(Versions(Disk(path)).numbers()) == 1


def test_killed_at_any_moment_every_day_that_was_acknowledged_is_there(tmp_path):
    kill_again_and_again(tmp_path, "REINDEX++", "packed shadow", 2, seed=1)


INSERTS = """
import sys
import pyarrow as pa
from tests.archive.support.plain import table
from windrow.archive.lifetimes.partition_grid import Grid
from windrow.archive.lifetimes.lifetime_index import LifetimeIndex
index = LifetimeIndex.open(sys.argv[1])
now = index.stat().now or 0
while True:
    now += 1
    index.insert(now, table([("a", now), ("b", now)]), pa.array([now + 2, now + 4]))
    if now % 3 == 0:
        grid, how = Grid(1 + now % 2, 2), "drain" if now % 4 else "rebuild"
        index.migrate(grid=grid, how=how)
        index.vacuum()
    print(now, flush=True)
"""


def kill_lifetimes_again_and_again(path: Path, times: int, seed: int) -> None:
    """In the middle of updates, migrations and vacuums."""
    index = LifetimeIndex.create(path, SCHEMA, "key", longest=4, interval=1, grid=Grid(2, 2))
    chance = random.Random(seed)
    for _ in range(times):
        said = last_words(INSERTS, path, chance)
        now = index.stat().now
        assert now in (said, said + 1)
        index = LifetimeIndex.open(path)
        with index.reader() as reader:
            live = [("a", now), *(("a", at) for at in [now - 1] if at > 0)]
            live += [("b", at) for at in range(max(1, now - 3), now + 1)]
            assert bag(reader.scan()) == sorted(live, key=repr)
        assert index.verify() == []
        index.vacuum()
        names = {run.name for run in index.contents().runs.values()}
        assert files_of(index.disk) == names
        assert len(Versions(index.disk).numbers()) == 1


def test_an_index_of_lifetimes_that_is_killed_has_every_update_that_was_acknowledged(tmp_path):
    kill_lifetimes_again_and_again(tmp_path, 2, seed=3)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_an_index_of_lifetimes_that_is_killed_many_times(seed, tmp_path):
    kill_lifetimes_again_and_again(tmp_path, 8, seed)


@pytest.mark.slow
@pytest.mark.parametrize("technique", TECHNIQUES)
@pytest.mark.parametrize("scheme", ["DEL", "REINDEX", "REINDEX+", "REINDEX++", "WATA", "RATA"])
def test_killed_many_times_every_day_that_was_acknowledged_is_there(scheme, technique, tmp_path):
    kill_again_and_again(tmp_path, scheme, technique, 8, seed=len(scheme) * 7 + len(technique))
