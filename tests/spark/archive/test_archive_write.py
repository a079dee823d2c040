"""What Spark's tasks write is the archive that a process would have written; streams come once."""

from __future__ import annotations

import os
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from windrow.archive.archive import Archive
from windrow.archive.errors import ArchiveError, DayError
from windrow.archive.format.day_calendar import HOUR, Calendar
from windrow.archive.lifetimes.lifetime_index import LifetimeIndex
from windrow.archive.runs.run import Run
from windrow.archive.versions.versions import Versions
from windrow.archive.wave.writer import Writer
from windrow.spark.archive import append, archive_sink, read, write_stream, writing
from windrow.spark.archive import sink as module

SCHEMA = pa.schema([("src", pa.string()), ("at", pa.timestamp("us")), ("bytes", pa.int64())])
FIRST = 20_513
DAY = 24 * HOUR


def records(day: int, rows: int, seed: int = 0) -> pa.Table:
    chance = np.random.default_rng([day, seed])
    times = (FIRST + day) * DAY + np.sort(chance.integers(0, DAY, rows))
    return pa.table(
        {
            "src": [f"host{n}" if n else None for n in chance.integers(0, 40, rows)],
            "at": pa.array(times, pa.timestamp("us")),
            "bytes": chance.integers(0, 10**12, rows),
        },
        SCHEMA,
    )


def made(path, form="arrow", window=3) -> Archive:
    calendar = Calendar.of("days")
    return Archive.create(
        path, SCHEMA, "src", window=window, scheme="WATA", n=2, format=form, calendar=calendar
    )


def contents(archive, now=None) -> Counter:
    with archive.reader(now) as reader:
        rows = reader.scan(columns=[*SCHEMA.names, "_day"]).to_pylist()
    return Counter(tuple(row.values()) for row in rows)


@pytest.mark.parametrize("form", ["arrow", "parquet"])
def test_appending_a_frame_is_appending_its_rows(spark, tmp_path, form):
    ours, theirs = made(tmp_path / "ours", form), made(tmp_path / "theirs", form)
    for day in range(4):
        data, number = records(day, 3_000), FIRST + day
        frame = spark.createDataFrame(data)
        append(frame, ours, number, now=number)
        theirs.append(number, data if day % 2 else frame, now=number)
    assert contents(ours) == contents(theirs)
    assert ours.stat().settings == theirs.stat().settings
    assert ours.verify() == []
    for key in ("host1", "host39"):
        with ours.reader() as left, theirs.reader() as right:
            assert len(left.probe(key)) == len(right.probe(key)) > 0
    for archive in (ours, theirs):
        archive.vacuum()
    assert len(_manifest(ours).runs) == len(_manifest(theirs).runs)
    assert _files(ours) == {run.name for run in _manifest(ours).runs}


def test_a_frame_with_lifetimes_comes_in_by_way_of_the_driver_and_is_told_so(spark, tmp_path):
    index = LifetimeIndex.create(
        tmp_path / "l", SCHEMA, "src", longest=9 * DAY, interval=DAY, timestamps=True
    )
    data = records(0, 100)
    frame = spark.createDataFrame(data).selectExpr("*", "at + interval 3 days as until")
    now = (FIRST + 1) * DAY
    for refused in (
        lambda: append(frame, index, FIRST),
        lambda: append(frame, tmp_path / "l", FIRST),
        lambda: write_stream(frame, str(tmp_path / "l"), timestamp="at"),
    ):
        with pytest.raises(ArchiveError, match=r"an archive of days; .* LifetimeIndex\.insert"):
            refused()
    assert index.insert(now, frame, "until").dead == 0
    with index.reader(now) as reader:
        found = reader.scan(columns=SCHEMA.names).to_pylist()
    assert Counter(map(str, found)) == Counter(map(str, data.to_pylist()))


def test_a_key_is_in_one_run_of_a_day(spark, tmp_path):
    archive = made(tmp_path / "a")
    append(spark.createDataFrame(records(0, 3_000)), archive, FIRST)
    with archive.reader(FIRST) as reader:
        runs = reader._live(None, None)
        assert len(runs) == 2
        keys = [set(run.directory.columns[0].to_pylist()) for run, _ in runs]
    assert not keys[0] & keys[1]


