"""What whoever listens is told while an archive works: true numbers, and the last of them all."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.archive.support.plain import SCHEMA, table
from windrow.archive.archive import Archive
from windrow.archive.format.disk import Disk
from windrow.archive.lifetimes.lifetime_index import LifetimeIndex
from windrow.archive.lifetimes.partition_grid import Grid, GridTechnique
from windrow.archive.progress_callback import Reached
from windrow.archive.records import rows_of

ROWS = table([("a", 1), ("b", 2)])


@pytest.fixture
def archive(tmp_path):
    disk = Disk(tmp_path)
    made = Archive.create(disk, SCHEMA, "key", window=4, scheme="DEL", n=2, technique="in-place")
    made.append_days(dict.fromkeys(range(1, 5), ROWS), now=4)
    return made


@pytest.fixture
def index(tmp_path):
    disk, grid = Disk(tmp_path), Grid(2, 2, GridTechnique.REBUILD)
    made = LifetimeIndex.create(disk, SCHEMA, "key", longest=8, interval=2, grid=grid)
    for now in (2, 4, 6):
        made.insert(now, ROWS, pa.array([now + 3, now + 6]))
    return made


def names(archive):
    return {path.name for path in (archive.disk.root / "runs").iterdir()}


def sizes(archive, files):
    return sum((archive.disk.root / "runs" / name).stat().st_size for name in files)


@pytest.mark.parametrize("kind", ["archive", "index"])
def test_verify_tells_the_runs_and_bytes_that_it_has_read(kind, request):
    opened, told = request.getfixturevalue(kind), []
    opened.vacuum()
    assert opened.verify(told.append) == []
    runs = len(names(opened)) // 2
    assert [(t.what, t.done, t.of) for t in told] == [("runs", i, runs) for i in range(runs + 1)]
    assert told[0].bytes == 0
    assert told[-1].bytes == sizes(opened, names(opened)) == opened.stat().bytes


@pytest.mark.parametrize("kind", ["archive", "index"])
def test_vacuum_tells_the_files_and_bytes_that_it_has_removed(kind, request):
    opened, told = request.getfixturevalue(kind), []
    opened.migrate(format="parquet")
    before, size = names(opened), sizes(opened, names(opened))
    done = opened.vacuum(told.append)
    gone = before - names(opened)
    assert [(t.what, t.done, t.of) for t in told] == [
        ("files", i, len(gone)) for i in range(1, len(gone) + 1)
    ]
    assert done.files == len(gone) > 0
    assert told[-1].bytes == done.bytes == size - sizes(opened, names(opened))


def test_append_tells_the_days_it_has_written_and_then_those_it_has_moved_on(archive):
    told = []
    archive.append_days({6: ROWS, 7: ROWS}, now=7, progress=told.append)
    assert told == [
        *(Reached("days written", i, 2) for i in (1, 2)),
        *(Reached("days added", i, 3) for i in (1, 2, 3)),
    ]


def test_advance_tells_the_days_it_has_moved_on_each_once_it_is_there(archive):
    told = []
    archive.advance(6, progress=lambda reached: told.append((reached, archive.stat().now)))
    assert told == [(Reached("days added", i, 2), 4 + i) for i in (1, 2)]
    told.clear()
    archive.advance(99, progress=lambda reached: told.append((reached, archive.stat().now)))
    assert told == [(Reached("days added", 1, 1), 99)]


def test_an_update_of_a_grid_tells_the_runs_it_has_written(index):
    told, before = [], names(index)
    done = index.insert(8, ROWS, pa.array([11, 14]), progress=told.append)
    count = len(done.step.writes)
    assert [(t.what, t.done, t.of) for t in told] == [
        ("runs", i, count) for i in range(1, count + 1)
    ]
    assert told[-1].bytes == done.bytes_written == sizes(index, names(index) - before) > 0
    told.clear()
    count = len(index.advance(12, progress=told.append).step.writes)
    assert [(t.done, t.of) for t in told] == [(i, count) for i in range(1, count + 1)]


def test_a_migration_tells_the_runs_it_has_written(archive):
    told, before = [], names(archive)
    archive.migrate(n=1, format="parquet", progress=told.append)
    new = names(archive) - before
    assert told == [Reached("runs", 1, 1, sizes(archive, new))]
    told.clear()
    archive.migrate(n=3, how="drain", progress=told.append)
    assert told == []


def test_a_migration_of_a_grid_tells_what_is_dealt_out_and_how_many_sub_indices_are_done(index):
    told = []
    index.migrate(grid=Grid(1, 3), progress=told.append)
    dealt = [t for t in told if t.what == "runs distributed"]
    assert [t.done for t in dealt] == list(range(1, dealt[-1].of + 1))
    assert [t for t in told if t.what == "sub-indices"] == [
        Reached("sub-indices", i, 3) for i in range(4)
    ]


def test_reading_tells_the_files_and_bytes_that_are_read(tmp_path):
    files, told = [tmp_path / f"{i}.parquet" for i in range(3)], []
    for path in files:
        pq.write_table(ROWS, path)
    assert rows_of(files, SCHEMA, progress=told.append).num_rows == 6
    size = files[0].stat().st_size
    assert told == [Reached("files", i, 3, i * size) for i in (1, 2, 3)]
