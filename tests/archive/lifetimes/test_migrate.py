"""Another partitioning for an index in use: the same answers before, while and after."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import pyarrow as pa
import pytest

from tests.archive.support.disks import Crash, FaultyDisk, copied
from windrow.archive.errors import ArchiveError, ConflictError, LifetimeError
from windrow.archive.format.disk import Disk
from windrow.archive.lifetimes import placement as spread
from windrow.archive.lifetimes.index_contents import Contents
from windrow.archive.lifetimes.lifetime_index import LifetimeIndex
from windrow.archive.lifetimes.migrate import migrate, target_of
from windrow.archive.lifetimes.partition_grid import (
    Chronological,
    Grid,
    GridTechnique,
    Randomised,
    d_ins,
    r_exp,
)
from windrow.archive.versions.versions import Versions

SCHEMA = pa.schema([("k", pa.int64()), ("v", pa.int64())])
LONGEST, INTERVAL, FULL = 8, 2, 13
"""``FULL`` is the instant of the last update of ``filled``, in the middle of a period."""
REBUILD = GridTechnique.REBUILD
LAYOUTS = [
    Grid(2, 2),
    Grid(3, 2, REBUILD),
    Grid(2, 4, GridTechnique.NO_REBUILD, Chronological()),
    Grid(4, 3, REBUILD, Randomised(3)),
    Grid(2, 2, REBUILD),
    r_exp(3),
    d_ins(1),
]
PAIRS = [
    (one.name, LAYOUTS[(place + step) % len(LAYOUTS)].name)
    for place, one in enumerate(LAYOUTS)
    for step in (1, 3)
]
"""From and to each layout, twice."""
BY_NAME = {grid.name: grid for grid in LAYOUTS}
HOWS = ["rebuild", "drain"]


def records(now: int) -> tuple[pa.Table, pa.Array]:
    lives = list(range(1, LONGEST + 1))
    table = pa.table({"k": [i % 3 for i in lives], "v": [100 * now + i for i in lives]}, SCHEMA)
    return table, pa.array([now + i for i in lives])


def insert(index: LifetimeIndex, now: int) -> None:
    index.insert(now, *records(now), batch=("source", now))


def filled(path, grid: Grid, form="arrow", disk=Disk) -> LifetimeIndex:
    index = LifetimeIndex.create(
        disk(path), SCHEMA, "k", longest=LONGEST, interval=INTERVAL, grid=grid, format=form
    )
    for now in range(1, FULL + 1):
        insert(index, now)
    return index


def expected(now: int) -> list[int]:
    return [100 * at + i for at in range(1, now + 1) for i in range(1, LONGEST + 1) if at + i > now]


def well(index: LifetimeIndex, now: int) -> None:
    assert index.verify() == []
    assert index.contents().now == now
    assert index.contents().batches == {"source": now}
    with index.reader() as reader:
        assert sorted(reader.scan().column("v").to_pylist()) == expected(now)
        for key in range(3):
            found = sorted(reader.probe(key).column("v").to_pylist())
            assert found == [v for v in expected(now) if v % 100 % 3 == key]
    for part in index.contents().partitions:
        runs = [run for runs in part.state.subindices for run in runs]
        assert all(run.live(part.state.over) for run in runs)
        assert part.state.stored_records() <= 2 * sum(part.state.sizes())
        if part.grid.technique is REBUILD:
            assert all(len(runs) <= 1 for runs in part.state.subindices)
            assert part.state.stored_records() == sum(part.state.sizes())


def numbered(index: LifetimeIndex) -> dict[int, str]:
    """The run that each number was given to, of all versions: none may have been vacuumed."""
    versions, found = Versions(index.disk), {}
    for version in versions.numbers():
        for number, ref in Contents.of(versions.read(version)).runs.items():
            assert found.setdefault(number, ref.name) == ref.name
    assert len(set(found.values())) == len(found)
    return found


@pytest.fixture(scope="module")
def filled_once(tmp_path_factory) -> dict[str, Path]:
    """The directory of a filled index of each layout, to be copied."""
    paths = {grid.name: tmp_path_factory.mktemp("filled") / "index" for grid in LAYOUTS}
    for name, path in paths.items():
        filled(path, BY_NAME[name])
    return paths


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize(("old", "new"), PAIRS)
def test_layouts_become_others_and_go_on(tmp_path, filled_once, old, new, how):
    index = LifetimeIndex.open(Disk(copied(filled_once[old], tmp_path / "index")))
    index.migrate(grid=BY_NAME[new], how=how)
    well(index, FULL)
    for now in range(FULL + 1, FULL + LONGEST + 2):
        insert(index, now)
        if now % 2:
            well(index, now)
    assert index.contents().draining == ()
    assert index.stat().grid == BY_NAME[new]
    assert max(numbered(index)) < index.contents().next_run
    index.vacuum()
    well(index, FULL + LONGEST + 1)


@pytest.mark.parametrize("old", ["NoRebuild2x2", "Rebuild2x2"])
def test_draining_writes_nothing_and_is_through_when_it_said(tmp_path, old):
    index = filled(tmp_path, BY_NAME[old])
    before = set(index.disk.names("runs"))
    cost = index.migration(grid=Grid(3, 3), how="drain")
    index.migrate(grid=Grid(3, 3), how="drain")
    assert (cost.bytes_written, set(index.disk.names("runs"))) == (0, before)
    assert [one.name for one in index.stat().subindices][9:] == ["old I1", "old I2", "old I3",
                                                                 "old I4"]  # fmt: skip
    over = index.periods.over(FULL)
    last = index.periods.last(over + cost.days)
    index.advance(last - 1)
    assert index.contents().draining
    index.advance(last)
    assert index.contents().draining == ()


def test_draining_twice_and_rebuilding_all_of_it_leaves_one_partitioning(tmp_path):
    index = filled(tmp_path, Grid(2, 2))
    index.migrate(grid=Grid(3, 2, REBUILD), how="drain")
    insert(index, FULL + 1)
    index.migrate(grid=Grid(1, 3), how="drain")
    insert(index, FULL + 2)
    well(index, FULL + 2)
    names = {one.name for one in index.stat().subindices}
    assert {"I1", "old I1", "old I1 (2)"} <= names
    touched = {name for step in index.plan(2) for name in step.expired}
    assert touched - {"I1", "I2", "I3"} <= names
    assert any(name.startswith("old") for name in touched)
    index.migrate(grid=Grid(2, 2))
    well(index, FULL + 2)
    assert index.contents().draining == ()


@pytest.mark.parametrize("hows", list(itertools.product(HOWS, repeat=3)), ids=" ".join)
def test_no_number_of_a_run_is_used_twice_in_whichever_partitioning(tmp_path, filled_once, hows):
    index = LifetimeIndex.open(Disk(copied(filled_once[Grid(2, 2).name], tmp_path / "index")))
    now, used = FULL, len(numbered(index))
    for how, grid in zip(hows, (Grid(3, 2, REBUILD), r_exp(3), Grid(2, 2)), strict=True):
        index.migrate(grid=grid, how=how)
        for _ in range(3):
            now += 1
            insert(index, now)
        assert len(numbered(index)) > used
        used = len(numbered(index))
    index.advance(now + LONGEST + INTERVAL)  # nothing is left that has a number
    assert index.contents().runs == {}
    insert(index, now + LONGEST + INTERVAL + 1)
    assert len(numbered(index)) > used


@pytest.mark.parametrize("how", HOWS)
def test_another_format_is_that_of_new_runs(tmp_path, how):
    index = filled(tmp_path, Grid(2, 2))
    index.migrate(format="parquet", how=how)
    well(index, FULL)
    insert(index, FULL + 1)
    well(index, FULL + 1)
    for now in range(FULL + 2, FULL + LONGEST + 2):
        insert(index, now)
    index.vacuum()
    assert {run.format for run in index.contents().runs.values()} == {"parquet"}
    well(index, FULL + LONGEST + 1)


def test_what_lies_where_it_should_is_not_written(tmp_path):
    index = filled(tmp_path, Grid(2, 2, REBUILD))
    before = set(index.disk.names("runs"))
    for changes in ({"grid": Grid(2, 2)}, {"longest": 3 * LONGEST}):
        assert index.migration(**changes).bytes_written == 0
        index.migrate(**changes)
    assert set(index.disk.names("runs")) == before
    well(index, FULL)
    insert(index, FULL + 1)
    well(index, FULL + 1)


def test_records_may_live_longer_after_a_migration_and_never_shorter(tmp_path):
    index = filled(tmp_path, Grid(2, 2, GridTechnique.NO_REBUILD, Chronological()))
    table = records(FULL + 1)[0].slice(0, 1)
    with pytest.raises(LifetimeError, match="up to"):
        index.insert(FULL + 1, table, pa.array([FULL + 1 + LONGEST + 4]))
    other = LifetimeIndex.open(index.disk)
    index.migrate(longest=LONGEST + 4)
    well(index, FULL)
    other.insert(FULL + 1, table, pa.array([FULL + 1 + LONGEST + 4]))
    assert other.verify() == []
    with pytest.raises(LifetimeError, match="or more"):
        index.migrate(longest=LONGEST)


def test_what_cannot_be_is_refused_and_changes_nothing(tmp_path):
    index = filled(tmp_path, Grid(2, 2))
    with pytest.raises(LifetimeError, match="at most 4 partitions"):
        index.migrate(grid=Grid(5, 2))
    with pytest.raises(ArchiveError, match="arrow or parquet"):
        index.migrate(format="csv")
    assert index.contents().grid == Grid(2, 2)


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("new", ["Rebuild3x2", "NoRebuild2x4chr"])
@pytest.mark.parametrize("meanwhile", [[13], [14], [14, 15, 16, 17], [13, 13, 14, 30], [40]])
def test_what_comes_meanwhile_is_caught_up_with(tmp_path, filled_once, new, how, meanwhile):
    disk = Disk(copied(filled_once[Grid(2, 2).name], tmp_path / "index"))
    index, other = LifetimeIndex.open(disk), LifetimeIndex.open(disk)
    held = [(100 * at + i, at + i) for at in range(1, FULL + 1) for i in range(1, LONGEST + 1)]
    with index._versions.lease() as lease:
        for count, now in enumerate(meanwhile):
            table = pa.table({"k": [0, 0], "v": [-count, -count]}, SCHEMA)
            other.insert(now, table, pa.array([now + 1, now + 5]), batch=("other", count))
            held += [(-count, now + 1), (-count, now + 5)]
        cells = target_of(lease.manifest, {"grid": BY_NAME[new]})
        migrate(index.disk, lease, index._opened, cells, how)
    assert index.verify() == []
    assert max(numbered(index)) < index.contents().next_run
    contents = index.contents()
    assert (contents.grid, contents.batches["other"]) == (BY_NAME[new], len(meanwhile) - 1)
    for now in (meanwhile[-1], meanwhile[-1] + 1, meanwhile[-1] + 4):
        index.advance(now)
        with index.reader() as reader:
            found = sorted(reader.scan().column("v").to_pylist())
        assert found == sorted(v for v, end in held if end > now)


def test_a_migration_goes_on_however_often_others_are_faster(tmp_path):
    index, other = filled(tmp_path, Grid(2, 2)), LifetimeIndex.open(Disk(tmp_path))
    publish, left = index._versions.__class__.publish, [FULL + i for i in range(1, 7)]

    def slower(self, manifest):
        if left and manifest.body["grid"]["insertions"] == 3:
            insert(other, left.pop(0))
        publish(self, manifest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index._versions.__class__, "publish", slower)
        index.migrate(grid=Grid(3, 2, REBUILD))
    assert left == []
    well(index, FULL + 6)
    insert(index, FULL + 7)
    well(index, FULL + 7)
    assert max(numbered(index)) < index.contents().next_run
    index.vacuum()
    assert len(index.disk.names("runs")) == 2 * len(index.contents().runs)


def test_two_migrations_at_once_are_a_conflict(tmp_path):
    index = filled(tmp_path, Grid(2, 2))
    with index._versions.lease() as lease:
        LifetimeIndex.open(Disk(tmp_path)).migrate(grid=Grid(3, 3))
        cells = target_of(lease.manifest, {"grid": Grid(1, 2)})
        with pytest.raises(ConflictError, match="another migration"):
            migrate(index.disk, lease, index._opened, cells, "rebuild")
    well(index, FULL)


def test_a_writer_that_was_open_before_a_migration_goes_on_after_it(tmp_path):
    index, other = filled(tmp_path, Grid(2, 2)), LifetimeIndex.open(Disk(tmp_path))
    index.migrate(grid=Grid(3, 2))
    insert(other, FULL + 1)
    assert other.grid == Grid(3, 2)
    well(other, FULL + 1)


@pytest.mark.parametrize("how", HOWS)
def test_a_reader_keeps_its_answer_while_the_index_migrates(tmp_path, how):
    index = filled(tmp_path, Grid(2, 2))
    with index.reader() as reader:
        index.migrate(grid=Grid(3, 3, REBUILD), how=how)
        insert(index, FULL + LONGEST)
        index.vacuum()
        assert sorted(reader.scan().column("v").to_pylist()) == expected(FULL)


def test_an_empty_index_just_changes_its_grid(tmp_path):
    index = LifetimeIndex.create(tmp_path, SCHEMA, "k", longest=LONGEST, interval=INTERVAL)
    assert index.migration(grid=Grid(2, 2)).bytes_written == 0
    index.migrate(grid=Grid(2, 2))
    for now in range(1, 5):
        insert(index, now)
    well(index, 4)


def test_what_does_not_fit_into_memory_is_written_in_pieces_and_leaves_none(tmp_path, monkeypatch):
    monkeypatch.setattr(spread.AT_ONCE, "value", 600)
    index = filled(tmp_path, Grid(2, 2))
    index.migrate(grid=Grid(3, 4, REBUILD))
    well(index, FULL)
    index.vacuum()
    assert len(index.disk.names("runs")) == 2 * len(index.contents().runs)


class CountingDisk(Disk):
    """A disk that counts what is written of runs."""

    written = 0

    def write(self, name, fill):
        done = super().write(name, fill)
        self.written += done.size if name.startswith("runs/") else 0
        return done


@pytest.mark.parametrize(("old", "new"), [(Grid(2, 2), Grid(3, 3)),
                                          (Grid(4, 4), Grid(2, 2, REBUILD))])  # fmt: skip
@pytest.mark.parametrize("updates", [1, 3, 30])
def test_the_estimate_of_rebuilding_is_near_what_is_written(tmp_path, old, new, updates):
    disk, chance = CountingDisk(tmp_path), random.Random(1)
    index = LifetimeIndex.create(disk, SCHEMA, "k", longest=40, interval=2, grid=old)
    for now in range(2, 2 * updates + 2, 2):
        values = list(range(2_000))
        expiries = [now + chance.randint(1, 40) for _ in values]
        table = pa.table({"k": [v % 7 for v in values], "v": values}, SCHEMA)
        index.insert(now, table, pa.array(expiries))
    cost, disk.written = index.migration(grid=new), 0
    index.migrate(grid=new)
    assert 0.6 * disk.written <= cost.bytes_written <= 1.5 * disk.written
    assert len(index.contents().runs) <= cost.searches


def stop_everywhere(tmp_path, old, new, how, shares):
    source, work = tmp_path / "source", tmp_path / "work"
    filled(source, old).vacuum()
    disk = FaultyDisk(copied(source, work))
    LifetimeIndex.open(disk).migrate(grid=new, how=how)
    seen, chance = set(), random.Random(old.size)
    for at, share in itertools.product(range(1, disk.done + 1), shares):
        disk = FaultyDisk(copied(source, work), at)
        with pytest.raises(Crash):
            LifetimeIndex.open(disk).migrate(grid=new, how=how)
        disk.lose(chance, share)
        index = LifetimeIndex.open(Disk(work))
        seen.add(index.grid)
        well(index, FULL)
        index.vacuum()
        named = {run.name for run in index.contents().runs.values()}
        assert {name.rpartition(".")[0] for name in index.disk.names("runs")} == named
        assert len(index.disk.names("versions")) == 1
        insert(index, FULL + 1)
        well(index, FULL + 1)
    assert seen == {old, new}


@pytest.mark.parametrize("how", HOWS)
def test_stopped_after_any_operation_it_is_the_old_layout_or_the_new(tmp_path, how):
    stop_everywhere(tmp_path, Grid(2, 2), Grid(1, 2, REBUILD), how, (0.5,))


@pytest.mark.slow
@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize(("old", "new"), PAIRS)
def test_stopped_after_any_operation_between_any_layouts(tmp_path, old, new, how):
    stop_everywhere(tmp_path, BY_NAME[old], BY_NAME[new], how, (0.0, 0.5, 1.0))
