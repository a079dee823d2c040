"""Conditions of queries are looked up in the index, each for itself, and change no answer."""

from __future__ import annotations

import math
import threading
from datetime import UTC, date, timedelta, timezone
from decimal import Decimal
from functools import reduce

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from tests.spark.archive.wheres import (
    DAYS,
    ROWS,
    TWICE,
    at,
    bag,
    hosts,
    loaded,
    made,
    plan_of,
    pushed,
    setting,
)
from windrow.archive.lifetimes.lifetime_index import LifetimeIndex
from windrow.spark.archive import read

EAST = timezone(timedelta(hours=5))


KINDS = {
    "int": (pa.int32(), [-(2**31), -1, 0, 1, 7, 2**31 - 1]),
    "uint8": (pa.uint8(), [0, 1, 127, 128, 255]),
    "uint64": (pa.uint64(), [0, 1, 2**63, 2**64 - 1]),
    "double": (pa.float64(), [-math.inf, -1.5, 0.0, -0.0, 0.1, math.inf, math.nan]),
    "float": (pa.float32(), [-1.5, 0.0, 0.10000000149011612, 16777216.0, math.nan]),
    "boolean": (pa.bool_(), [False, True]),
    "string": (pa.string(), ["", "a", "ab", "b", "é", "\ud7ff", "\ue000", "\U0010ffff"]),
    "bytes": (pa.binary(), [b"", b"\x00", b"\x7f", b"\xff"]),
    "bytes of one length": (pa.binary(2), [b"\x00\x00", b"\x00\xff", b"\x7f\x00", b"\xff\xff"]),
    "half float": (pa.float16(), [-math.inf, -1.5, 0.0, 0.0999755859375, 65504.0, math.nan]),
    "small decimal": (pa.decimal32(9, 2), [Decimal("-1.50"), Decimal("0.00"), Decimal("9.99")]),
    "long decimal": (pa.decimal64(18, 2), [Decimal("-1.50"), Decimal("0.00"), Decimal("9.99")]),
    "decimal of 256 bits": (pa.decimal256(28, 2), [Decimal("-1.50"), Decimal(0), Decimal("9.99")]),
    "date": (
        pa.date32(),
        [date(1582, 10, 10), date(1900, 1, 1), date(1969, 12, 31), date(2026, 3, 8)],
    ),
    "date64": (pa.date64(), [date(1969, 12, 31), date(2026, 3, 8)]),
    "decimal": (pa.decimal128(9, 2), [Decimal("-1.50"), Decimal("0.00"), Decimal("9999999.99")]),
    "time in UTC": (pa.timestamp("us", "UTC"), [at(h, 7, UTC) for h in (1, 6, 7, 8)]),
    "time elsewhere": (pa.timestamp("s", "+05:00"), [at(h, 0, EAST) for h in (1, 6, 7, 8)]),
    "time nowhere": (pa.timestamp("us"), [at(h, 7) for h in (1, 2, 3)]),
    "duration": (pa.duration("us"), [timedelta(0), timedelta(days=2, microseconds=7)]),
    "large string": (pa.large_string(), ["", "a", "ab"]),
    "large decimal": (pa.decimal128(38, 10), [Decimal("-1.5"), Decimal("9" * 28 + ".1234567891")]),
    "28 digits": (pa.decimal128(28, 9), [Decimal("-1.5"), Decimal("1" * 19 + ".123456789")]),
    "an hour twice": (pa.timestamp("us", "Europe/Berlin"), TWICE),
    "milliseconds": (pa.timestamp("ms"), [at(h, 7000) for h in (1, 2, 3)]),
    "nanoseconds": (pa.timestamp("ns"), [-1, 1, 999, 1000, 1001, 10**18 + 1]),
}


def conditions(column, values):
    """Each value in comparisons, and some lists and prefixes."""
    for value in values:
        v = sf.lit(value)
        yield from (column == v, column > v, column < v)
        if isinstance(value, str):
            yield column.startswith(value)
    some, v = values[::2], sf.lit(values[1])
    yield from (column.eqNullSafe(v), column >= v, column <= v, column != v)
    yield from (column.isin(*some), ~column.isin(*some), column.isin(*some, None))
    yield from (column.isNull(), column.isNotNull(), column.eqNullSafe(sf.lit(None)))
    yield (column == sf.lit(values[0])) & (column == sf.lit(values[-1]))
    yield (column >= sf.lit(values[0])) & (column.isin(*values[1:])) & (sf.col("_day") > 1)
    yield (column == sf.lit(values[0])) | (sf.col("_day") == 2)
    yield (column == sf.lit(values[0])) | column.isin(*some) | (column == v)
    yield (column == sf.lit(values[0])) | (column == v) | column.isNull()


