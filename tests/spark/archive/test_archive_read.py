"""An archive as a DataFrame gives what its own reader gives, and reads no more than it must."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from datetime import date, datetime, time, timedelta
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from windrow.archive.archive import Archive
from windrow.archive.errors import ArchiveError
from windrow.archive.format.blocks import SMALL
from windrow.archive.format.day_calendar import Calendar
from windrow.archive.format.layout import Layout
from windrow.archive.lifetimes.lifetime_index import LifetimeIndex
from windrow.archive.runs.encoding import decode
from windrow.archive.versions.pinned_reader import Range
from windrow.archive.versions.versions import leases
from windrow.spark.archive import append, read, reading
from windrow.spark.archive.options import key_of, options_of
from windrow.spark.archive.source import HELD, ArchiveSource

WINDOW = 6
SCHEMA = pa.schema(
    [("src", pa.string()), ("port", pa.int32()), ("bytes", pa.int64()), ("ratio", pa.float64())]
)


def day_of(number: int, rows: int = 400) -> pa.Table:
    chance = np.random.default_rng(number)
    names = [f"host{n}" if n else None for n in chance.integers(0, 40, rows)]
    return pa.table(
        {
            "src": names,
            "port": chance.integers(0, 5, rows).astype(np.int32),
            "bytes": chance.integers(0, 10**12, rows),
            "ratio": chance.random(rows),
        },
        SCHEMA,
    )


def made(path, key, form, days=10):
    archive = Archive.create(path, SCHEMA, key, window=WINDOW, scheme="WATA", n=3, format=form)
    for day in range(1, days + 1):
        archive.append(day, day_of(day), now=day)
    return archive


@pytest.fixture(scope="module", params=["arrow", "parquet"])
def archive(request, tmp_path_factory):
    return made(tmp_path_factory.mktemp("archive") / request.param, "src", request.param)


@pytest.fixture(scope="module")
def composite(tmp_path_factory):
    return made(tmp_path_factory.mktemp("archive") / "two", ("src", "port"), "arrow")


def bag(rows) -> Counter:
    return Counter(tuple(row) for row in rows)


def expected(archive, t1=None, t2=None, now=None) -> Counter:
    """All entries by the archive's own reader."""
    with archive.reader(now) as reader:
        table = reader.scan(t1, t2, columns=[*SCHEMA.names, "_day"])
        return Counter(tuple(row.values()) for row in table.to_pylist())


def loaded(spark, archive, **options):
    return spark.read.format("windrow").options(**options).load(str(archive.disk.root))


def parts_of(archive, **options):
    """What the source would start tasks for."""
    source = ArchiveSource({"path": str(archive.disk.root), **options})
    reader = source.reader(source.schema())
    return reader, reader.partitions()


def rows_read(parts) -> int:
    return sum(stop - start for part in parts for start, stop in part.rows)


def test_a_scan_is_the_readers(spark, archive):
    assert bag(loaded(spark, archive).collect()) == expected(archive)


def test_masked_and_expired_days_are_not_seen(spark, archive):
    with archive.reader() as reader:
        assert any(len(days) < len(run.days) for run, days in reader.sources())
    frame = loaded(spark, archive)
    assert {row._day for row in frame.select("_day").distinct().collect()} == set(range(5, 11))


def test_options_choose_days_columns_and_the_moment(spark, archive):
    frame = loaded(spark, archive, since="5", until="6", columns="bytes, _day")
    assert frame.columns == ["bytes", "_day"]
    assert {row._day for row in frame.collect()} == {5, 6}
    later = loaded(spark, archive, now="11")
    assert bag(later.collect()) == expected(archive, now=11)
    assert {row._day for row in later.collect()} == {6, 7, 8, 9, 10}


def answered(archive, **options) -> Counter:
    """What tasks give."""
    reader, parts = parts_of(archive, **options)
    batches = [batch for part in parts for batch in reader.read(part)]
    return Counter(tuple(row.values()) for batch in batches for row in batch.to_pylist())


