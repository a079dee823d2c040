"""What conditions say of keys and days: no row that satisfies them is left out."""

from __future__ import annotations

import math
from datetime import date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    IsNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringContains,
    StringStartsWith,
)

from tests.spark.archive.wheres import (
    TWICE,
    at,
    bag,
    hosts,
)
from windrow.archive.archive import Archive
from windrow.archive.format.layout import Layout
from windrow.spark.archive.pushdown import MANY, Where
from windrow.spark.archive.source import ArchiveSource
from windrow.spark.archive.spark_types import spark_schema


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    return hosts(tmp_path_factory.mktemp("archive") / "a")


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
    schema = spark_schema(LAYOUT.reader_schema({}))

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
    schema = spark_schema(layout.reader_schema({}))
    for value, used in ((clear, True), (unclear, False)):
        if value is not None:
            for condition in (EqualTo(("k",), value), LessThan(("k",), value)):
                assert Where.of([condition], layout, schema).used == (condition,) * used


def test_an_hour_that_comes_twice_is_two():
    layout = Layout(pa.schema([("k", pa.timestamp("us", "Europe/Berlin"))]), ("k",))
    schema = spark_schema(layout.reader_schema({}))
    conditions = [In(("k",), tuple(TWICE)), GreaterThan(("k",), TWICE[1])]
    assert sorted(Where.of(conditions, layout, schema).key) == TWICE[1:]


def test_of_very_many_keys_the_range_is_looked_up(archive):
    for begin, rows in (("host", 1200), ("nobody", 0)):
        many = tuple(f"{begin}{n}" for n in range(MANY.value + 1))
        rest, found = looked_up(archive, [In(("src",), many)])
        assert (rest, len(found)) == ([], rows)
