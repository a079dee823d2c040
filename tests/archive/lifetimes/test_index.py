"""An index of lifetimes on disk: what it takes, what it refuses, what it writes."""

from __future__ import annotations

import re
import sys
import threading
from datetime import datetime, timedelta

import pyarrow as pa
import pytest

from tests.archive.support.disks import mapped
from windrow.archive.archive import Archive
from windrow.archive.errors import ArchiveError, ConflictError, LifetimeError
from windrow.archive.format.disk import Disk
from windrow.archive.lifetimes.index_contents import IndexState
from windrow.archive.lifetimes.lifetime_index import LifetimeIndex
from windrow.archive.lifetimes.partition_grid import Grid, GridTechnique, d_ins, r_exp, r_ins
from windrow.archive.runs.encoding import decode
from windrow.archive.versions.pinned_reader import Range

SCHEMA = pa.schema([("k", pa.int64()), ("v", pa.string())])


def create(path, grid=None, *, schema=SCHEMA, key="k", longest=16, interval=2, **options):
    disk = Disk(path)
    return LifetimeIndex.create(
        disk, schema, key, longest=longest, interval=interval, grid=grid, **options
    )


def table(*rows):
    return pa.table({"k": [k for k, _ in rows], "v": [v for _, v in rows]}, schema=SCHEMA)


def values(index, key=None, now=None, column="v"):
    with index.reader(now) as reader:
        found = reader.scan() if key is None else reader.probe(key)
        return sorted(decode(found).column(column).to_pylist())


def test_figure_3_on_disk_writes_the_row_and_leaves_the_rest_alone(tmp_path):
    index = create(tmp_path, Grid(2, 2), origin=16)
    for now in range(2, 18, 2):
        expiries = pa.array([now + life for life in range(1, 17)])
        index.insert(now, table(*((life % 3, f"{now}+{life}") for life in range(1, 17))), expiries)
    before = index.contents()
    update = index.insert(18, table((1, "a"), (2, "b")), pa.array([34, 19]))
    after = index.contents()
    assert update.step.inserted == (0, 1)
    assert update.step.expired == (0, 2)
    assert after.state.subindices[3] == before.state.subindices[3]
    assert [w.subindex for w in update.step.writes if w.fresh] == [0, 1]
    assert update.bytes_written == sum(
        run.bytes for number, run in after.runs.items() if number not in before.runs
    )


def test_stat_draws_figure_3_and_plan_says_what_comes(tmp_path):
    index = create(tmp_path, Grid(2, 2), origin=16)
    assert index.stat().subindices == ()
    assert index.plan() == []
    for now in range(2, 18, 2):
        expiries = pa.array([now + life for life in range(2, 17, 2)])
        index.insert(now, table(*((life, f"{now}") for life in range(8))), expiries)
    found = index.stat()
    heads, first, *_, last = (re.split(r"  +", line) for line in str(found).splitlines())
    assert heads == ["index", "inserted", "expires", "runs", "entries", "dead", "bytes"]
    assert first[:3] == ["I1", "1-2, 5-6, 9-10, 13-14", "17-18, 21-22, 25-26, 29-30"]
    assert last[:3] == ["I4", "3-4, 7-8, 11-12, 15-16", "19-20, 23-24, 27-28, 31-32"]
    assert [s.entries for s in found.subindices] == [10, 6, 10, 10]
    assert found.entries == len(values(index)) == 36
    assert found.bytes == sum(run.bytes for run in index.contents().runs.values())
    assert sum(s.dead for s in found.subindices) == index.contents().state.stored_records() - 36
    first, second = index.plan(2)
    assert (first.now, first.inserted, first.expired) == (18, ("I1", "I2"), ("I1", "I3"))
    assert (second.now, second.inserted, second.expired) == (20, ("I3", "I4"), ("I2", "I4"))


def test_expiry_without_rebuilding_writes_no_run(tmp_path):
    index = create(tmp_path, Grid(2, 2))
    index.insert(2, table((1, "a"), (1, "b"), (1, "c"), (2, "d")), pa.array([3, 18, 18, 18]))
    update = index.advance(4)
    assert (update.step.writes, update.bytes_written) == ((), 0)
    assert values(index, 1) == ["b", "c"]


