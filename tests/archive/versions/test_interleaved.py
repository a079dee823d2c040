"""Two at work at once: whatever one does between any two file operations of the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.archive.support.disks import copied
from tests.archive.support.plain import SCHEMA, bag, files_of, named, table
from windrow.archive.archive import Archive
from windrow.archive.errors import ConflictError, HalfwayError
from windrow.archive.format.disk import Disk
from windrow.archive.wave.reader import Reader

WINDOW, NOW = 3, 4
OPERATIONS = (
    "make_folder", "write", "copy", "sync", "sync_names", "link", "rename", "delete", "names",
    "size", "read", "sum", "map", "hold", "let_go", "try_hold", "clear_abandoned",
)  # fmt: skip


class Interrupted(Disk):
    """Lets ``act`` happen just before the ``at``-th operation, of whatever kind it is."""

    def __init__(self, root: Path, at: int = 0, act: Callable[[], None] = lambda: None) -> None:
        super().__init__(root)
        self.at, self.act, self.done = at, act, 0

    def __getattribute__(self, name: str):
        if name in OPERATIONS:
            self.done += 1
            if self.done == self.at:
                self.act()
        return super().__getattribute__(name)


def rows(day: int) -> list[tuple[str, int]]:
    return [("a", day), ("b", day)]


def source(path: Path) -> None:
    """Some days, and what their coming left behind."""
    archive = Archive.create(Disk(path), SCHEMA, "key", window=WINDOW, scheme="RATA", n=2)
    for day in range(1, NOW + 1):
        archive.append(day, table(rows(day)), now=day)


def window(now: int) -> list[tuple[str, int]]:
    return sorted(row for day in range(now - WINDOW + 1, now + 1) for row in rows(day))


def everywhere(tmp_path: Path, work: Callable[[Archive], object]) -> Iterator[tuple[Path, int]]:
    """A fresh archive for each operation of some work, and the number of the operation."""
    source(tmp_path / "source")
    disk = Interrupted(copied(tmp_path / "source", tmp_path / "work"))
    archive = Archive.open(disk)
    before = disk.done
    work(archive)
    assert disk.done > before + 2
    for at in range(before + 1, disk.done + 1):
        yield copied(tmp_path / "source", tmp_path / "work"), at


def well(archive: Archive, expected: list[tuple[str, int]]) -> None:
    """All is there, and nothing else once nobody holds anything."""
    assert archive.verify() == []
    with archive.reader() as reader:
        assert bag(reader.scan()) == expected
    archive.vacuum()
    assert archive.verify() == []
    assert files_of(archive.disk) == named(archive)
    assert archive.disk.names("leases") == archive.disk.names("retired") == []
    assert len(archive.disk.names("versions")) == 1


def test_a_vacuum_takes_nothing_of_a_writer_that_publishes_at_any_moment(tmp_path):
    for path, at in everywhere(tmp_path, Archive.vacuum):
        other = Archive.open(Disk(path))
        disk = Interrupted(path, at)
        with other.session() as session:  # released by ``act``, in the middle of the vacuum
            runs = {NOW + 1: session.write(NOW + 1, table(rows(NOW + 1)))}
            lease = next(iter(other.disk.names("leases")))

            def act(session=session, runs=runs, other=other, lease=lease) -> None:
                session.commit(runs, now=NOW + 1)
                other.disk.delete(f"leases/{lease}")

            disk.act = act
            Archive.open(disk).vacuum()
        well(other, window(NOW + 1))


def test_a_vacuum_takes_nothing_of_a_writer_that_comes_and_goes_at_any_moment(tmp_path):
    for path, at in everywhere(tmp_path, Archive.vacuum):
        other = Archive.open(Disk(path))
        disk = Interrupted(
            path, at, lambda other=other: other.append(NOW + 1, table(rows(NOW + 1)), now=NOW + 1)
        )
        Archive.open(disk).vacuum()
        well(other, window(NOW + 1))


@pytest.mark.parametrize("vacuums", [1, 2])
def test_a_reader_that_pins_at_any_moment_of_a_vacuum_keeps_what_it_pinned(vacuums, tmp_path):
    for path, at in everywhere(tmp_path, Archive.vacuum):
        other, readers = Archive.open(Disk(path)), []

        def act(other: Archive = other, readers: list[Reader] = readers) -> None:
            readers.append(other.reader())
            other.append(NOW + 1, table(rows(NOW + 1)), now=NOW + 1)
            readers.append(other.reader())
            other.append(NOW + 2, table(rows(NOW + 2)), now=NOW + 2)

        Archive.open(Interrupted(path, at, act)).vacuum()
        for _ in range(vacuums):
            other.vacuum()
        for reader, now in zip(readers, (NOW, NOW + 1), strict=True):
            assert bag(reader.scan()) == window(now)
            reader.close()
        well(other, window(NOW + 2))


def test_whoever_pins_while_days_come_and_files_go_at_any_moment_sees_one_whole_day(tmp_path):
    for path, at in everywhere(tmp_path, lambda archive: archive.reader().close()):
        other = Archive.open(Disk(path))

        def act(other: Archive = other) -> None:
            other.append(NOW + 1, table(rows(NOW + 1)), now=NOW + 1)
            other.vacuum()

        with Archive.open(Interrupted(path, at, act)).reader() as reader:
            other.vacuum()
            assert bag(reader.scan()) == window(reader.now)
        well(other, window(other.stat().now))


def test_a_vacuum_at_any_moment_takes_nothing_of_a_writer_at_work(tmp_path):
    def work(archive: Archive) -> None:
        archive.append(NOW + 1, table(rows(NOW + 1)), now=NOW + 1)

    for path, at in everywhere(tmp_path, work):
        other = Archive.open(Disk(path))
        work(Archive.open(Interrupted(path, at, lambda other=other: other.vacuum())))
        well(other, window(NOW + 1))


@pytest.mark.parametrize("how", ["rebuild", "drain"])
def test_a_day_and_a_vacuum_at_any_moment_of_a_migration_are_caught_up_with(how, tmp_path):
    def work(archive: Archive) -> None:
        archive.migrate(scheme="WATA", n=3, format="parquet", how=how)

    for path, at in everywhere(tmp_path, work):
        other = Archive.open(Disk(path))

        def act(other: Archive = other) -> None:
            other.append(NOW + 1, table(rows(NOW + 1)), now=NOW + 1)
            other.vacuum()

        work(Archive.open(Interrupted(path, at, act)))
        assert other.stat().settings.scheme == "WATA"
        well(other, window(NOW + 1))


@pytest.mark.parametrize("how", ["rebuild", "drain"])
def test_of_two_migrations_one_at_any_moment_of_the_other_one_is_told_or_both_are_done(
    how, tmp_path
):
    outcomes = set()

    def work(archive: Archive) -> None:
        archive.migrate(scheme="WATA", n=3, how=how)

    for path, at in everywhere(tmp_path, work):
        other = Archive.open(Disk(path))

        def act(other: Archive = other) -> None:
            other.migrate(scheme="DEL", n=1)
            other.vacuum()

        try:
            work(Archive.open(Interrupted(path, at, act)))
        except ConflictError:
            outcomes.add("told")
            assert other.stat().settings.scheme == "DEL"
        else:
            outcomes.add(other.stat().settings.scheme)
        well(other, window(NOW))
    assert outcomes == {"told", "WATA", "DEL"}


def test_another_writer_and_a_vacuum_at_any_moment_of_an_append_lose_nothing_of_either(tmp_path):
    outcomes = set()

    def work(archive: Archive) -> None:
        archive.append(NOW + 1, table(rows(NOW + 1)), now=NOW + 2)

    for path, at in everywhere(tmp_path, work):
        other = Archive.open(Disk(path))

        def act(other: Archive = other) -> None:
            other.append(NOW + 3, table(rows(NOW + 3)))
            other.vacuum()

        archive = Archive.open(Interrupted(path, at, act))
        try:
            work(archive)
        except ConflictError:
            outcomes.add("told")
            work(archive)
        except HalfwayError:
            outcomes.add("half-way")
            archive.advance(NOW + 2)
        else:
            outcomes.add("done")
        assert other.stat().now == NOW + 2
        other.advance(NOW + 3)
        well(other, sorted([*rows(NOW + 1), *rows(NOW + 3)]))
    assert outcomes == {"told", "half-way", "done"}