def every(frame, wheres):
    """The rows of each condition, numbered, in one query."""
    return reduce(
        DataFrame.union,
        (frame.where(one).withColumn("which", sf.lit(i)) for i, one in enumerate(wheres)),
    )


def every_of(plain, wheres):
    """The same of a plain table, which is read once for all conditions."""
    chosen = [sf.expr(one) if isinstance(one, str) else one for one in wheres]
    which = sf.array_compact(sf.array(*(sf.when(one, sf.lit(i)) for i, one in enumerate(chosen))))
    return plain.withColumn("which", sf.explode(which))


CUT = ("nanoseconds", "date64", "large decimal", "date", "boolean", "duration")
"""Of which the first equality is none to the index: Spark cuts the value, says NOT, or nothing."""
OFTEN = ("string", "an hour twice")


@pytest.mark.parametrize(
    "kind", [k if k in OFTEN else pytest.param(k, marks=pytest.mark.slow) for k in KINDS]
)
def test_keys_of_every_type_are_compared_as_spark_compares_them(spark, tmp_path, kind):
    arrow, values = KINDS[kind]
    rows = [{"k": value, "n": n} for n, value in enumerate([*values, None])]
    archive = made(tmp_path / "a", pa.schema([("k", arrow), ("n", pa.int32())]), "k", rows)
    with setting(spark, "spark.sql.session.timeZone", "America/New_York"):
        frame = loaded(spark, archive)
        seen = [row.k for row in frame.where("_day = 1").orderBy("n").collect()]
        wheres = list(conditions(frame["k"], [value for value in seen if value is not None]))
        plain = spark.createDataFrame(frame.collect(), frame.schema)
        wanted = list(conditions(plain["k"], [value for value in seen if value is not None]))
        assert bag(every(frame, wheres).collect()) == bag(every_of(plain, wanted).collect())
        used = any("(k," in line for line in pushed(frame.where(wheres[0])))
        assert used == (kind not in CUT)


COMPOSITE = [
    "a = 'x'", "a = 'x' and b = 2", "a = 'x' and b > 1", "a = 'x' and b < 2", "a in ('x', 'y')",
    "a in ('x', 'y') and b = 1", "b = 1", "a > 'x' and b = 1", "a is not null", "b is not null",
    "a is not null and b is not null", "a is null", "a = 'x' and b is null", "a = 'x' and c = 3",
    "a = 'x' and b = 1 and c <= 1", "a like 'x%' and b = 1", "a = 'nobody'", "a = 'x' and a = 'y'",
]  # fmt: skip


@pytest.mark.parametrize("form", ["arrow", pytest.param("parquet", marks=pytest.mark.slow)])
def test_entries_that_lack_a_part_of_a_key_are_not_forgotten(spark, tmp_path, form):
    rows = [
        {"a": a, "b": b, "c": c}
        for a in ("x", "xa", "y", "z", None)
        for b in (1, 2, None)
        for c in (1, 3)
    ]
    schema = pa.schema([("a", pa.string()), ("b", pa.int32()), ("c", pa.int64())])
    archive = made(tmp_path / "a", schema, ("a", "b"), rows, form=form)
    frame = loaded(spark, archive)
    plain = spark.createDataFrame(frame.collect(), frame.schema)
    assert bag(every(frame, COMPOSITE).collect()) == bag(every_of(plain, COMPOSITE).collect())
    for options in () if form == "parquet" else ({"keys": '["x"]'}, {"since": "2", "until": "2"}):
        some = loaded(spark, archive, **options)
        plain = spark.createDataFrame(some.collect(), some.schema)
        assert bag(every(some, COMPOSITE).collect()) == bag(every_of(plain, COMPOSITE).collect())


def test_days_and_lives_are_chosen_too(spark, tmp_path):
    schema = pa.schema([("k", pa.string())])
    index = LifetimeIndex.create(tmp_path / "l", schema, "k", longest=40, interval=10)
    for now in range(10, 60, 10):
        keys = pa.table({"k": [f"k{n}" for n in range(30)]})
        index.insert(now, keys, pa.array([now + n for n in range(1, 31)]))
    frame = spark.read.format("windrow").load(str(tmp_path / "l"))
    wheres = [
        "_exp > 60", "_exp >= 60", "_exp = 61", "_exp < 60", "_day = 4", "_exp in (60, 70)",
        "_day in (2, 3) and _exp > 45 and k = 'k9'", "_day = 3 and _day = 4", "_exp > 1000",
    ]  # fmt: skip
    plain = spark.createDataFrame(frame.collect(), frame.schema)
    assert bag(every(frame, wheres).collect()) == bag(every_of(plain, wheres).collect())
    assert "_exp" in pushed(frame.where("_exp > 60"))[0]


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    return hosts(tmp_path_factory.mktemp("archive") / "a")


