"""Whatever fails, and wherever: the archive is yesterday's or today's, and nothing leaks."""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.archive.support.disks import Crash, FaultyDisk, copied
from tests.archive.support.plain import SCHEMA, PlainList, assert_same, files_of, named, table
from windrow.archive.archive import Archive, open_archive
from windrow.archive.errors import (
    ArchiveError,
    DamagedError,
    HalfwayError,
    OutcomeUnknownError,
    StorageError,
)
from windrow.archive.format.disk import Disk, Written
from windrow.archive.lifetimes.lifetime_index import LifetimeIndex
from windrow.archive.versions.versions import Versions
from windrow.archive.wave.schemes import SCHEMES
from windrow.archive.wave.wave import TECHNIQUES

WINDOW, N = 4, 2
PAIRS = list(itertools.product(SCHEMES, TECHNIQUES))
SOME = [(scheme, TECHNIQUES[at % len(TECHNIQUES)]) for at, scheme in enumerate(SCHEMES)]
"""Every scheme once, every technique at least once."""
OTHERS = [(scheme, TECHNIQUES[(at + 1) % len(TECHNIQUES)]) for at, scheme in enumerate(SCHEMES)]
"""The same, and no pair of ``SOME``."""
ALL = [pytest.param(*pair, marks=() if pair in SOME else pytest.mark.slow) for pair in PAIRS]
REST = [pytest.param(*pair, marks=() if pair in OTHERS else pytest.mark.slow) for pair in PAIRS]
FAULTS = (errno.ENOSPC, errno.EIO)
FAILING = [
    pytest.param(*pair, fault, marks=() if (*pair, fault) in often else pytest.mark.slow)
    for often in [[(*pair, FAULTS[at % 2]) for at, pair in enumerate(SOME)]]
    for pair, fault in itertools.product(PAIRS, FAULTS)
]
"""Every scheme with one of the faults: what an error is called does not depend on the scheme."""
ROWS = {day: [("a", day), ("b", day), (None, day), ("a", day + 100)] for day in range(1, 20)}


def history(
    path: Path,
    scheme: str,
    technique: str,
    days: int,
    *,
    form: str = "arrow",
    garbage: bool = False,
) -> PlainList:
    """An archive of some days, and the same as a list."""
    archive = Archive.create(
        Disk(path),
        SCHEMA,
        "key",
        window=WINDOW,
        scheme=scheme,
        n=N,
        technique=technique,
        format=form,
    )
    plain = PlainList(WINDOW)
    for day in range(1, days + 1):
        archive.append(day, table(ROWS[day]), now=day)
        plain.append(day, ROWS[day])
        plain.now = day
    if not garbage:
        archive.vacuum()
    archive.append(days + 4, table(ROWS[days + 4]))
    plain.append(days + 4, ROWS[days + 4])
    return plain


def next_day(plain: PlainList) -> tuple[int, PlainList]:
    after, day = plain.copy(), plain.now + 1
    after.append(day, ROWS[day])
    after.now = day
    return day, after


def which(archive: Archive, before: PlainList, after: PlainList) -> PlainList:
    """Exactly one of the two states, said by the archive's own clock, checked by all answers."""
    state = after if archive.stat().now == after.now else before
    assert_same(archive, state)
    assert archive.verify() == []
    return state


def assert_nothing_leaks(archive: Archive) -> None:
    archive.vacuum()
    disk = archive.disk
    assert files_of(disk) == named(archive)
    assert len(disk.names("versions")) == 1
    assert disk.names("leases") == disk.names("retired") == []


def operations(source: Path, path: Path, work) -> int:
    return len(log_of(source, path, work))


def log_of(source: Path, path: Path, work) -> list[str]:
    disk = FaultyDisk(copied(source, path))
    work(Archive.open(disk))
    return disk.log