def test_a_batch_and_a_day_are_checked_before_anything_is_written(spark, tmp_path):
    archive = made(tmp_path / "a")
    frame = spark.createDataFrame(records(0, 100))
    assert append(frame, archive, FIRST, now=FIRST, batch=("night", 0)) > 1
    files = set((tmp_path / "a/runs").iterdir())
    with pytest.raises(DayError, match="after"):
        append(frame, archive, FIRST)
    with pytest.raises(ArchiveError, match="no bytes"):
        append(frame.drop("bytes"), archive, FIRST + 1)
    before = archive.stat().version
    assert append(frame, archive, FIRST, batch=("night", 0)) == before
    assert set((tmp_path / "a/runs").iterdir()) == files


def test_names_are_taken_as_they_are_and_a_list_is_a_key_of_many_values(spark, tmp_path):
    data = pa.table({"a.b": [["x", "y"], ["y"], []], "c d": [1, 2, 3]})
    archive = Archive.create(tmp_path / "a", data.schema, "a.b", window=2, scheme="DEL", n=1)
    append(spark.createDataFrame(data), archive, 1, now=1)
    with archive.reader() as reader:
        assert sorted(reader.probe("y").column("c d").to_pylist()) == [1, 2]
    found = read(spark, archive.disk.root, key="y", columns=["c d"]).collect()
    assert sorted(row["c d"] for row in found) == [1, 2]
    sink = archive_sink(archive.disk.root, timestamp="c d", source="s")
    for _ in range(2):
        sink(spark.createDataFrame(data), 0)
    with archive.reader(3) as reader:
        assert sorted(reader.scan(2, columns=["_day"]).column("_day").to_pylist()) == [2, 2, 3]


def test_a_task_writes_in_turns_what_would_not_fit_into_memory(tmp_path, monkeypatch):
    """A key that has nearly all rows is one task's."""
    monkeypatch.setattr(writing.AT_ONCE, "value", 4096)
    archive = made(tmp_path / "a")
    data = records(0, 2_000).set_column(0, "src", pa.array(["host1"] * 1_990 + ["host2"] * 10))
    with archive.session() as session:
        disk, layout = archive.disk, archive.layout
        writer = Writer(
            disk, layout, "arrow", {}, session.name("t"), lambda r: Run(disk, layout, r)
        )
        cut = writing.Cut(writing.Stamps(FIRST), writer)
        for batch in data.to_batches(max_chunksize=100):
            cut.add(batch)
        runs = [run for _, run in cut.runs()]
        session.commit({FIRST: runs}, now=FIRST, encodings=[writer.encodings])
    assert len(runs) == 10
    assert archive.verify() == []
    with archive.reader() as reader:
        assert [len(reader.probe(key)) for key in ("host1", "host2")] == [1_990, 10]


def test_an_empty_frame_is_an_empty_day(spark, tmp_path):
    archive = made(tmp_path / "a")
    append(spark.createDataFrame(records(0, 50)), archive, FIRST, now=FIRST)
    append(spark.createDataFrame(records(1, 50)).where("false"), archive, FIRST + 1, now=FIRST + 1)
    assert archive.stat().now == FIRST + 1
    assert len(contents(archive)) == 50


def stream_of(spark, folder):
    schema = "src string, at timestamp_ntz, bytes bigint"
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))


def fed(folder, number: int, *tables: pa.Table) -> None:
    hidden = folder / f".{number}"
    pq.write_table(pa.concat_tables(tables), hidden)
    os.utime(hidden, (10**9 + number,) * 2)  # the order in which Spark takes files
    hidden.rename(folder / f"{number:03}.parquet")


def run(spark, folder, archive, checkpoint, **options):
    writer = write_stream(stream_of(spark, folder), archive.disk.root, timestamp="at", **options)
    query = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
    try:
        query.awaitTermination()
    finally:
        query.stop()


def test_a_stream_is_cut_into_days_and_goes_on_where_it_stopped(spark, tmp_path):
    folder, archive = tmp_path / "in", made(tmp_path / "a")
    folder.mkdir()
    days = [records(day, 200) for day in range(5)]
    fed(folder, 0, days[0].slice(0, 120))
    fed(folder, 1, days[0].slice(120), days[1].slice(0, 50))
    run(spark, folder, archive, tmp_path / "check")
    assert archive.stat().now == FIRST
    fed(folder, 2, days[1].slice(50), days[2])
    fed(folder, 3, days[3], days[4].slice(0, 10))
    run(spark, folder, archive, tmp_path / "check")
    assert archive.stat().now == FIRST + 3
    assert archive.verify() == []
    plain = made(tmp_path / "plain")
    for day in range(4):
        plain.append(FIRST + day, days[day], now=FIRST + day)
    assert contents(archive) == contents(plain)
    plain.append(FIRST + 4, days[4].slice(0, 10))
    assert contents(archive, FIRST + 4) == contents(plain, FIRST + 4)