def test_expiry_with_rebuilding_leaves_nothing_dead_in_files(tmp_path):
    index = create(tmp_path, Grid(2, 2, GridTechnique.REBUILD))
    index.insert(2, table((1, "a"), (1, "b"), (2, "c")), pa.array([3, 18, 18]))
    index.advance(4)
    assert sum(run.rows for run in index.contents().runs.values()) == 2


def test_an_expiry_is_the_first_instant_without_the_record(tmp_path):
    index = create(tmp_path)
    index.insert(2, table((1, "a")), pa.array([9]))
    assert values(index, now=8) == ["a"]
    assert values(index, now=9) == []


def test_between_two_boundaries_the_dead_are_hidden_before_their_period_is_over(tmp_path):
    index = create(tmp_path, longest=40, interval=10)
    index.insert(1, table((1, "a"), (1, "b")), pa.array([4, 6]))
    index.insert(5, table((1, "c")), pa.array([20]))
    assert values(index) == values(index, 1) == ["b", "c"]


def test_records_dead_on_arrival_are_counted_and_left_out(tmp_path):
    index = create(tmp_path)
    assert index.insert(5, table((1, "a"), (1, "b")), pa.array([5, 6])).dead == 1
    assert values(index) == ["b"]
    assert index.insert(6, table((1, "x")), pa.array([0])).dead == 1
    assert values(index) == []


def test_a_record_far_ahead_is_refused_and_expires_nothing(tmp_path):
    index = create(tmp_path)
    index.insert(2, table((1, "a")), pa.array([10]))
    with pytest.raises(LifetimeError, match=r"lifetimes of at most 8 periods; found 1000"):
        index.insert(3, table((1, "b")), pa.array([1000]))
    assert values(index) == ["a"]


def test_records_come_as_a_table_a_batch_or_batches_each_with_its_expiry(tmp_path):
    index = create(tmp_path)
    one, two = table((1, "a")).to_batches()[0], table((2, "b"), (3, "c"))
    index.insert(2, one, pa.array([9]))
    index.insert(2, iter(two.to_batches(max_chunksize=1)), pa.array([9, 9]))
    index.insert(2, iter([]), pa.array([], pa.int64()))
    assert values(index) == ["a", "b", "c"]
    for expiries in ([9], [9, 9, 9]):
        with pytest.raises(LifetimeError, match="an expiry for each of 2 records"):
            index.insert(2, two, pa.array(expiries))
    with pytest.raises(ArchiveError, match="an expiry for each record"):
        index.insert(2, two, pa.array([9, None]))


def test_times_of_every_unit_are_expiries_of_an_index_of_timestamps(tmp_path):
    day = 24 * 3600 * 10**6
    start, later = datetime(2026, 3, 2), datetime(2026, 3, 7)
    ticks = [
        (moment - datetime(1970, 1, 1)) // timedelta(microseconds=1) for moment in (start, later)
    ]
    kinds = [
        *map(pa.timestamp, ("s", "ms", "us", "ns")),
        pa.timestamp("s", "Europe/Paris"),
        pa.date32(),
    ]
    columns = [pa.array([later], kind) for kind in kinds]
    columns += [pa.chunked_array([columns[0]]), [later], pa.array([ticks[1]])]
    index = create(tmp_path, longest=30 * day, interval=day, timestamps=True)
    for number, expiries in enumerate(columns):
        assert index.insert(ticks[0], table((number, "a")), expiries).dead == 0
    with index.reader() as reader:
        assert reader.scan(columns=["_exp"]).column("_exp").to_pylist() == [ticks[1]] * len(columns)
    odd = pa.array([ticks[1] * 1000 + 1], pa.int64()).cast(pa.timestamp("ns"))
    for expiries in (
        pa.array([1.5]),
        pa.array(["2026-03-07"]),
        odd,
        pa.array([2**63], pa.uint64()),
    ):
        with pytest.raises(LifetimeError, match="times in whole microseconds"):
            index.insert(ticks[0], table((1, "b")), expiries)
    numbers = create(tmp_path / "numbers")
    with pytest.raises(LifetimeError, match=r"64-bit integers, in ticks.*found timestamp\[s\]"):
        numbers.insert(2, table((1, "a")), columns[0])


