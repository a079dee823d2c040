"""Stopped after any file operation, an index is the one before the update or the one after."""

from __future__ import annotations

import errno
import itertools
import random
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pytest

from tests.archive.support.disks import Crash, FaultyDisk, copied
from windrow.archive.errors import OutcomeUnknownError, StorageError
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
REBUILD, NO_REBUILD = GridTechnique.REBUILD, GridTechnique.NO_REBUILD
OFTEN = [Grid(2, 2), Grid(2, 2, REBUILD), r_exp(3), d_ins(2), Grid(2, 3, assignment=Randomised(2))]
SELDOM = [
    Grid(3, 2),
    r_ins(2),
    d_exp(3),
    Grid(2, 2, NO_REBUILD, Chronological()),
    Grid(2, 2, REBUILD, Chronological()),
    Grid(2, 3, REBUILD, Randomised(2)),
]
GRIDS = [*OFTEN, *(pytest.param(grid, marks=pytest.mark.slow) for grid in SELDOM)]
FAULTS = (errno.ENOSPC, errno.EIO)
FAILING = [
    pytest.param(grid, fault, marks=() if grid in often else pytest.mark.slow)
    for fault, often in zip(FAULTS, (OFTEN[::2], OFTEN[1::2]), strict=True)
    for grid in (*OFTEN, *SELDOM)
]
"""Grids with one of the faults: what an error is called does not depend on the grid."""
LONGEST, INTERVAL, FULL = 8, 2, 12
"""At ``FULL`` every sub-index has been written to and expired from."""


def records(now: int) -> tuple[pa.Table, pa.Array]:
    lives = list(range(1, LONGEST + 1))
    table = pa.table({"k": [i % 3 for i in lives], "v": [100 * now + i for i in lives]}, SCHEMA)
    return table, pa.array([now + i for i in lives])


def update(index: LifetimeIndex, now: int) -> None:
    index.insert(now, *records(now))


def history(path, grid: Grid) -> None:
    index = LifetimeIndex.create(
        Disk(path), SCHEMA, "k", longest=LONGEST, interval=INTERVAL, grid=grid
    )
    for now in range(INTERVAL, FULL + 1, INTERVAL):
        update(index, now)
    index.vacuum()


def expected(now: int) -> list[int]:
    updates = range(INTERVAL, now + 1, INTERVAL)
    return [100 * at + i for at in updates for i in range(1, LONGEST + 1) if at + i > now]


def which(index: LifetimeIndex) -> int:
    """The instant of the last update, after all answers have been compared."""
    now = index.contents().now
    with index.reader() as reader:
        assert sorted(reader.scan().column("v").to_pylist()) == expected(now)
        for key in range(3):
            found = sorted(reader.probe(key).column("v").to_pylist())
            assert found == [v for v in expected(now) if v % 100 % 3 == key]
    assert index.verify() == []
    return now


def assert_nothing_leaks(index: LifetimeIndex) -> None:
    index.vacuum()
    named = {run.name for run in index.contents().runs.values()}
    assert {name.rpartition(".")[0] for name in index.disk.names("runs")} == named
    assert len(index.disk.names("versions")) == 1
    assert index.disk.names("leases") == index.disk.names("retired") == []


def operations(source, path) -> int:
    disk = FaultyDisk(copied(source, path))
    update(LifetimeIndex.open(disk), FULL + INTERVAL)
    return disk.done


SHARES = (0.0, 0.5, 1.0)
"""How much of what was not synced is lost."""


@pytest.mark.parametrize("grid", GRIDS, ids=lambda grid: grid.name)
def test_stopped_after_any_operation_it_is_the_index_before_or_after(grid, tmp_path):
    """Each operation with one of the shares; the last two, which publish, with all of them."""
    source, work = tmp_path / "source", tmp_path / "work"
    history(source, grid)
    total = operations(source, work)
    one = [(at, SHARES[at % len(SHARES)]) for at in range(1, total - 1)]
    crash_at([*one, *itertools.product((total - 1, total), SHARES)], source, work, grid)


@pytest.mark.slow
@pytest.mark.parametrize("grid", GRIDS, ids=lambda grid: grid.name)
def test_stopped_after_any_operation_with_any_loss(grid, tmp_path):
    source, work = tmp_path / "source", tmp_path / "work"
    history(source, grid)
    everywhere = itertools.product(range(1, operations(source, work) + 1), SHARES)
    crash_at(everywhere, source, work, grid)


def crash_at(points: Iterable[tuple[int, float]], source: Path, work: Path, grid: Grid) -> None:
    """Stop after the given operations; what is left is one of the two indexes, and goes on."""
    seen, chance = set(), random.Random(grid.size)
    for at, share in points:
        disk = FaultyDisk(copied(source, work), at)
        with pytest.raises(Crash):
            update(LifetimeIndex.open(disk), FULL + INTERVAL)
        disk.lose(chance, share)
        index = LifetimeIndex.open(Disk(work))
        seen.add(now := which(index))
        assert_nothing_leaks(index)
        for later in range(now + INTERVAL, FULL + 3 * INTERVAL, INTERVAL):
            update(index, later)
            assert which(index) == later
    assert seen == {FULL, FULL + INTERVAL}


@pytest.mark.parametrize("grid", GRIDS, ids=lambda grid: grid.name)
def test_what_was_acknowledged_is_there_though_all_that_was_not_synced_is_lost(grid, tmp_path):
    history(tmp_path, grid)
    disk = FaultyDisk(tmp_path)
    update(LifetimeIndex.open(disk), FULL + INTERVAL)
    disk.lose(random.Random(grid.size), 1.0)
    assert which(LifetimeIndex.open(Disk(tmp_path))) == FULL + INTERVAL


@pytest.mark.parametrize(
    ("grid", "fault"), FAILING, ids=lambda it: it.name if isinstance(it, Grid) else None
)
def test_an_operation_that_fails_is_told_and_can_be_repeated(grid, fault, tmp_path):
    source, work = tmp_path / "source", tmp_path / "work"
    history(source, grid)
    told = set()
    for at in range(1, operations(source, work) + 1):
        index = LifetimeIndex.open(FaultyDisk(copied(source, work), at, fault))
        try:
            update(index, FULL + INTERVAL)
        except (StorageError, OutcomeUnknownError) as error:
            told.add(type(error))
        if which(index) == FULL:
            update(index, FULL + INTERVAL)
        assert which(index) == FULL + INTERVAL
    assert told == {StorageError, OutcomeUnknownError}
