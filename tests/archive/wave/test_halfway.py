"""What fails or comes between after the first version of an append; and leases that do not go."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.archive.support.disks import handles
from tests.archive.support.plain import SCHEMA, PlainList, assert_same, bag, files_of, named, table
from tests.support.altered import altered
from windrow.archive.archive import Archive, open_archive
from windrow.archive.errors import (
    ArchiveError,
    ConflictError,
    DamagedError,
    HalfwayError,
    StorageError,
    translate_os_errors,
)
from windrow.archive.format import disk as disk_module
from windrow.archive.format.disk import Disk, Written
from windrow.archive.lifetimes.lifetime_index import LifetimeIndex
from windrow.archive.versions.versions import Versions, leases


def archive_of(disk: Disk, days: int) -> tuple[Archive, PlainList]:
    """RATA has work to do after each of its days."""
    archive = Archive.create(disk, SCHEMA, "key", window=4, scheme="RATA", n=2)
    plain = PlainList(4)
    for day in range(1, days + 1):
        archive.append(day, table([("a", day), ("b", day)]), now=day)
        plain.append(day, [("a", day), ("b", day)])
        plain.now = day
    return archive, plain


class Between(Disk):
    """Does something before the ``at``-th version is published."""

    def __init__(self, root: Path, at: int, act: Callable[[], None]) -> None:
        super().__init__(root)
        self._left, self._act = at, act

    def link(self, name: str, new: str) -> None:
        self._left -= 1
        if not self._left:
            self._act()
        super().link(name, new)


def refuse() -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_who_comes_between_a_day_and_the_work_after_it_does_not_undo_the_append(tmp_path):
    other, plain = archive_of(Disk(tmp_path), 5)
    between = Between(tmp_path, 2, lambda: other.append(9, table([("other", 9)])))
    version = Archive.open(between).append_days({8: table([("mine", 8)])}, now=6)
    assert version == Versions(other.disk).numbers()[-1] - 1
    plain.append(9, [("other", 9)])
    plain.append(8, [("mine", 8)])
    plain.now = 6
    assert_same(other, plain)
    assert other.verify() == []
    other.advance(9)
    plain.now = 9
    assert_same(other, plain)
    other.vacuum()
    assert files_of(other.disk) == named(other)


@pytest.mark.parametrize(("at", "days", "reached"), [(2, 1, 6), (2, 3, 6), (3, 3, 7)])
def test_a_disk_that_fails_after_the_first_version_says_that_the_records_are_in(
    at, days, reached, tmp_path
):
    archive, plain = archive_of(Disk(tmp_path), 5)
    failing = Archive.open(Between(tmp_path, at, refuse))
    with pytest.raises(HalfwayError, match="do not append again") as told_so:
        failing.append(9, table([("mine", 9)]), now=5 + days)
    assert told_so.value.version == archive.stat().version
    plain.append(9, [("mine", 9)])
    plain.now = reached
    assert_same(archive, plain)
    archive.advance(5 + days)
    plain.now = 5 + days
    assert_same(archive, plain)
    assert archive.verify() == []


def test_another_writer_between_two_days_is_not_told_as_if_nothing_had_happened(tmp_path):
    other, plain = archive_of(Disk(tmp_path), 5)
    between = Between(tmp_path, 2, lambda: other.append(9, table([("other", 9)])))
    with pytest.raises(HalfwayError):
        Archive.open(between).append(8, table([("mine", 8)]), now=7)
    other.advance(7)
    plain.append(8, [("mine", 8)])
    plain.append(9, [("other", 9)])
    plain.now = 7
    assert_same(other, plain)


def test_damage_that_a_later_day_meets_is_not_told_as_if_nothing_had_happened(tmp_path):
    made = Archive.create(
        Disk(tmp_path / "a"), SCHEMA, "key",
        window=4, scheme="DEL", n=2, technique="packed shadow",
    )  # fmt: skip
    plain = PlainList(4)
    for day in range(1, 6):
        made.append(day, table([("a", day)]), now=day)
        plain.append(day, [("a", day)])
    plain.append(6, [("mine", 6)])
    plain.now, met = 8, set()
    for name in (name for name in made.disk.names("runs") if name.endswith(".arrow")):
        copy = shutil.copytree(tmp_path / "a", tmp_path / name)
        file, disk = copy / "runs" / name, Disk(copy)
        whole = file.read_bytes()
        file.write_bytes(whole[:-40] + bytes(b ^ 1 for b in whole[-40:]))
        archive = Archive.open(disk)
        before = archive.stat().version
        error: ArchiveError | None = None
        try:
            archive.append(6, table([("mine", 6)]), now=8)
        except (DamagedError, HalfwayError) as found:
            error = found
        file.write_bytes(whole)
        if isinstance(error, HalfwayError):
            assert "restore the file" in str(error)
            assert archive.stat().version == error.version > before
            archive.advance(8)
        elif error is not None:
            assert archive.stat().version == before
            archive.append(6, table([("mine", 6)]), now=8)
        met.add(type(error))
        assert_same(archive, plain)
    assert met >= {DamagedError, HalfwayError}


def test_a_failure_of_the_first_version_changes_nothing_and_can_be_repeated_in_a_session(tmp_path):
    archive, plain = archive_of(Disk(tmp_path), 5)

    class FullOnce(Disk):
        left = 1

        def write(self, name: str, fill: Callable[..., None]) -> Written:
            def failing(sink):
                if name.startswith("versions/.") and self.left:
                    self.left -= 1
                    refuse()
                fill(sink)

            return super().write(name, failing)

    with Archive.open(FullOnce(tmp_path)).session() as session:
        runs = {6: session.write(6, table([("mine", 6)]))}
        with pytest.raises(StorageError):
            session.commit(runs, now=6)
        session.commit(runs, now=6)
    plain.append(6, [("mine", 6)])
    plain.now = 6
    assert_same(archive, plain)


def test_a_link_that_was_made_though_its_answer_got_lost_is_no_conflict(tmp_path):
    """As a network file system does that asks again and is told that the name is there."""

    class Forgetful(Disk):
        def link(self, name: str, new: str) -> None:
            super().link(name, new)
            super().link(name, new)

    archive, _ = archive_of(Disk(tmp_path), 1)
    Archive.open(Forgetful(tmp_path)).append(2, table([("a", 2)]), now=2)
    with archive.reader() as reader:
        assert bag(reader.probe("a", columns=["value"])) == [(1,), (2,)]
    assert not [name for name in archive.disk.names("versions") if name.startswith(".")]


def test_a_lease_that_cannot_be_removed_does_not_spoil_what_was_done(tmp_path):
    class Sticky(Disk):
        def delete(self, name: str) -> None:
            if name.startswith("leases/"):
                with translate_os_errors(self.path(name)):
                    raise OSError(errno.EROFS, os.strerror(errno.EROFS))
            super().delete(name)

    archive, _ = archive_of(Disk(tmp_path), 1)
    stuck = Archive.open(Sticky(tmp_path))
    version = stuck.append(2, table([("a", 2)]), now=2)
    assert version == archive.stat().version
    with stuck.reader() as reader:
        assert len(reader.probe("a")) == 2
    assert len(archive.disk.names("leases")) == 2
    assert archive.vacuum().held == ()
    assert leases(archive.disk) == []


def test_a_vacuum_goes_on_though_a_listed_file_is_gone_before_its_turn(tmp_path):
    """A writer has deleted what it wrote in pieces, and has ended, in between."""
    archive, _ = archive_of(Disk(tmp_path), 3)
    nobodys = archive.disk.path("runs/0-piece.arrow")
    nobodys.write_text("")

    class Late(Disk):
        def size(self, name: str) -> int:
            nobodys.unlink(missing_ok=True)
            return super().size(name)

    assert Archive.open(Late(tmp_path)).vacuum().files > 0
    assert files_of(archive.disk) == named(archive)


def test_a_lease_that_may_only_be_read_is_known_for_live_or_dead(tmp_path, monkeypatch):
    """Somebody else's, in a folder that several people write to."""
    archive, _ = archive_of(Disk(tmp_path), 1)

    def others(path, flags, *rest, **options):
        if "leases" in str(path) and flags & os.O_RDWR and not flags & os.O_CREAT:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return os.open(path, flags, *rest, **options)

    reader = archive.reader()
    (tmp_path / "leases" / f"{1:020d}-dead").write_text("")
    monkeypatch.setattr(disk_module, "os", altered(os, open=others))
    assert leases(archive.disk) == [(reader.version, reader._lease.token)]
    reader.close()
    assert archive.disk.names("leases") == []