def batches(spark, archive, **options):
    """A sink as Spark would call it, and the frames that it would be called with."""
    sink = archive_sink(archive.disk.root, timestamp="at", source="flows", **options)
    return lambda number, *tables: sink(spark.createDataFrame(pa.concat_tables(tables)), number)


def test_a_repeated_batch_changes_nothing(spark, tmp_path):
    archive = made(tmp_path / "a")
    put = batches(spark, archive)
    put(0, records(0, 60))
    put(1, records(1, 60), records(2, 5))
    version, before = archive.stat().version, contents(archive, FIRST + 2)
    put(1, records(1, 60), records(2, 5))
    put(0, records(0, 60))
    assert archive.stat().version == version
    assert contents(archive, FIRST + 2) == before
    assert sum(before.values()) == 125


class Killed(BaseException):
    """The process is gone, as far as the archive can tell."""


@pytest.mark.parametrize("published", [0, 1])
def test_a_kill_between_write_and_publish_leaves_garbage_only(
    spark, tmp_path, monkeypatch, published
):
    """The batch closes two days, so it publishes two versions."""
    archive = made(tmp_path / "a", window=5)
    put = batches(spark, archive)
    put(0, records(0, 60), records(1, 1, seed=1))
    rest = (records(1, 60), records(2, 60), records(3, 5))
    publish, done = Versions.publish, []

    def killed(self, manifest):
        if len(done) == published:
            raise Killed
        done.append(manifest.version)
        publish(self, manifest)

    with monkeypatch.context() as patch:
        patch.setattr(Versions, "publish", killed)
        with pytest.raises(Killed):
            put(1, *rest)
    if not published:
        assert contents(archive, FIRST + 3).total() == 61
        assert archive.vacuum().files > 0
    put(1, *rest)
    assert archive.stat().now == FIRST + 2
    whole = contents(archive, FIRST + 3)
    assert whole.total() == 186
    archive.vacuum()
    assert archive.verify() == []
    assert contents(archive, FIRST + 3) == whole
    assert _files(archive) == {run.name for run in _manifest(archive).runs}


def _files(archive):
    return {path.stem for path in (archive.disk.root / "runs").iterdir()}


def _manifest(archive):
    versions = Versions(archive.disk)
    return versions.read(versions.numbers()[-1])


def test_a_row_from_the_future_expires_nothing(spark, tmp_path):
    archive = made(tmp_path / "a")
    put = batches(spark, archive, wall=lambda: (FIRST + 1) * DAY + HOUR)
    put(0, records(0, 60), records(1, 5), records(900, 1))
    assert archive.stat().now == FIRST
    assert contents(archive).total() == 60


def test_a_number_far_ahead_is_believed_when_others_follow_it(spark, tmp_path):
    schema = pa.schema([("k", pa.string()), ("at", pa.int64())])
    archive = Archive.create(tmp_path / "a", schema, "k", window=3, scheme="DEL", n=1)
    sink = archive_sink(archive.disk.root, timestamp="at", source="flows")
    for number, (days, now) in enumerate(
        [([1, 2, 900], 1), ([3], 2), ([4, 5], 4), ([905], 4), ([6], 5), ([901], 900), ([902], 901)]
    ):
        data = pa.table({"k": ["x"] * len(days), "at": days}, schema)
        for _ in range(2):
            sink(spark.createDataFrame(data), number)
        assert archive.stat().now == now
    assert set(archive.stat().ahead) == {902, 905}


def test_slack_keeps_a_day_open_and_later_rows_come_in_on_an_open_day(spark, tmp_path):
    archive = made(tmp_path / "a")
    put = batches(spark, archive, slack=DAY)
    put(0, records(0, 60), records(1, 60))
    assert archive.stat().now is None
    put(1, records(0, 7, seed=1), records(2, 3))
    assert archive.stat().now == FIRST
    put(2, records(0, 11, seed=2))
    with archive.reader(FIRST + 2) as reader:
        days = Counter(reader.scan(columns=["_day"]).column("_day").to_pylist())
    assert days == {FIRST: 67, FIRST + 1: 71, FIRST + 2: 3}


def test_rows_without_a_time_are_told(spark, tmp_path):
    archive = made(tmp_path / "a")
    put = batches(spark, archive)
    without = records(0, 3).set_column(1, "at", pa.nulls(3, pa.timestamp("us")))
    with pytest.raises(Exception, match="rows without one"):
        put(0, without)
    with pytest.raises(ArchiveError, match="timestamp"):
        archive_sink(archive.disk.root, timestamp="when")