def test_a_batch_that_is_repeated_is_taken_once(tmp_path):
    index = create(tmp_path)
    for number in (0, 1, 1, 0):
        index.insert(2, table((1, f"{number}")), pa.array([9]), batch=("join", number))
    index.insert(2, table((1, "other")), pa.array([9]), batch=("union", 0))
    assert values(index) == ["0", "1", "other"]


def test_a_reader_keeps_its_instant_and_its_files_while_the_index_moves_on(tmp_path):
    index = create(tmp_path, Grid(2, 2, GridTechnique.REBUILD))
    index.insert(2, table((1, "a"), (2, "b")), pa.array([4, 18]))
    with index.reader() as reader:
        for now in range(4, 40, 2):
            index.insert(now, table((1, "new")), pa.array([now + 3]))
            index.vacuum()
        assert sorted(decode(reader.scan()).column("v").to_pylist()) == ["a", "b"]
    assert index.vacuum().files > 0
    with pytest.raises(ArchiveError, match="closed"):
        reader.scan()


def test_readers_that_come_and_go_leave_nothing_behind(tmp_path):
    index = create(tmp_path)
    index.insert(2, table((1, "a"), (2, "b")), pa.array([9, 9]))

    def views():
        return sum(len(run.entries._views) for run in index._opened.runs.values())

    values(index, 1)
    before = views()
    for _ in range(5):
        values(index, 1)
    assert views() == before > 0


@pytest.mark.skipif(sys.platform != "linux", reason="mappings are listed on Linux")
@pytest.mark.parametrize("technique", GridTechnique)
def test_a_writer_that_never_reads_lets_go_of_runs_that_were_merged_and_removed(
    technique, tmp_path
):
    index = create(tmp_path, Grid(2, 2, technique))
    for now in range(2, 60, 2):
        rows = table(*((i, f"{now}") for i in range(16)))
        index.insert(now, rows, pa.array([now + 1 + i for i in range(16)]))
        index.vacuum()
    assert mapped(tmp_path) == []


def test_composite_keys_find_prefixes_once_and_lists_whole(tmp_path):
    schema = pa.schema([("a", pa.string()), ("b", pa.list_(pa.int64())), ("v", pa.int64())])
    index = create(tmp_path, schema=schema, key=("a", "b"))
    data = pa.table({"a": ["x", "x", "y"], "b": [[1, 2], [2], []], "v": [1, 2, 3]}, schema=schema)
    index.insert(2, data, pa.array([5, 6, 7]))
    assert values(index, ("x", 2), column="v") == [1, 2]
    assert values(index, ("x",), column="v") == [1, 2]
    assert values(index, [("x", 2), ("x",), ("z", 9)], column="v") == [1, 2]
    assert values(index, Range(("x", 2), None), column="v") == [1, 2]
    assert values(index, now=5, column="v") == [2, 3]


@pytest.mark.parametrize("form", ["arrow", "parquet"])
@pytest.mark.parametrize("now", [6, 7])
def test_a_timed_probe_finds_periods_of_insertion_though_buckets_are_in_the_order_of_expiry(
    form, now, tmp_path
):
    index = create(tmp_path, d_ins(1), format=form)
    for at, expiries in ((2, [18, 7, 12]), (4, [8, 20]), (6, [9, 21, 11])):
        rows = ((1, f"{at} to {expiry}") for expiry in expiries)
        index.insert(at, table(*rows), pa.array(expiries))
    alive = {
        (1, 1): ["2 to 7", "2 to 12", "2 to 18"],
        (2, 2): ["4 to 8", "4 to 20"],
        (2, 3): ["4 to 8", "4 to 20", "6 to 9", "6 to 11", "6 to 21"],
        (3, None): ["6 to 9", "6 to 11", "6 to 21"],
        (None, 1): ["2 to 7", "2 to 12", "2 to 18"],
    }
    with index.reader(now) as reader:
        for between, expected in alive.items():
            left = sorted(row for row in expected if int(row.split()[-1]) > now)
            for plain in (False, True):
                found = decode(reader.probe(1, *between, plain=plain))
                assert sorted(found.column("v").to_pylist()) == left


