"""Which sub-indices an update touches, from the files that it opens and writes (3.2, 4.2).

What the plan says is not asked: a run belongs to the sub-index in which the periods that its own
entries are stamped with cross.
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from windrow.archive.format.disk import Disk
from windrow.archive.lifetimes.lifetime_index import LifetimeIndex
from windrow.archive.lifetimes.partition_grid import (
    Chronological,
    Grid,
    GridTechnique,
    Randomised,
    d_exp,
    d_ins,
    r_exp,
    r_ins,
)

SCHEMA = pa.schema([("k", pa.int64()), ("v", pa.int64())])
INTERVAL, P = 3, 8
LONGEST = INTERVAL * P
REBUILD = GridTechnique.REBUILD


class WatchedDisk(Disk):
    """Remembers the runs of which a byte is read, whichever way, and those that are written."""

    def __init__(self, root) -> None:
        super().__init__(root)
        self.opened: set[str] = set()
        self.written: set[str] = set()

    def write(self, name, fill):
        _note(self.written, name)
        return super().write(name, fill)

    def map(self, name):
        _note(self.opened, name)
        return super().map(name)

    def read(self, name):
        _note(self.opened, name)
        return super().read(name)

    def _pieces(self, name):  # of `sum` and `copy`
        _note(self.opened, name)
        return super()._pieces(name)


def _note(names: set[str], file: str) -> None:
    folder, _, name = file.partition("/")
    if folder == "runs":
        names.add(name.partition(".")[0])


def cells(index: LifetimeIndex) -> dict[str, int]:
    """The sub-index of each run, by the stamps of its entries."""
    found = {}
    grid, periods = index.grid, index.periods
    for ref in index.contents().runs.values():
        stamps = pa.ipc.open_file(index.disk.path(ref.entries_file)).read_all()
        days = stamps.column("_day").cast(pa.int32()).to_pylist()
        ends = [periods.of(end) for end in stamps.column("_exp").to_pylist()]
        places = {grid.subindex(*pair, periods) for pair in zip(days, ends, strict=True)}
        assert len(places) == 1
        found[ref.name] = places.pop()
    return found


def updates(path, grid: Grid):
    """Updates of a full index: sub-indices that were read, that were written, and that changed."""
    disk = WatchedDisk(path)
    LifetimeIndex.create(disk, SCHEMA, "k", longest=LONGEST, interval=INTERVAL, grid=grid)
    for now in range(INTERVAL, 2 * LONGEST + INTERVAL, INTERVAL):
        index = LifetimeIndex.open(disk)  # which has no run open yet
        full = now > LONGEST
        before = cells(index) if full else {}
        disk.opened.clear()
        disk.written.clear()
        lives = range(1, LONGEST + 1)
        table = pa.table({"k": [life % 3 for life in lives], "v": lives}, SCHEMA)
        index.insert(now, table, pa.array([now + life for life in lives]))
        if full:
            after = cells(index)
            read = {before[name] for name in disk.opened & set(before)}
            written = {after[name] for name in disk.written}
            yield read, written, {place for _, place in before.items() ^ after.items()}


ROUND_ROBIN = [Grid(2, 2), Grid(4, 4), Grid(2, 8), Grid(8, 2), Grid(3, 2)]
OTHERS = [Grid(4, 4, assignment=Chronological()), Grid(3, 3, assignment=Randomised(1))]


def bound(grid: Grid) -> int:
    return grid.insertions + grid.expiries - 1


@pytest.mark.parametrize("grid", ROUND_ROBIN, ids=lambda grid: grid.name)
def test_rebuilding_changes_g_plus_e_minus_1_sub_indices_each_time(grid, tmp_path):
    for read, written, changed in updates(tmp_path, replace(grid, technique=REBUILD)):
        assert len(changed) == bound(grid)
        assert set() < read <= written <= changed


@pytest.mark.parametrize("make", [r_ins, r_exp])
def test_rebuilt_indexes_that_are_cut_one_way_change_everywhere(make, tmp_path):
    # Where nobody has to go there is nothing to rebuild, so not every update changes all.
    found = [len(changed) for *_, changed in updates(tmp_path, make(4))]
    assert max(found) == 4
    assert sum(found) / len(found) > 3


@pytest.mark.parametrize("grid", [*ROUND_ROBIN, *OTHERS, d_ins(4), d_exp(4)], ids=lambda g: g.name)
def test_without_rebuilding_no_more_change_and_only_they_are_read(grid, tmp_path):
    for read, written, changed in updates(tmp_path, grid):
        assert 1 <= len(written) <= len(changed) <= bound(grid)
        assert read <= written <= changed


@pytest.mark.parametrize("grid", OTHERS, ids=lambda grid: grid.name)
def test_dealt_otherwise_rebuilding_changes_no_more(grid, tmp_path):
    for read, written, changed in updates(tmp_path, replace(grid, technique=REBUILD)):
        assert len(changed) <= bound(grid)
        assert set() < read <= written <= changed