def read_only_below(root: Path, method: Callable[..., None]) -> Callable[..., None]:
    """A method of ``Path`` that is refused below ``root``, as it is on a read-only file system."""

    def refuse_there(path: Path, *rest, **options) -> None:
        if root in path.parents:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        method(path, *rest, **options)

    return refuse_there


def test_an_archive_on_a_file_system_that_is_read_only_can_be_read_and_verified(
    tmp_path, monkeypatch
):
    archive, plain = archive_of(Disk(tmp_path), 5)

    def no_writing(path, flags, *rest, **options):
        if flags & (os.O_CREAT | os.O_RDWR | os.O_WRONLY) and tmp_path in Path(path).parents:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        return os.open(path, flags, *rest, **options)

    before = handles(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(disk_module, "os", altered(os, open=no_writing))
        patched.setattr(Path, "unlink", read_only_below(tmp_path, Path.unlink))
        mounted = Archive.open(tmp_path)
        assert_same(mounted, plain)
        assert mounted.verify() == []
        with pytest.raises(StorageError, match="Read-only file system"):
            mounted.vacuum()
    assert handles(tmp_path) == before
    assert_same(archive, plain)


@pytest.mark.parametrize("folders", [True, False])
def test_a_file_system_that_is_read_only_is_no_excuse_for_other_errors(
    folders, tmp_path, monkeypatch
):
    """A copy there may have lost its empty folders, and cannot be given them again."""
    archive, plain = archive_of(Disk(tmp_path), 5)
    if not folders:
        archive.disk.path("leases").rmdir()

    def no_writing(path, flags, *rest, **options):
        if flags & os.O_CREAT and tmp_path in Path(path).parents:
            code = errno.EROFS if Path(path).parent.exists() else errno.ENOENT
            raise OSError(code, os.strerror(code), str(path))
        return os.open(path, flags, *rest, **options)

    read_only = altered(os, open=no_writing, statvfs=lambda _: SimpleNamespace(f_flag=os.ST_RDONLY))
    with monkeypatch.context() as patched:
        patched.setattr(disk_module, "os", read_only)
        for name in ("unlink", "mkdir"):
            patched.setattr(Path, name, read_only_below(tmp_path, getattr(Path, name)))
        assert_same(Archive.open(tmp_path), plain)
        with pytest.raises(ArchiveError, match="expected version 99"):
            Versions(Disk(tmp_path)).pin(99)


def test_a_copy_that_lost_its_empty_folders_goes_on(tmp_path):
    archive = Archive.create(Disk(tmp_path), SCHEMA, "key", window=4, scheme="RATA", n=2)
    for folder in ("runs", "leases", "retired"):
        archive.disk.path(folder).rmdir()
    archive = Archive.open(Disk(tmp_path))
    archive.append(1, table([("a", 1)]), now=1)
    archive.vacuum()
    assert archive.verify() == []


class NoRoomAtAll(Disk):
    """Not for another name of a file, even."""

    def write(self, name: str, fill: Callable[..., None]) -> Written:
        with translate_os_errors(self.path(name)):
            refuse()
        return super().write(name, fill)

    def hold(self, name: str) -> int | None:
        with translate_os_errors(self.path(name)):
            refuse()
        return super().hold(name)

    def try_hold(self, name: str) -> int | None:
        if not self.path(name).exists():
            with translate_os_errors(self.path(name)):
                refuse()
        return super().try_hold(name)


def test_a_vacuum_makes_room_where_there_is_none_for_another_file(tmp_path):
    archive, plain = archive_of(Disk(tmp_path), 5)
    full = open_archive(NoRoomAtAll(tmp_path))
    assert full.stat().now == 5
    with pytest.raises(StorageError, match="vacuum"):
        full.append(6, table([("a", 6)]), now=6)
    assert full.vacuum().files > 0
    assert_same(archive, plain)
    assert files_of(archive.disk) == named(archive)


@pytest.mark.parametrize("failing", ["try_hold", "clear_abandoned", "hold"])
def test_a_lock_that_cannot_be_had_is_told(failing, tmp_path, monkeypatch):
    archive, _ = archive_of(Disk(tmp_path), 1)
    reader = archive.reader()
    before = handles(tmp_path)

    def refused(path, flags, *rest, **options):
        place = {"try_hold": "vacuum.lock", "clear_abandoned": reader._lease.token}
        if place.get(failing, "leases") in str(path):
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))
        return os.open(path, flags, *rest, **options)

    monkeypatch.setattr(disk_module, "os", altered(os, open=refused))
    with pytest.raises(StorageError, match="Input/output error"):
        (archive.reader if failing == "hold" else archive.vacuum)()
    assert handles(tmp_path) == before
    reader.close()


def test_two_that_create_at_once_are_told_apart(tmp_path):
    """Both kinds of index: each writer's hidden file has a name of its own."""

    def create(disk: Disk) -> LifetimeIndex:
        return LifetimeIndex.create(disk, SCHEMA, "key", longest=8, interval=2)

    class Slow(Disk):
        def link(self, name: str, new: str) -> None:
            create(Disk(tmp_path))
            super().link(name, new)

    with pytest.raises(ConflictError, match="an archive"):
        create(Slow(tmp_path))