def probed(archive, key, t1=None, t2=None) -> Counter:
    with archive.reader() as reader:
        table = reader.probe(key, t1, t2, columns=[*SCHEMA.names, "_day"])
    return Counter(tuple(row.values()) for row in table.to_pylist())


SINGLE = [
    "host7", ["host7", "host21", "nobody"], "nobody", Range("host2", "host3"),
    pa.array(["host7", "host21"]), pa.chunked_array([["host7"], ["host8"]]),
    Range(least="host35"), Range(greatest="host12"), Range("x", "y"), [],
]  # fmt: skip
COMPOSITE = [
    ("host7", 3), ("host7",), [("host7", 3), ("host8", 0)], [("host7",), ("host7", 3)],
    Range(("host2",), ("host2", 2)), Range(("host30", 3), None),
]  # fmt: skip


@pytest.mark.parametrize("days", [(None, None), (6, 8), (20, 30)])
def test_keys_and_ranges_of_days_are_those_of_a_probe(archive, composite, days):
    stretch = {n: str(d) for n, d in zip(("since", "until"), days, strict=True) if d is not None}
    for one, keys in ((archive, SINGLE), (composite, COMPOSITE)):
        for key in keys:
            assert answered(one, **options_of(key), **stretch) == probed(one, key, *days)


def test_a_probe_reads_its_buckets_and_nothing_else(archive):
    _, whole = parts_of(archive)
    for key in ("host7", ["host7", "host21"], Range("host8", None)):
        _, parts = parts_of(archive, **options_of(key))
        assert len(parts) <= len(whole)
        assert 0 < rows_read(parts) < rows_read(whole) / 4
    _, parts = parts_of(archive, since="10")
    assert {p.source.run.name for p in parts} < {p.source.run.name for p in whole}
    assert parts_of(archive, keys='["nobody"]')[1] == []


def test_keys_of_every_type_pass_through_an_option():
    values = [
        (7, pa.int32()), (2.5, pa.float64()), ("7", pa.string()), (True, pa.bool_()),
        (b"\x00\xff", pa.binary()), (b"\x00\xff", pa.binary(2)), (2.5, pa.float16()),
        (Decimal("2.50"), pa.decimal32(9, 2)), (Decimal(10**50), pa.decimal256(60, 2)),
        (date(2026, 3, 1), pa.date32()),
        (datetime(2026, 3, 1, 12, 30), pa.timestamp("us")), (Decimal("2.50"), pa.decimal128(9, 2)),
        (time(12, 30), pa.time32("s")), (time(12, 30, 0, 5), pa.time64("us")),
        (timedelta(days=2, seconds=1), pa.duration("s")),
        (timedelta(microseconds=7), pa.duration("us")),
    ]  # fmt: skip
    for value, kind in values:
        layout = Layout(pa.schema([("k", kind)]), ("k",))
        found = key_of(options_of(value), layout)
        assert pa.array(found, kind).to_pylist() == [value]
    with pytest.raises(ArchiveError, match="a key of type int32"):
        key_of({"keys": '["seven"]'}, Layout(pa.schema([("k", pa.int32())]), ("k",)))
    with pytest.raises(ArchiveError, match="a key of type decimal128"):
        key_of(
            {"keys": '["31378432.8"]'}, Layout(pa.schema([("k", pa.decimal128(38, 33))]), ("k",))
        )