def test_columns_that_repeat_are_encoded_in_old_and_new_runs_alike(tmp_path):
    index = create(tmp_path, d_ins(1))
    for now in (2, 4, 6):
        rows = [(i % 7, f"value {i % (now * 3)}") for i in range(2_000)]
        index.insert(now, table(*rows), pa.array([now + 1 + i % 16 for i in range(2_000)]))
    with index.reader() as reader:
        found = reader.scan(columns=["v", "_exp"])
    assert pa.types.is_dictionary(found.schema.field("v").type)
    alive = [
        f"value {i % (now * 3)}" for now in (2, 4, 6) for i in range(2_000) if now + 1 + i % 16 > 6
    ]
    assert sorted(decode(found).column("v").to_pylist()) == sorted(alive)


def test_two_writers_race_and_one_is_told(tmp_path):
    create(tmp_path)
    told, start = [], threading.Barrier(2)

    def write(name):
        index = LifetimeIndex.open(Disk(tmp_path))
        for now in range(1, 31):
            start.wait()
            try:
                index.insert(now, table((1, f"{name} {now}")), pa.array([now + 16]))
            except ConflictError:
                told.append((name, now))

    threads = [threading.Thread(target=write, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    index = LifetimeIndex.open(tmp_path)
    expected = {f"{n} {now}" for n in "ab" for now in range(15, 31) if (n, now) not in told}
    assert values(index) == sorted(expected)
    assert index.verify() == []


def test_an_update_between_a_writers_reading_and_publishing_is_a_conflict(tmp_path, monkeypatch):
    index, other = create(tmp_path), LifetimeIndex.open(Disk(tmp_path))
    publish = index._versions.publish

    def late(manifest):
        other.insert(2, table((1, "first")), pa.array([9]))
        publish(manifest)

    monkeypatch.setattr(index._versions, "publish", late)
    with pytest.raises(ConflictError, match="published by another writer"):
        index.insert(2, table((1, "second")), pa.array([9]))
    assert values(other) == ["first"]


@pytest.mark.parametrize("grid", [r_ins(4), r_exp(4), d_ins(4), Grid(2, 2), Grid(3, 2)], ids=str)
def test_verify_finds_a_state_that_does_not_fit_the_runs(grid, tmp_path, monkeypatch):
    index = create(tmp_path, grid)
    for now in range(2, 30, 2):
        rows = table(*((i, str(i)) for i in range(16)))
        index.insert(now, rows, pa.array([now + 1 + i for i in range(16)]))
    assert index.verify() == []
    moved = IndexState.from_json

    def rotated(found):
        state = moved(found)
        return IndexState(state.over, state.next_run, state.subindices[1:] + state.subindices[:1])

    monkeypatch.setattr(IndexState, "from_json", rotated)
    assert any("do not belong" in problem.what for problem in index.verify())


def test_what_cannot_be_made_or_opened_is_said(tmp_path):
    create(tmp_path / "a")
    with pytest.raises(ConflictError, match="found an archive"):
        create(tmp_path / "a")
    with pytest.raises(LifetimeError, match="at most 2 partitions"):
        create(tmp_path / "b", longest=4)
    with pytest.raises(LifetimeError, match="update less often"):
        create(tmp_path / "b", longest=30_000, interval=1)
    with pytest.raises(ArchiveError, match="an archive of the kind lifetimes"):
        Archive.open(tmp_path / "a")
    Archive.create(tmp_path / "days", SCHEMA, "k", window=4, scheme="DEL", n=2)
    with pytest.raises(ArchiveError, match="an archive of the kind wave"):
        LifetimeIndex.open(tmp_path / "days")


def test_time_does_not_go_back_for_writers_or_readers(tmp_path):
    index = create(tmp_path)
    index.insert(5, table((1, "a")), pa.array([9]))
    with pytest.raises(LifetimeError, match=r"the last update, 5, or a later one; found 4"):
        index.advance(4)
    with pytest.raises(LifetimeError, match="may be gone"):
        index.reader(4)
    with pytest.raises(LifetimeError, match="31 bits"):
        index.insert(2**40, table((1, "a")), pa.array([2**40 + 1]))
    with index.reader() as reader, pytest.raises(ArchiveError, match="some of k, v"):
        reader.scan(columns=["w"])


def test_an_index_without_any_update_is_empty(tmp_path):
    index = create(tmp_path)
    assert values(index) == values(index, 1) == []
    assert index.verify() == []