def crash_everywhere(
    tmp_path: Path,
    scheme: str,
    technique: str,
    days: int,
    shares: tuple[float, ...],
    form: str = "arrow",
) -> None:
    source = tmp_path / "source"
    before = history(source, scheme, technique, days, form=form)
    day, after = next_day(before)

    def work(archive: Archive) -> None:
        archive.append(day, table(ROWS[day]), now=day)

    total = operations(source, tmp_path / "work", work)
    assert total > 8
    chance = random.Random(days)
    seen = set()
    for at, share in itertools.product(range(1, total + 1), shares):
        disk = FaultyDisk(copied(source, tmp_path / "work"), at)
        with pytest.raises(Crash):
            work(Archive.open(disk))
        disk.lose(chance, share)
        archive = Archive.open(Disk(disk.root))
        state = which(archive, before, after)
        seen.add(state.now)
        assert_nothing_leaks(archive)
        if state is before:
            work(archive)
        else:
            archive.advance(day)
        later, much_later = next_day(after)
        archive.append(later, table(ROWS[later]), now=later)
        assert_same(archive, much_later)
    assert seen == {before.now, after.now}


@pytest.mark.parametrize(("scheme", "technique"), REST)
def test_stopped_after_any_operation_it_is_yesterdays_or_todays(scheme, technique, tmp_path):
    crash_everywhere(tmp_path, scheme, technique, 5, (0.5,))


@pytest.mark.parametrize(("scheme", "technique"), ALL)
def test_the_same_with_runs_of_parquet(scheme, technique, tmp_path):
    crash_everywhere(tmp_path, scheme, technique, 5, (0.5,), "parquet")


@pytest.mark.slow
@pytest.mark.parametrize("days", range(1, 10))
@pytest.mark.parametrize(("scheme", "technique"), PAIRS)
def test_stopped_after_any_operation_of_any_day(scheme, technique, days, tmp_path):
    crash_everywhere(tmp_path, scheme, technique, days, (0.0, 0.5, 1.0))


@pytest.mark.parametrize(("scheme", "technique"), PAIRS)
def test_what_was_acknowledged_is_there_though_all_that_was_not_synced_is_lost(
    scheme, technique, tmp_path
):
    before = history(tmp_path, scheme, technique, 5)
    day, after = next_day(before)
    disk = FaultyDisk(tmp_path)
    archive = Archive.open(disk)
    archive.append(day, table(ROWS[day]), now=day)
    archive.vacuum()
    disk.lose(random.Random(day), 1.0)
    archive = Archive.open(Disk(tmp_path))
    assert which(archive, before, after) is after
    assert_nothing_leaks(archive)


@pytest.mark.parametrize("how", ["rebuild", "drain"])
def test_a_migration_that_is_stopped_leaves_the_old_layout_or_the_new(how, tmp_path):
    source = tmp_path / "source"
    before = history(source, "REINDEX++", "simple shadow", 5)

    def work(archive: Archive) -> None:
        archive.migrate(scheme="WATA", n=3, technique="in-place", format="parquet", how=how)

    total = operations(source, tmp_path / "work", work)
    chance, seen = random.Random(total), set()
    for at, share in itertools.product(range(1, total + 2), (0.5, 1.0)):
        disk = FaultyDisk(copied(source, tmp_path / "work"), at)
        with pytest.raises(Crash) if at <= total else contextlib.nullcontext():
            work(Archive.open(disk))
        disk.lose(chance, share)
        archive = Archive.open(Disk(disk.root))
        assert_same(archive, before)
        assert archive.verify() == []
        seen.add((at > total, archive.stat().settings.scheme))
        assert_nothing_leaks(archive)
        day, after = next_day(before)
        archive.append(day, table(ROWS[day]), now=day)
        assert_same(archive, after)
    assert seen == {(False, "REINDEX++"), (False, "WATA"), (True, "WATA")}


@pytest.mark.parametrize("days", [3, 9])
def test_moving_on_by_many_days_that_is_stopped_ends_with_one_of_them(days, tmp_path):
    source = tmp_path / "source"
    before = history(source, "RATA", "packed shadow", 5)
    total = operations(source, tmp_path / "work", lambda archive: archive.advance(5 + days))
    chance, seen = random.Random(total), set()
    for at in range(1, total + 1):
        disk = FaultyDisk(copied(source, tmp_path / "work"), at)
        with pytest.raises(Crash):
            Archive.open(disk).advance(5 + days)
        disk.lose(chance, 0.5)
        archive, state = Archive.open(Disk(disk.root)), before.copy()
        state.now = archive.stat().now
        seen.add(state.now)
        assert_same(archive, state)
        assert archive.verify() == []
        assert_nothing_leaks(archive)
        archive.advance(5 + days)
        state.now = 5 + days
        assert_same(archive, state)
    assert seen == ({5, 6, 7, 8} if days < WINDOW else {5, 14})