WRONG = {
    "an option that is none": ({"key": '["a"]'}, "options among path, keys, .* found key"),
    "keys and a range": ({"keys": '["a"]', "least": "b"}, "both keys and least"),
    "keys that are no list": ({"keys": "a"}, "a JSON list"),
    "a key of too many values": ({"keys": '[["host7", 3]]'}, "of the first of them; found .*, 3"),
    "a key of no values": ({"keys": "[[]]"}, "of the first of them"),
    "no number of a version": ({"version": "new"}, "option version: .* found new"),
    "no day": ({"since": "yesterday"}, "the number of a day; found yesterday"),
    "a column that is not there": ({"columns": "src,port,x"}, "some of src, .* found x"),
    "a column twice": ({"columns": "src,src"}, "each once; found src, src"),
    "no column": ({"columns": ""}, "found none|found $"),
    "a table": ({"provider": "windrow", "owner": "me"}, "CREATE TEMPORARY VIEW"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_option_is_told_and_not_passed_over(archive, wrong):
    options, words = WRONG[wrong]
    with pytest.raises(ArchiveError, match=words):
        parts_of(archive, **options)


def test_a_source_is_given_one_path_and_only_read(archive):
    with pytest.raises(ArchiveError, match=r"no path.*CREATE TEMPORARY VIEW"):
        ArchiveSource({})
    with pytest.raises(ArchiveError, match="one archive; found"):
        ArchiveSource({"paths": '["a", "b"]'})
    source = ArchiveSource({"path": str(archive.disk.root)})
    with pytest.raises(ArchiveError, match="append"):
        source.writer(source.schema(), False)
    with pytest.raises(ArchiveError, match="write_stream"):
        source.streamWriter(source.schema(), False)


def test_a_process_that_plans_many_reads_lets_go_of_old_leases(archive):
    before = len(leases(archive.disk))  # of Spark's processes, and of this one
    for _ in range(2 * HELD.value):
        parts_of(archive, keys='["nobody"]')
    assert len(leases(archive.disk)) <= before + HELD.value


def test_a_probe_is_a_frame_too(spark, archive):
    frame = read(spark, archive.disk.root, key=["host7", "host21"], since=6, until=8)
    assert bag(frame.collect()) == probed(archive, ["host7", "host21"], 6, 8)


def test_native_and_source_agree_and_read_holds_its_version(spark, tmp_path):
    for form in ("arrow", "parquet"):
        archive = made(tmp_path / form, "src", form, days=8)
        before = expected(archive)
        frame = read(spark, archive.disk.root)
        assert ("parquet" in frame._jdf.queryExecution().toString().lower()) == (form == "parquet")
        assert bag(frame.collect()) == before
        few = read(spark, archive.disk.root, since=5, until=6, columns=["_day", "src"])
        assert bag(few.collect()) == Counter(
            (row[-1], row[0]) for row in expected(archive, 5, 6).elements()
        )
        for day in range(9, 16):  # nothing of what was read is in the window any more
            archive.append(day, day_of(day), now=day)
        assert archive.vacuum().held
        assert bag(frame.where("true").collect()) == before
        with reading(spark, archive.disk.root) as now:
            assert bag(now.collect()) == expected(archive)


def test_whole_parquet_runs_are_left_to_sparks_own_reader(spark, tmp_path):
    archive = made(tmp_path / "a", "src", "parquet", days=8)
    frame = loaded(spark, archive)
    assert frame.schema[0].metadata == {}

    def way(query):
        return "whole Parquet runs" in query._jdf.queryExecution().toString()

    assert way(frame)
    assert way(frame.where("bytes > 5"))
    assert not way(frame.where("bytes > 5 and src = 'host7'"))
    assert not way(loaded(spark, archive, keys='["host7"]'))
    assert not way(spark.read.format("windrow").schema("src string").load(str(archive.disk.root)))
    for condition in ("bytes > 500000000000", "ratio < 0.5 and port = 3", "src = 'host7'"):
        plain = spark.createDataFrame(frame.collect(), frame.schema)
        assert bag(frame.where(condition).collect()) == bag(plain.where(condition).collect())
    some = frame.select("_day", "bytes").where("port = 3")
    assert some.union(some).count() == 2 * frame.where("port = 3").count()
    for options in ({"columns": "bytes"}, {"since": "5", "until": "6"}, {"now": "9"}):
        one = loaded(spark, archive, **options)
        other = read(
            spark,
            archive.disk.root,
            **{n: int(v) if v.isdigit() else [v] for n, v in options.items()},
        )
        assert way(one)
        assert one.columns == other.columns
        assert bag(one.collect()) == bag(other.collect())


def test_no_number_is_found_in_parquet_runs_whoever_reads_them(spark, tmp_path):
    schema = pa.schema([("f", pa.float64()), ("g", pa.float32())])
    archive = Archive.create(
        tmp_path / "a", schema, "f", window=2, scheme="DEL", n=1, format="parquet"
    )
    numbers = [1.0, 2.0, math.nan, None, math.nan, 0.0]
    archive.append(1, pa.table({"f": numbers, "g": numbers}, schema), now=1)
    frames = (read(spark, tmp_path / "a"), spark.read.format("windrow").load(str(tmp_path / "a")))
    for frame, name in itertools.product(frames, schema.names):
        wheres = ("{} = double('NaN')", "{} > 1", "{} <=> double('NaN')", "{} = 0", "isnan({})")
        found = [frame.where(where.format(name)).count() for where in wheres]
        assert found == [2, 3, 2, 1, 2]


def test_a_column_may_have_any_name_in_whole_parquet_runs(spark, tmp_path):
    schema = pa.schema([("a`b", pa.string()), ("c.d", pa.int32()), ("E e", pa.int32())])
    archive = Archive.create(
        tmp_path / "a", schema, "a`b", window=2, scheme="DEL", n=1, format="parquet"
    )
    archive.append(1, pa.table([["x", "y"], [1, 2], [3, 4]], schema=schema), now=1)
    frame = loaded(spark, archive)
    assert "whole Parquet runs" in frame._jdf.queryExecution().toString()
    assert bag(frame.collect()) == Counter({("x", 1, 3, 1): 1, ("y", 2, 4, 1): 1})
    assert bag(read(spark, archive.disk.root).collect()) == bag(frame.collect())
    assert [row[0] for row in frame.where("`c.d` = 2").select("E e").collect()] == [4]


def test_a_loaded_frame_keeps_its_version_and_moment(spark, tmp_path):
    archive = made(tmp_path / "a", "src", "arrow", days=7)
    frame = loaded(spark, archive)
    before = expected(archive)
    version = archive.stat().version
    archive.append(8, day_of(8), now=8)
    assert bag(frame.collect()) == before
    assert bag(loaded(spark, archive, version=str(version)).collect()) == before
    assert bag(loaded(spark, archive).collect()) == expected(archive) != before


def test_a_version_that_is_gone_is_named(spark, tmp_path):
    archive = made(tmp_path / "a", "src", "arrow", days=2)
    with pytest.raises(Exception, match="version 999"):
        loaded(spark, archive, version="999").collect()
    with pytest.raises(Exception, match="no version of one"):
        spark.read.format("windrow").load(str(tmp_path / "nothing"))


def test_an_empty_archive_is_an_empty_frame(spark, tmp_path):
    archive = Archive.create(tmp_path / "a", SCHEMA, "src", window=3, scheme="DEL", n=1)
    assert loaded(spark, archive).count() == 0
    assert read(spark, archive.disk.root).columns == [*SCHEMA.names, "_day"]


@pytest.mark.parametrize("form", ["arrow", "parquet"])
def test_lifetimes_are_read_while_they_last(spark, tmp_path, form):
    index = LifetimeIndex.create(
        tmp_path / "lives", SCHEMA, "src", longest=60, interval=10, format=form
    )
    for now in range(10, 70, 10):
        data = day_of(now, 200)
        ends = now + 1 + np.random.default_rng(now).integers(0, 50, len(data))
        index.insert(now, data, pa.array(ends))
    for now in (None, 85) if form == "arrow" else (85,):
        with index.reader(now) as reader:
            wanted = bag(
                row.values()
                for row in reader.scan(columns=[*SCHEMA.names, "_day", "_exp"]).to_pylist()
            )
        assert bag(read(spark, index.disk.root, now=now).collect()) == wanted
        options = {} if now is None else {"now": str(now)}
        frame = spark.read.format("windrow").options(**options).load(str(index.disk.root))
        assert bag(frame.collect()) == wanted
        one = bag(frame.where("src = 'host9'").collect())
        assert one == Counter({row: n for row, n in wanted.items() if row[0] == "host9"})


@pytest.mark.parametrize("form", ["arrow", "parquet"])
def test_a_flipped_bit_is_an_error_of_whoever_reads_it(spark, tmp_path, form):
    data = day_of(1, 40_000)
    archive = Archive.create(tmp_path, SCHEMA, "src", window=2, scheme="DEL", n=1, format=form)
    archive.append(1, data, now=1)
    path = next((tmp_path / "runs").glob(f"*.{form}"))
    whole = path.read_bytes()
    assert len(whole) > SMALL
    flipped = bytearray(whole)
    flipped[len(whole) // 4] ^= 4
    path.write_bytes(flipped)
    for frame in (spark.read.format("windrow").load(str(tmp_path)), read(spark, tmp_path)):
        with pytest.raises(Exception, match=r"checksum|page integrity"):
            frame.collect()
    with pytest.raises(Exception, match=r"checksum"):
        read(spark, tmp_path, key=Range("a", None)).collect()
    flipped = bytearray(whole)
    flipped[-40] ^= 4
    path.write_bytes(flipped)
    with pytest.raises(Exception, match=path.name):
        read(spark, tmp_path).collect()
    path.write_bytes(whole)
    assert read(spark, tmp_path).count() == len(data)


@pytest.mark.parametrize("form", ["arrow", "parquet"])
def test_a_record_whose_key_is_a_list_is_one_row_by_every_way(spark, tmp_path, form):
    data = pa.table({"tags": [["a", "b", "a"], ["b"], [], None, ["c", "a"]], "v": range(5)})
    archive = Archive.create(
        tmp_path, data.schema, "tags", window=2, scheme="DEL", n=1, format=form
    )
    for day in (1, 2, 3):
        archive.append(day, data, now=day)
    loaded = spark.read.format("windrow").load(str(tmp_path))
    for frame in (loaded, read(spark, tmp_path)):
        assert frame.count() == 10
        assert sorted(frame.where("_day = 3 AND v < 2").select("tags").collect()) == [
            (["a", "b", "a"],),
            (["b"],),
        ]
        found = "array_contains(tags, 'a') OR tags IS NULL OR tags = array('b')"
        assert frame.where(found).count() == 8
    probe = spark.read.format("windrow").option("keys", '["a", "b"]').load(str(tmp_path))
    assert sorted(row.v for row in probe.collect()) == [0, 0, 1, 1, 4, 4]
    assert read(spark, tmp_path, key="b", since=3).count() == 2
    assert read(spark, tmp_path, key=Range("b")).count() == 6
    frame = spark.createDataFrame([(["x", "y"], 9), (["y"], 8)], "tags array<string>, v bigint")
    append(frame, tmp_path, 4, now=4)
    with archive.reader() as reader:
        assert decode(reader.probe("y", columns=["v"])).column("v").to_pylist() in ([8, 9], [9, 8])


def test_types_that_spark_has_not_come_as_the_next_wider(spark, tmp_path):
    moment = np.array([1_700_000_000_123_456_789], "datetime64[ns]")
    data = pa.table(
        {
            "k": pa.array([2**63 + 5], pa.uint64()),
            "small": pa.array([200], pa.uint8()),
            "at": pa.array(moment, pa.timestamp("ns")),
            "on": pa.array([19_000], pa.date32()),
            "price": pa.array([Decimal("12.50")], pa.decimal128(9, 2)),
            "tags": pa.array([["a", "b"]], pa.list_(pa.string())),
            "raw": pa.array([b"\x00\x01"], pa.large_binary()),
        }
    )
    for form in ("arrow", "parquet"):
        archive = Archive.create(
            tmp_path / form, data.schema, "k", window=2, scheme="DEL", n=1, format=form
        )
        archive.append(1, data, now=1)
        row = read(spark, archive.disk.root).where("k > 5").collect()[0]
        assert (row.k, row.small, row.price) == (Decimal(2**63 + 5), 200, Decimal("12.50"))
        assert (row.tags, bytes(row.raw), row._day) == (["a", "b"], b"\x00\x01", 1)
        assert row["at"].microsecond == 123_456


@pytest.mark.parametrize("form", ["arrow", "parquet"])
def test_nested_columns_are_read_natively_where_spark_has_their_types(spark, tmp_path, form):
    inner = pa.struct([("at", pa.timestamp("us")), ("names", pa.list_(pa.string()))])
    value = {"at": datetime(2026, 3, 1), "names": ["x", None]}
    data = pa.table(
        {
            "k": [1, 2],
            "inner": pa.array([value, None], inner),
            "small": pa.array([[200], [1, None]], pa.list_(pa.uint8())),
            "by": pa.array([[("a", 2**32 - 1)], []], pa.map_(pa.string(), pa.uint32())),
            "huge": pa.array([1, 2], pa.decimal256(60)),
        }
    )
    archive = Archive.create(
        tmp_path / "a", data.schema, "k", window=2, scheme="DEL", n=1, format=form
    )
    archive.append(1, data, now=1)
    root = archive.disk.root
    with pytest.raises(
        Exception, match="huge: expected a type that Spark supports; found decimal256"
    ):
        read(spark, root)
    frame = read(spark, root, columns=["k", "inner"])
    assert ("BatchScan" in frame._jdf.queryExecution().toString()) == (form == "arrow")
    assert [row.asDict(True) for row in frame.orderBy("k").collect()] == [
        {"k": 1, "inner": value},
        {"k": 2, "inner": None},
    ]
    found = read(spark, root, columns=["k", "small", "by"]).orderBy("k").collect()
    assert [(row.small, row.by) for row in found] == [([200], {"a": 2**32 - 1}), ([1, None], {})]


def test_sql_says_keys_and_days_in_a_view(spark, archive):
    path = archive.disk.root
    spark.sql(
        "CREATE OR REPLACE TEMPORARY VIEW probed USING windrow "
        f"OPTIONS (path '{path}', keys '[\"host7\", \"host8\"]', since '6')"
    )
    found = spark.sql("SELECT src, _day FROM probed WHERE src = 'host7'").collect()
    assert Counter(row._day for row in found) == Counter(
        day for *_, day in probed(archive, "host7", 6).elements()
    )
    with pytest.raises(Exception, match="USING windrow OPTIONS"):
        spark.sql(f"CREATE TABLE kept USING windrow OPTIONS (path '{path}')")


def test_a_schema_that_is_given_chooses_columns(spark, archive):
    path = str(archive.disk.root)
    chosen = spark.read.format("windrow").schema("_day int, src string").load(path)
    assert bag(chosen.collect()) == Counter(
        (row[-1], row[0]) for row in expected(archive).elements()
    )
    with pytest.raises(Exception, match=r"some of src, .* found nothing"):
        spark.read.format("windrow").schema("nothing string").load(path).collect()


def test_dates_are_options_on_a_calendar(spark, tmp_path):
    archive = Archive.create(
        tmp_path / "a", SCHEMA, "src", window=3, scheme="DEL", n=1, calendar=Calendar.of("days")
    )
    archive.append(20_513, day_of(1), now=20_513)
    archive.append(20_514, day_of(2), now=20_514)
    frame = loaded(spark, archive, since="2026-03-02")
    assert {row._day for row in frame.collect()} == {20_514}
    for since in (20_514, "2026-03-02", date(2026, 3, 2)):
        with reading(spark, archive.disk.root, since=since, now="2026-03-03") as frame:
            assert {row._day for row in frame.collect()} == {20_514}
