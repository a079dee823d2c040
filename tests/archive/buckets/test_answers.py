"""An archive in an object store is an archive: the same answers, the same promises."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tests.archive.support.plain import (
    SCHEMA,
    PlainList,
    assert_same,
    bag,
    files_of,
    named,
    table,
)
from windrow.archive import open as open_archive
from windrow.archive.archive import Archive
from windrow.archive.errors import ArchiveError, ConflictError
from windrow.archive.format.bucket_disk import BucketDisk
from windrow.archive.format.disk import Disk
from windrow.archive.lifetimes.lifetime_index import LifetimeIndex
from windrow.archive.lifetimes.partition_grid import Grid
from windrow.archive.wave.schemes import SCHEMES
from windrow.archive.wave.wave import TECHNIQUES

WINDOW = 3
CASES = [
    (scheme, TECHNIQUES[at % len(TECHNIQUES)], ("arrow", "parquet")[at % 2])
    for at, scheme in enumerate(SCHEMES)
]
"""Every scheme, technique and format."""


def rows(day: int) -> list[tuple[str | None, int]]:
    return [("a", day), ("b", day), (None, day), ("ab" * (day % 2), 100 + day)]


@pytest.mark.parametrize(("scheme", "technique", "form"), CASES)
def test_every_scheme_answers_as_a_plain_list_does(scheme, technique, form, url):
    archive = Archive.create(
        url, SCHEMA, "key", window=WINDOW, scheme=scheme, n=2, technique=technique, format=form
    )
    plain = PlainList(WINDOW)
    for day in range(1, 6):
        archive.append(day, table(rows(day)), now=day)
        plain.append(day, rows(day))
        plain.now = day
        assert_same(Archive.open(url), plain)
    assert archive.verify() == []
    assert archive.vacuum().versions > 0
    assert_same(archive, plain)
    assert archive.verify() == []
    assert files_of(archive.disk) == named(archive)
    for folder in ("leases", "retired", "signs", "lost", "fences", ""):
        assert archive.disk.names(folder) == []


@pytest.mark.parametrize("how", ["rebuild", "drain"])
def test_the_layout_of_an_archive_changes_in_use(how, url):
    archive = Archive.create(url, SCHEMA, "key", window=WINDOW, scheme="WATA", n=2)
    plain = PlainList(WINDOW)
    for day in range(1, 8):
        archive.append(day, table(rows(day)), now=day)
        plain.append(day, rows(day))
        plain.now = day
        if day == 4:
            archive.migrate(scheme="DEL", n=1, format="parquet", how=how)
        assert_same(archive, plain)
    assert archive.verify() == []


def test_an_index_of_lifetimes_forgets_each_record_in_time(url):
    index = LifetimeIndex.create(url, SCHEMA, "key", longest=4, interval=1, grid=Grid(2, 2))
    for now in range(1, 8):
        index.insert(now, table([("a", now), ("b", now)]), pa.array([now + 2, now + 4]))
    with open_archive(url).reader() as reader:
        assert bag(reader.scan()) == [("a", 6), ("a", 7), *(("b", at) for at in (4, 5, 6, 7))]
    index.migrate(grid=Grid(1, 2), how="rebuild")
    assert index.verify() == []
    index.vacuum()
    assert files_of(index.disk) == {run.name for run in index.contents().runs.values()}


def test_a_second_archive_in_one_place_is_refused_and_none_is_told(url):
    with pytest.raises(ArchiveError, match="found no version of one; create it first"):
        open_archive(url)
    Archive.create(url, SCHEMA, "key", window=WINDOW, scheme="WATA", n=2)
    with pytest.raises(ConflictError, match="found an archive"):
        Archive.create(url, SCHEMA, "key", window=WINDOW, scheme="DEL", n=1)
    assert isinstance(open_archive(url), Archive)


def test_days_are_appended_from_files_and_many_records_are_found(url, tmp_path):
    """More than one block of sums, one request for a piece, and one run."""
    archive = Archive.create(url, SCHEMA, "key", window=WINDOW, scheme="DEL", n=1)
    count = 30_000
    for day in (1, 2):
        keys = [f"k{number % 997:04d}" for number in range(count)]
        archive.append(day, pa.table([keys, range(count)], schema=SCHEMA), now=day)
    with Archive.open(url).reader() as reader:
        assert len(reader.probe("k0500")) == 2 * len(range(500, count, 997))
        assert len(reader.probe("k0500", 2, 2)) == len(range(500, count, 997))
        assert reader.scan().num_rows == 2 * count


def test_no_operation_of_a_disk_is_done_to_files_here():
    """Whatever a disk learns to do, an object store must do in its own way."""
    shared = {"copy", "map_pages", "sync_all"}  # made of other operations
    public = {name for name, value in vars(Disk).items() if callable(value) and name[0] != "_"}
    assert public - shared <= vars(BucketDisk).keys()