@pytest.mark.parametrize("technique", TECHNIQUES)
def test_a_vacuum_that_is_stopped_takes_nothing_that_is_needed(technique, tmp_path):
    """Nothing that was not synced is lost, or all of it, in turns; with the next technique the
    other way round.
    """
    source = tmp_path / "source"
    before = history(source, "REINDEX++", technique, 4, garbage=True)
    total = operations(source, tmp_path / "work", Archive.vacuum)
    chance = random.Random(1)
    for at in range(1, total + 1):
        disk = FaultyDisk(copied(source, tmp_path / "work"), at)
        with pytest.raises(Crash):
            Archive.open(disk).vacuum()
        disk.lose(chance, float((at + TECHNIQUES.index(technique)) % 2))
        archive = Archive.open(Disk(disk.root))
        assert_same(archive, before)
        assert archive.verify() == []
        assert_nothing_leaks(archive)
        assert_same(archive, before)


def test_a_vacuum_makes_the_newest_version_durable_before_it_takes_others_away(tmp_path):
    history(tmp_path, "DEL", "in-place", 3, garbage=True)
    disk = FaultyDisk(tmp_path)
    Archive.open(disk).vacuum()
    kinds = [name.split()[0] for name in disk.log]
    assert disk.log.index("sync versions") < kinds.index("rename") < kinds.index("delete")


def create_days(disk: Disk) -> Archive:
    return Archive.create(disk, SCHEMA, "key", window=4, scheme="DEL", n=2)


def create_lifetimes(disk: Disk) -> LifetimeIndex:
    return LifetimeIndex.create(disk, SCHEMA, "key", longest=8, interval=2)


@pytest.mark.parametrize("create", [create_days, create_lifetimes])
def test_creating_that_is_stopped_leaves_nothing_or_an_empty_archive(create, tmp_path):
    disk = FaultyDisk(tmp_path / "count" / "of" / "operations")
    create(disk)
    for at, share in itertools.product(range(1, disk.done + 2), (0.0, 0.5, 1.0)):
        path = tmp_path / f"{at}-{share}" / "not there" / "yet"
        faulty = FaultyDisk(path, at)
        with pytest.raises(Crash) if at <= disk.done else contextlib.nullcontext():
            create(faulty)
        faulty.lose(random.Random(at), share)
        if at > disk.done or Versions(Disk(path)).numbers():
            archive = open_archive(Disk(path))
        else:
            with pytest.raises(ArchiveError, match="no version of one"):
                open_archive(Disk(path))
            archive = create(Disk(path))
        assert archive.stat().now is None
        assert archive.verify() == []
        archive.vacuum()
        assert len(archive.disk.names("versions")) == 1


@pytest.mark.parametrize(("scheme", "technique", "fault"), FAILING)
def test_a_vacuum_that_fails_is_told_and_can_be_repeated(scheme, technique, fault, tmp_path):
    source = tmp_path / "source"
    before = history(source, scheme, technique, 4, garbage=True)
    total = operations(source, tmp_path / "work", Archive.vacuum)
    kinds = set()
    for at in range(1, total + 1):
        disk = FaultyDisk(copied(source, tmp_path / "work"), at, fault)
        archive = Archive.open(disk)
        with pytest.raises(StorageError):
            archive.vacuum()
        kinds.add(disk.log[at - 1].split()[0])
        assert_same(archive, before)
        assert archive.verify() == []
        assert_nothing_leaks(archive)
    assert kinds == {"make_folder", "sync", "rename", "delete"}


class TightDisk(Disk):
    """Takes so many bytes of each file of a kind, and no more."""

    def __init__(self, root: Path, suffix: str, room: int) -> None:
        super().__init__(root)
        self.suffix, self.room, self.refused = suffix, room, False

    def write(self, name: str, fill: Callable[..., None]) -> Written:
        def tight(sink):
            whole = sink.write

            def write(data):
                if sink.size + len(data) > self.room and self.suffix in name:
                    self.refused = True
                    whole(memoryview(data)[: max(0, self.room - sink.size)])
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                return whole(data)

            sink.write = write
            fill(sink)

        return super().write(name, tight)