def test_another_writer_in_between_is_no_failure(spark, tmp_path, monkeypatch):
    archive = made(tmp_path / "a")
    put = batches(spark, archive)
    put(0, records(0, 60))
    write, other = module.write_runs, []

    def interrupted(*arguments):
        written = write(*arguments)
        if not other:
            other.append(archive.append(FIRST + 1, records(1, 9, seed=5)))
        return written

    monkeypatch.setattr(module, "write_runs", interrupted)
    put(1, records(1, 60))
    assert contents(archive, FIRST + 1).total() == 129


def test_what_other_writers_publish_meanwhile_costs_no_second_writing(spark, tmp_path, monkeypatch):
    """Two busy queries get in each other's way at every micro-batch."""
    archive = made(tmp_path / "a")
    put = batches(spark, archive)
    put(0, records(0, 60))
    write, writes = module.write_runs, []

    def interrupted(*arguments):
        written = write(*arguments)
        writes.append(archive.append(FIRST + 1, records(1, 9, seed=len(writes) + 5)))
        return written

    monkeypatch.setattr(module, "write_runs", interrupted)
    for number in range(1, 4):
        put(number, records(1, 20, seed=number))
    assert len(writes) == 3
    assert archive.verify() == []
    assert contents(archive, FIRST + 1).total() == 60 + 3 * 20 + 3 * 9


def test_another_process_that_is_faster_at_the_last_moment_is_no_failure(
    spark, tmp_path, monkeypatch
):
    archive = made(tmp_path / "a")
    put = batches(spark, archive)
    put(0, records(0, 60))
    publish, faster = Versions.publish, []

    def late(self, manifest):
        if len(faster) < module.ATTEMPTS - 1:
            faster.append(None)
            with monkeypatch.context() as patch:
                patch.setattr(Versions, "publish", publish)
                archive.append(FIRST + 1, records(1, 9, seed=len(faster)))
        publish(self, manifest)

    monkeypatch.setattr(Versions, "publish", late)
    put(1, records(1, 20), records(2, 5))
    assert archive.stat().now == FIRST + 1
    assert contents(archive, FIRST + 2).total() == 60 + 20 + 5 + 9 * (module.ATTEMPTS - 1)


def test_rows_whose_day_is_closed_while_they_are_written_come_in_late(spark, tmp_path, monkeypatch):
    archive = made(tmp_path / "a")
    put = batches(spark, archive)
    put(0, records(0, 60))
    write, closed = module.write_runs, []

    def interrupted(*arguments):
        written = write(*arguments)
        if not closed:
            closed.append(archive.advance(FIRST + 1))
        return written

    monkeypatch.setattr(module, "write_runs", interrupted)
    put(1, records(1, 20))
    with archive.reader(FIRST + 2) as reader:
        days = Counter(reader.scan(columns=["_day"]).column("_day").to_pylist())
    assert days == {FIRST: 60, FIRST + 2: 20}
    archive.vacuum()
    assert _files(archive) == {run.name for run in _manifest(archive).runs}


def test_a_column_that_cannot_tell_the_day_is_refused_before_anything_runs(spark, tmp_path):
    archive = made(tmp_path / "a")
    for column in ("src", "bytes"):
        with pytest.raises(ArchiveError, match=f"one of the columns at; found {column}"):
            archive_sink(archive.disk.root, timestamp=column)
    with pytest.raises(ArchiveError, match="0 or more; found -1"):
        archive_sink(archive.disk.root, timestamp="at", slack=-1)
    stream = spark.readStream.format("rate").load()
    with pytest.raises(ArchiveError, match="no src, at, bytes"):
        write_stream(stream, archive.disk.root, timestamp="at")


def test_the_day_is_that_of_the_value_which_is_kept(spark, tmp_path):
    """Whatever type the DataFrame has it in: here a text, and an instant in another zone."""
    archive = made(tmp_path / "a")
    sink = archive_sink(archive.disk.root, timestamp="at", source="flows")
    rest = "'a' AS src, 1L AS bytes"
    sink(spark.sql(f"SELECT '2026-03-02 23:30:00' AS at, {rest}"), 0)
    sink(spark.sql(f"SELECT timestamp'2026-03-02 23:30:00-05:00' AS at, {rest}"), 1)
    with archive.reader(FIRST + 2) as reader:
        days = reader.scan(columns=["_day"]).column("_day").to_pylist()
    assert sorted(days) == [FIRST + 1, FIRST + 2]
    with pytest.raises(Exception, match="cast the column"):
        sink(spark.sql(f"SELECT 'noon' AS at, {rest}"), 2)