def test_one_frame_takes_any_number_of_filters(spark, archive):
    """Spark's own way would give all of them the rows of the last."""
    frame = loaded(spark, archive)
    some, other = (frame.where(f"src = '{name}'") for name in ("host7", "host8"))
    some.explain()  # plans it; the next one is planned and run before it is run
    assert other.where("_day > 1").count() == 2 * 8
    assert [frame.count(), some.count(), other.count(), frame.count()] == [1200, 24, 24, 1200]
    assert some.union(other).count() == 48
    joined = some.alias("one").join(other.alias("two"), "_day")
    assert joined.count() == 3 * 8 * 8
    assert frame.where("src = 'host7' or src = 'host8'").count() == 48
    with setting(spark, "spark.sql.python.filterPushdown.enabled", "true"):
        assert [frame.count(), some.count(), frame.count()] == [1200, 24, 1200]


def test_many_threads_ask_one_frame(spark, archive):
    frame, found = loaded(spark, archive), {}

    def ask(name):
        for _ in range(3):
            found.setdefault(name, []).append(frame.where(f"src = '{name}'").count())
        found[name].append(loaded(spark, archive).count())

    asking = [threading.Thread(target=ask, args=(f"host{n}",)) for n in range(4)]
    for one in asking:
        one.start()
    for one in asking:
        one.join()
    assert found == {f"host{n}": [24, 24, 24, 1200] for n in range(4)}


def test_a_plan_shows_what_was_of_use_and_reads_what_is_needed(spark, archive):
    frame = loaded(spark, archive)
    query = frame.where("src = 'host7' and _day >= 2 and port > 2").select("port")
    used = "IsNotNull(src), IsNotNull(_day), EqualTo(src,host7), GreaterThanOrEqual(_day,2)"
    assert pushed(query) == [f"PushedFilters: [{used}]"]
    assert "ReadSchema: struct<src:string,port:int,_day:int>" in plan_of(query)
    assert "ReadSchema: struct<inner:struct<x:bigint,y:string>>" in plan_of(frame.select("inner.x"))
    assert frame.select("inner.x").agg(sf.sum("x")).collect()[0][0] == 3 * 399 * 200
    assert "ReadSchema: struct<_day:int>" in plan_of(frame.groupBy().count())
    assert "BatchScan windrow" in plan_of(query)
    assert frame.select("_day", "src").columns == ["_day", "src"]
    assert set(frame.select("port", "src").distinct().collect()) == {
        (row["port"], row["src"]) for row in ROWS
    }


def test_one_column_equal_to_this_or_that_is_looked_up(spark, archive):
    frame = loaded(spark, archive)
    query = frame.where("src = 'host7' or src in ('host8', 'host9') or 'host9' = src")
    assert "In(src, [host7,host8,host9,host9])" in pushed(query)[0]
    assert query.count() == 3 * 24
    for other in ("src = 'host7' or port = 2", "src = 'host7' or src > 'host8'"):
        assert not any("src" in line for line in pushed(frame.where(other)))


def test_views_of_sql_and_read_look_into_the_index(spark, archive):
    root = archive.disk.root
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW kept USING windrow OPTIONS (path '{root}')")
    query = spark.sql("SELECT a.port FROM kept a JOIN kept b USING (src) WHERE src = 'host7'")
    assert query.count() == 24 * 24
    assert [line.count("EqualTo(src,host7)") for line in pushed(query)] == [1, 1]
    assert pushed(read(spark, root).where("src = 'host7'"))[0].count("EqualTo(src,host7)") == 1


def test_of_values_that_python_cannot_have_nothing_is_looked_up(spark, tmp_path):
    rows = [{"k": n, "at": at(n)} for n in (1, 2)]
    schema = pa.schema([("k", pa.int32()), ("at", pa.timestamp("us", "UTC"))])
    archive = made(tmp_path / "a", schema, "k", rows)
    with setting(spark, "spark.sql.session.timeZone", "America/New_York"):
        frame = loaded(spark, archive).where("at < timestamp'9999-12-31 23:59:59' and k = 1")
        assert (frame.count(), pushed(frame)) == (len(DAYS), [])


def test_a_schema_of_other_types_is_not_compared(spark, tmp_path):
    """Two numbers that are one to Spark, as doubles, are two keys."""
    rows = [{"k": 2**53}, {"k": 2**53 + 1}, {"k": 7}]
    archive = made(tmp_path / "a", pa.schema([("k", pa.int64())]), "k", rows)
    frame = spark.read.format("windrow").schema("k double").load(str(archive.disk.root))
    assert frame.where(frame.k == float(2**53)).count() == 2 * len(DAYS)