@pytest.mark.parametrize("form", ["arrow", "parquet"])
@pytest.mark.parametrize("suffix", [".arrow", ".parquet", ".directory", "versions/"])
def test_a_disk_that_is_full_in_the_middle_of_a_file_is_told(form, suffix, tmp_path):
    path, refused = tmp_path / "archive", set()
    archive = Archive.create(
        Disk(path), SCHEMA, "key", window=3, scheme="REINDEX", n=1, format=form
    )
    archive.append(1, table(ROWS[1]), now=1)
    archive.append(2, table(ROWS[2]), now=2)
    plain = PlainList(3)
    for day in (1, 2):
        plain.append(day, ROWS[day])
    plain.now = 2
    for room in range(0, 1200, 100):
        disk = TightDisk(path, suffix, room)
        with contextlib.suppress(StorageError):
            Archive.open(disk).append(3, table(ROWS[3]), now=3)
            break
        assert disk.refused
        refused.add(room)
        assert_same(archive, plain)
        assert_nothing_leaks(archive)
    assert refused or suffix == {"arrow": ".parquet", "parquet": ".arrow"}[form]


@pytest.mark.parametrize(("scheme", "technique", "fault"), FAILING)
def test_an_operation_that_fails_is_told_and_can_be_repeated(scheme, technique, fault, tmp_path):
    source = tmp_path / "source"
    before = history(source, scheme, technique, 5)
    day, after = next_day(before)

    def work(archive: Archive) -> None:
        archive.append(day, table(ROWS[day]), now=day)

    log = log_of(source, tmp_path / "work", work)
    kinds = set()
    for at in range(1, len(log) + 1):
        disk = FaultyDisk(copied(source, tmp_path / "work"), at, fault)
        archive = Archive.open(disk)
        error: ArchiveError | None = None
        try:
            work(archive)
        except (StorageError, HalfwayError, OutcomeUnknownError) as found:
            error = found
            kinds.add((disk.log[at - 1].split()[0], type(error)))
        state = which(archive, before, after)
        if isinstance(error, StorageError | HalfwayError):
            assert state is (after if isinstance(error, HalfwayError) else before)
        if state is before:
            work(archive)
        assert_same(archive, after)
        archive.vacuum()
        assert files_of(disk) == named(archive)
    assert {kind for kind, _ in kinds} == {"write", "sync", "link"}
    halfway = {HalfwayError} if sum(name.startswith("link") for name in log) > 1 else set()
    assert {error for _, error in kinds} == {StorageError, OutcomeUnknownError} | halfway


def test_a_version_that_was_cut_short_is_called_damaged(tmp_path):
    history(tmp_path / "a", "DEL", "in-place", 2)
    archive = Archive.open(tmp_path / "a")
    newest = max((tmp_path / "a" / "versions").glob("*.json"))
    newest.write_bytes(newest.read_bytes()[:-20])
    with pytest.raises(DamagedError, match="restore"):
        archive.reader()


def test_an_archive_of_a_later_format_is_not_touched(tmp_path):
    history(tmp_path / "a", "DEL", "in-place", 2)
    newest = max((tmp_path / "a" / "versions").glob("*.json"))
    text = newest.read_text().replace('"windrow_archive": 1', '"windrow_archive": 3')
    newest.write_text(text)
    with pytest.raises(ArchiveError, match="newer Windrow"):
        Archive.open(tmp_path / "a")


@pytest.mark.parametrize("form", ["arrow", "parquet"])
def test_verify_finds_a_single_flipped_bit_in_every_file(form, tmp_path):
    archive = Archive.create(
        Disk(tmp_path), SCHEMA, "key", window=4, scheme="WATA", n=2, format=form
    )
    for day in (1, 2):
        archive.append(day, table(ROWS[day]), now=day)
    assert archive.verify() == []
    for path in (tmp_path / "runs").iterdir():
        if path.name.rpartition(".")[0] in named(archive):
            whole = path.read_bytes()
            flipped = bytearray(whole)
            flipped[len(whole) // 2] ^= 1
            path.write_bytes(flipped)
            assert [p.where for p in archive.verify()] == [f"runs/{path.name}"]
            path.write_bytes(whole)
