"""Another layout for an archive in use: the same answers before, while and after."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from tests.archive.support.disks import copied
from tests.archive.support.plain import SCHEMA, PlainList, assert_same, bag, table
from windrow.archive.archive import Archive
from windrow.archive.errors import ConflictError
from windrow.archive.wave.migrate import Target, migrate
from windrow.archive.wave.schemes import SCHEMES, scheme_of
from windrow.archive.wave.wave import Wave

WINDOW = 5
PAIRS = list(itertools.permutations(SCHEMES, 2))


def rows_of(day: int) -> list[tuple[str | None, int]]:
    return [("a", day), ("b", 10 * day), (None, day)][: 1 + day % 3]


def filled(path, scheme="WATA", technique="in-place", days=8, form="arrow"):
    archive = Archive.create(
        path, SCHEMA, "key", window=WINDOW, scheme=scheme, n=2, technique=technique, format=form
    )
    plain = PlainList(WINDOW)
    for day in range(1, days + 1):
        take_day(archive, plain, day)
    return archive, plain


def take_day(archive, plain, day):
    archive.append(day, table(rows_of(day)), now=day)
    plain.append(day, rows_of(day))
    plain.now = day


def well(archive, plain):
    assert archive.verify() == []
    assert_same(archive, plain)


@pytest.fixture(scope="module")
def filled_once(tmp_path_factory) -> dict[str, tuple[Path, PlainList]]:
    """A filled archive of each scheme, to be copied, and the same as a list."""
    paths = {scheme: tmp_path_factory.mktemp("filled") / "archive" for scheme in SCHEMES}
    return {scheme: (path, filled(path, scheme)[1]) for scheme, path in paths.items()}


@pytest.mark.parametrize("how", ["rebuild", "drain"])
@pytest.mark.parametrize(("old", "new"), PAIRS)
def test_every_scheme_becomes_every_other_and_goes_on(tmp_path, filled_once, old, new, how):
    """What ``verify`` says of the versions in between is seen by ``test_verify_versions``."""
    path, before = filled_once[old]
    archive, plain = Archive.open(copied(path, tmp_path / "archive")), before.copy()
    archive.migrate(scheme=new, n=3, how=how)
    well(archive, plain)
    for day in range(9, 9 + 2 * WINDOW):
        take_day(archive, plain, day)
        assert_same(archive, plain)
        if day in (9, 8 + WINDOW):
            assert archive.verify() == []
    archive.vacuum()
    well(archive, plain)
    found = archive.stat()
    assert (found.settings.scheme, found.settings.n) == (new, 3)
    assert not any(index.name.startswith("old") for index in found.indexes)


def test_draining_writes_no_entries_and_ends_with_the_window(tmp_path):
    archive, plain = filled(tmp_path)
    before = {run.name for run in (tmp_path / "runs").iterdir()}
    assert archive.migration(scheme="DEL", n=1, how="drain").bytes_written == 0
    archive.migrate(scheme="DEL", n=1, how="drain")
    assert {run.name for run in (tmp_path / "runs").iterdir()} == before
    take_day(archive, plain, 9)
    archive.migrate(scheme="RATA", n=2, how="drain")  # again, before the first is through
    archive.migrate(scheme="REINDEX", n=2)  # and all that at once
    well(archive, plain)


def test_another_format_rewrites_every_run(tmp_path):
    archive, plain = filled(tmp_path, "WATA", "packed shadow")
    cost = archive.migration(format="parquet")
    archive.migrate(format="parquet")
    archive.vacuum()
    well(archive, plain)
    assert not list((tmp_path / "runs").glob("*.arrow"))
    assert cost.bytes_written > 0
    take_day(archive, plain, 9)
    well(archive, plain)


def test_runs_of_the_format_before_that_still_drain_are_rewritten_as_well(tmp_path):
    archive, plain = filled(tmp_path, "WATA", "packed shadow")
    archive.migrate(format="parquet", how="drain")
    assert archive.migration(format="parquet").bytes_written > 0
    archive.migrate(format="parquet")
    archive.vacuum()
    well(archive, plain)
    assert not list((tmp_path / "runs").glob("*.arrow"))


def test_a_shorter_window_forgets_and_a_longer_one_has_nothing_to_remember(tmp_path):
    archive, plain = filled(tmp_path, "DEL")
    archive.migrate(window=3)
    plain.window = 3
    well(archive, plain)
    archive.migrate(window=6, n=3)
    plain.window = 6
    plain.rows = [row for row in plain.rows if row[2] > 5]
    well(archive, plain)


@pytest.mark.parametrize("ways", list(itertools.product(["rebuild", "drain"], repeat=2)))
@pytest.mark.parametrize("scheme", ["DEL", "WATA"])
def test_what_has_expired_does_not_come_back_with_a_longer_window(tmp_path, scheme, ways):
    shorter, longer = ways
    archive, plain = filled(tmp_path, scheme)
    archive.migrate(window=2, how=shorter)
    plain.window = 2
    well(archive, plain)
    archive.migrate(window=WINDOW, how=longer)
    plain.rows = plain.seen()
    plain.window = WINDOW
    for day in range(9, 9 + 2 * WINDOW):
        well(archive, plain)
        take_day(archive, plain, day)


@pytest.mark.parametrize("how", ["rebuild", "drain"])
def test_days_that_a_soft_window_still_holds_do_not_come_back_with_a_longer_one(tmp_path, how):
    archive, plain = filled(tmp_path, "WATA")
    archive.migrate(window=2 * WINDOW, how=how)
    plain.rows = plain.seen()
    plain.window = 2 * WINDOW
    well(archive, plain)


def test_days_that_come_while_the_window_is_rebuilt_are_caught_up_with(tmp_path):
    archive, plain = filled(tmp_path, "DEL")
    other = Archive.open(tmp_path)
    with archive._versions.lease() as lease:
        for day in (9, 10):
            take_day(other, plain, day)
        other.append(14, table([("z", 1)]))
        plain.append(14, [("z", 1)])
        settings = Wave.of(lease.manifest).settings
        target = Target(settings.__class__(WINDOW, "REINDEX", 3, settings.technique), "arrow")
        migrate(archive.disk, lease, archive._opened, target)
    well(archive, plain)
    assert archive.stat().settings.scheme == "REINDEX"
    for day in (11, 12, 13):
        take_day(archive, plain, day)
        well(archive, plain)
    archive.advance(14)
    plain.now = 14
    well(archive, plain)


def test_two_migrations_at_once_are_a_conflict(tmp_path):
    archive, plain = filled(tmp_path)
    with archive._versions.lease() as lease:
        Archive.open(tmp_path).migrate(scheme="DEL")
        target = Target(Wave.of(lease.manifest).settings, "arrow")
        with pytest.raises(ConflictError):
            migrate(archive.disk, lease, archive._opened, target)
    well(archive, plain)


def test_a_reader_keeps_its_answer_while_the_archive_migrates(tmp_path):
    archive, _ = filled(tmp_path, "RATA")
    with archive.reader() as reader:
        before = bag(reader.scan())
        archive.migrate(scheme="DEL", n=1)
        archive.vacuum()
        assert bag(reader.scan()) == before


def test_an_empty_archive_just_changes_its_settings(tmp_path):
    archive = Archive.create(tmp_path, SCHEMA, "key", window=4, scheme="WATA", n=2)
    assert archive.migration(scheme="DEL").bytes_written == 0
    archive.migrate(scheme="DEL", n=1)
    plain = PlainList(4)
    take_day(archive, plain, 3)
    well(archive, plain)
    assert scheme_of(archive.stat().settings.scheme).hard
