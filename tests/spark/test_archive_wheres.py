"""Conditions of queries are looked up in the index, each for itself, and change no answer."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import threading
from collections import Counter
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from functools import reduce

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    EqualNullSafe,
    EqualTo,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    InputPartition,
    IsNotNull,
    IsNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringContains,
    StringStartsWith,
)

from windrow.archive.archive import Archive
from windrow.archive.layout import Layout
from windrow.archive.lifetimes.index import LifetimeIndex
from windrow.core.errors import InputError
from windrow.spark.activity import active
from windrow.spark.archive import read, register
from windrow.spark.archive.source import ArchiveSource
from windrow.spark.archive.types import spark_schema
from windrow.spark.archive.wheres import MANY, Where
from windrow.spark.session import configure

DAYS = range(1, 4)


def made(path, schema, key, rows, *, form="arrow"):
    """An archive that has the same rows on each of its days."""
    archive = Archive.create(path, schema, key, window=3, scheme="DEL", n=1, format=form)
    table = pa.Table.from_pylist(rows, schema)
    for day in DAYS:
        archive.append(day, table, now=day)
    return archive


def loaded(spark, archive, **options):
    return spark.read.format("windrow").options(**options).load(str(archive.disk.root))


def bag(rows) -> Counter:
    """Rows by their looks: a NaN is a NaN."""
    return Counter(str(tuple(row)) for row in rows)


def plan_of(frame) -> str:
    return frame._jdf.queryExecution().explainString(
        frame.sparkSession._jvm.org.apache.spark.sql.execution.ExplainMode.fromString("formatted")
    )


def pushed(frame) -> list[str]:
    return [line for line in plan_of(frame).splitlines() if line.startswith("PushedFilters")]


def at(hour: int, micros: int = 0, zone=None) -> datetime:
    return datetime(2026, 3, 8, hour, 30, 0, micros, zone)  # a night without a half past two


EAST = timezone(timedelta(hours=5))
TWICE = [datetime(2025, 10, 26, h, m, tzinfo=UTC) for h, m in ((0, 10), (0, 40), (1, 10), (1, 40))]
KINDS = {
    "int": (pa.int32(), [-(2**31), -1, 0, 1, 7, 2**31 - 1]),
    "uint8": (pa.uint8(), [0, 1, 127, 128, 255]),
    "uint64": (pa.uint64(), [0, 1, 2**63, 2**64 - 1]),
    "double": (pa.float64(), [-math.inf, -1.5, 0.0, -0.0, 0.1, math.inf, math.nan]),
    "float": (pa.float32(), [-1.5, 0.0, 0.10000000149011612, 16777216.0, math.nan]),
    "boolean": (pa.bool_(), [False, True]),
    "string": (pa.string(), ["", "a", "ab", "b", "é", "\ud7ff", "\ue000", "\U0010ffff"]),
    "bytes": (pa.binary(), [b"", b"\x00", b"\x7f", b"\xff"]),
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


def every(frame, wheres):
    """The rows of each condition, numbered, in one query."""
    return reduce(
        DataFrame.union,
        (frame.where(one).withColumn("which", sf.lit(i)) for i, one in enumerate(wheres)),
    )


@contextmanager
def setting(spark, name, value):
    before = spark.conf.get(name)
    spark.conf.set(name, value)
    try:
        yield
    finally:
        spark.conf.set(name, before)


CUT = ("nanoseconds", "date64", "large decimal", "date", "boolean", "duration")
"""Of which the first equality is none to the index: Spark cuts the value, says NOT, or nothing."""
OFTEN = ("double", "string", "an hour twice")


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
        assert bag(every(frame, wheres).collect()) == bag(every(plain, wanted).collect())
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
    assert bag(every(frame, COMPOSITE).collect()) == bag(every(plain, COMPOSITE).collect())
    for options in () if form == "parquet" else ({"keys": '["x"]'}, {"since": "2", "until": "2"}):
        some = loaded(spark, archive, **options)
        plain = spark.createDataFrame(some.collect(), some.schema)
        assert bag(every(some, COMPOSITE).collect()) == bag(every(plain, COMPOSITE).collect())


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
    assert bag(every(frame, wheres).collect()) == bag(every(plain, wheres).collect())
    assert "_exp" in pushed(frame.where("_exp > 60"))[0]


ROWS = [{"src": f"host{n % 50}", "port": n % 7, "inner": {"x": n, "y": str(n)}} for n in range(400)]
SCHEMA = pa.schema(
    [
        ("src", pa.string()),
        ("port", pa.int32()),
        ("inner", pa.struct([("x", pa.int64()), ("y", pa.string())])),
    ]
)


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    return made(tmp_path_factory.mktemp("archive") / "a", SCHEMA, "src", ROWS)


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


def looked_up(archive, conditions):
    """The conditions that were of no use, and the rows that tasks read for the others."""
    source = ArchiveSource({"path": str(archive.disk.root)})
    reader = source.reader(source.schema())
    rest = list(reader.pushFilters(conditions))
    batches = [batch for part in reader.partitions() for batch in reader.read(part)]
    return rest, [row for batch in batches for row in batch.to_pylist()]


@pytest.mark.parametrize(
    ("conditions", "rows"),
    [
        ([EqualTo(("src",), "host7")], 24),
        ([EqualTo(("_day",), 3)], 400),
        ([GreaterThanOrEqual(("src",), "host48"), IsNotNull(("src",))], 7 * 24),
        ([EqualTo(("src",), "nobody")], 0),
    ],
)
def test_tasks_are_given_the_rows_of_a_condition_and_no_others(archive, conditions, rows):
    rest, found = looked_up(archive, conditions)
    assert (rest, len(found)) == ([], rows)


def test_views_of_sql_and_read_look_into_the_index(spark, archive):
    root = archive.disk.root
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW kept USING windrow OPTIONS (path '{root}')")
    query = spark.sql("SELECT a.port FROM kept a JOIN kept b USING (src) WHERE src = 'host7'")
    assert query.count() == 24 * 24
    assert [line.count("EqualTo(src,host7)") for line in pushed(query)] == [1, 1]
    assert pushed(read(spark, root).where("src = 'host7'"))[0].count("EqualTo(src,host7)") == 1


def test_a_session_of_somebody_else_knows_it_after_registering(spark, archive):
    theirs = spark.newSession()
    with pytest.raises(Exception, match="windrow-archive"):
        loaded(theirs, archive).count()
    register(theirs)
    frame = loaded(theirs, archive).where("src = 'host7'")
    assert (frame.count(), len(pushed(frame))) == (24, 1)


def test_a_driver_that_was_started_otherwise_is_told_what_it_lacks(spark, monkeypatch):
    monkeypatch.setattr("windrow.spark.archive.format.SHARED", "java.lang.Thread")
    with pytest.raises(InputError, match="started by Spark's own launcher"):
        register(spark)
    assert configure(spark).range(3).count() == 3


def test_spark_keeps_pushed_filters_with_the_table(spark):
    """Fails when a new Spark keeps them with the scan: then there is less for Format.java to do."""

    class Pushed(DataSourceReader):
        wanted = range(10)

        def pushFilters(self, filters):  # noqa: N802 - Spark's name
            self.wanted = [f.value for f in filters if isinstance(f, EqualTo)]
            yield from filters

        def partitions(self):
            return [InputPartition(0)]

        def read(self, partition):
            yield from ((value,) for value in self.wanted)

    class Numbers(DataSource):
        @classmethod
        def name(cls):
            return "numbers"

        def schema(self):
            return "k int"

        def reader(self, schema):
            return Pushed()

    with active(spark):
        spark.dataSource.register(Numbers)
    with setting(spark, "spark.sql.python.filterPushdown.enabled", "true"):
        frame = spark.read.format("numbers").load()
        assert [frame.count(), frame.where("k = 3").count(), frame.count()] == [10, 1, 1]


LAYOUT = Layout(pa.schema([("a", pa.int32()), ("b", pa.string()), ("c", pa.int32())]), ("a", "b"))
COMPARED = {
    EqualTo: lambda x, v: x is not None and x == v,
    EqualNullSafe: lambda x, v: x == v,
    GreaterThan: lambda x, v: x is not None and x > v,
    GreaterThanOrEqual: lambda x, v: x is not None and x >= v,
    LessThan: lambda x, v: x is not None and x < v,
    LessThanOrEqual: lambda x, v: x is not None and x <= v,
    In: lambda x, v: x is not None and x in v,
    StringStartsWith: lambda x, v: x is not None and x.startswith(v),
    StringContains: lambda x, v: x is not None and v in x,
}


def holds(condition, row) -> bool:
    if isinstance(condition, Not):
        return row[condition.child.attribute[0]] is not None and not holds(condition.child, row)
    value = row[condition.attribute[0]]
    if isinstance(condition, IsNull | IsNotNull):
        return (value is None) == isinstance(condition, IsNull)
    return COMPARED[type(condition)](value, condition.value)


NUMBERS = st.integers(0, 3)
TEXTS = st.text("ab\ud7ff\U0010ffff", max_size=2)
SPANS = (GreaterThan, GreaterThanOrEqual, LessThan, LessThanOrEqual, EqualTo, EqualNullSafe)


@st.composite
def filters(draw):
    name = draw(st.sampled_from(["a", "b", "c", "_day"]))
    values = TEXTS if name == "b" else NUMBERS
    kinds = [IsNull, IsNotNull, In, Not, *SPANS]
    kind = draw(st.sampled_from(kinds + [StringStartsWith, StringContains] * (name == "b")))
    if kind in (IsNull, IsNotNull):
        return kind((name,))
    if kind is In:
        return In((name,), tuple(draw(st.lists(values, max_size=3))))
    if kind is Not:
        return Not(EqualTo((name,), draw(values)))
    return kind((name,), draw(values))


RECORDS = st.lists(
    st.fixed_dictionaries(
        {"a": st.none() | NUMBERS, "b": st.none() | TEXTS, "c": st.none() | NUMBERS}
    ),
    max_size=30,
)


@given(days=st.lists(RECORDS, min_size=1, max_size=3), wheres=st.lists(filters(), max_size=5))
def test_no_row_that_satisfies_all_is_left_out(tmp_path_factory, days, wheres):
    path = tmp_path_factory.mktemp("any")
    archive = Archive.create(path / "a", LAYOUT.schema, LAYOUT.key, window=3, scheme="DEL", n=1)
    rows = []
    for day, records in enumerate(days, 1):
        archive.append(day, pa.Table.from_pylist(records, LAYOUT.schema), now=day)
        rows += [(*(record[name] for name in "abc"), day) for record in records]
    rest, found = looked_up(archive, wheres)
    assert bag(row.values() for row in found) <= bag(rows)
    names = (*"abc", "_day")
    rows = [dict(zip(names, row, strict=True)) for row in rows]
    wanted, left = (
        bag(tuple(r[n] for n in names) for r in some if all(holds(c, r) for c in wheres))
        for some in (rows, found)
    )
    assert wanted == left
    assert all(any(one is other for other in wheres) for one in rest)


def test_what_conditions_leave():
    schema = spark_schema(LAYOUT.given({}))

    def left(*conditions):
        return Where.of(conditions, LAYOUT, schema)

    where = left(EqualTo(("a",), 1), StringStartsWith(("b",), "x"))
    assert (where.key.least, where.key.greatest, where.keyed) == ((1, "x"), (1, "y"), True)
    where = left(EqualTo(("b",), "x"), EqualTo(("inner", "a"), 1))
    assert (where.key, where.used) == (None, ())
    where = left(EqualTo(("a",), 2**40), GreaterThan(("a",), 1))
    assert where.used == (GreaterThan(("a",), 1),)
    where = left(In(("_day",), (4, 9, None)), LessThan(("_day",), 9))
    assert (where.since, where.until) == (4, 9)
    assert left(StringStartsWith(("c",), "")).key is None


@pytest.mark.parametrize(
    ("kind", "clear", "unclear"),
    [
        (pa.decimal128(28, 2), Decimal("9" * 26 + ".99"), None),
        (pa.decimal128(29, 2), None, Decimal("1.50")),
        (pa.date32(), date(1900, 1, 1), date(1899, 12, 31)),
        (pa.timestamp("us"), datetime(1900, 1, 1), datetime(1582, 10, 10)),
        (pa.timestamp("ns"), None, at(1)),
        (pa.date64(), None, date(2026, 3, 8)),
        (pa.float64(), 0.5, math.nan),
        (pa.uint8(), 255, 256),
    ],
)
def test_values_that_spark_has_otherwise_are_not_looked_up(kind, clear, unclear):
    layout = Layout(pa.schema([("k", kind)]), ("k",))
    schema = spark_schema(layout.given({}))
    for value, used in ((clear, True), (unclear, False)):
        if value is not None:
            for condition in (EqualTo(("k",), value), LessThan(("k",), value)):
                assert Where.of([condition], layout, schema).used == (condition,) * used


def test_an_hour_that_comes_twice_is_two():
    layout = Layout(pa.schema([("k", pa.timestamp("us", "Europe/Berlin"))]), ("k",))
    schema = spark_schema(layout.given({}))
    conditions = [In(("k",), tuple(TWICE)), GreaterThan(("k",), TWICE[1])]
    assert sorted(Where.of(conditions, layout, schema).key) == TWICE[1:]


def test_of_very_many_keys_the_range_is_looked_up(archive):
    for begin, rows in (("host", 1200), ("nobody", 0)):
        many = tuple(f"{begin}{n}" for n in range(MANY + 1))
        rest, found = looked_up(archive, [In(("src",), many)])
        assert (rest, len(found)) == ([], rows)


def test_of_values_that_python_cannot_have_nothing_is_looked_up(spark, tmp_path):
    rows = [{"k": n, "at": at(n)} for n in (1, 2)]
    schema = pa.schema([("k", pa.int32()), ("at", pa.timestamp("us", "UTC"))])
    archive = made(tmp_path / "a", schema, "k", rows)
    with setting(spark, "spark.sql.session.timeZone", "America/New_York"):
        frame = loaded(spark, archive).where("at < timestamp'9999-12-31 23:59:59' and k = 1")
        assert (frame.count(), pushed(frame)) == (len(DAYS), [])


def test_a_version_is_that_of_load_even_with_a_schema(spark, tmp_path):
    archive = made(tmp_path / "a", pa.schema([("k", pa.int32())]), "k", [{"k": 1}])
    frame = spark.read.format("windrow").schema("k int").load(str(archive.disk.root))
    archive.append(4, pa.table({"k": pa.array([1, 1], pa.int32())}), now=4)
    assert (frame.count(), loaded(spark, archive).count()) == (3, 4)


BESIDE_OTHERS = """
import sys, zipfile
from pyspark.sql import SparkSession
from windrow.spark.archive import register
jar, path = sys.argv[1:]
noop = "org.apache.spark.sql.execution.datasources.noop.NoopDataSource"
with zipfile.ZipFile(jar, "w") as file:
    file.writestr("META-INF/services/org.apache.spark.sql.sources.DataSourceRegister", noop)
spark = SparkSession.builder.master("local[1]").config("spark.jars", jar).getOrCreate()
register(spark)
found = spark.read.format("windrow").load(path).where("src = 'host7'").count()
spark.stop()
again = SparkSession.builder.master("local[1]").getOrCreate()
register(again)
print(found, again.read.format("windrow").load(path).where("src = 'host7'").count())
"""


@pytest.mark.slow
def test_formats_of_others_and_a_second_start_are_no_hindrance(archive, tmp_path):
    told = subprocess.run(
        [sys.executable, "-c", BESIDE_OTHERS, tmp_path / "other.jar", archive.disk.root],
        capture_output=True,
        check=False,
        text=True,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
    )
    assert told.stdout.split() == ["24", "24"], told.stderr


def test_a_schema_of_other_types_is_not_compared(spark, tmp_path):
    """Two numbers that are one to Spark, as doubles, are two keys."""
    rows = [{"k": 2**53}, {"k": 2**53 + 1}, {"k": 7}]
    archive = made(tmp_path / "a", pa.schema([("k", pa.int64())]), "k", rows)
    frame = spark.read.format("windrow").schema("k double").load(str(archive.disk.root))
    assert frame.where(frame.k == float(2**53)).count() == 2 * len(DAYS)
