"""Every ordered type against brute force over exact numbers: whatever is rounded is a failure."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.subscriptions.exact import expected, matched, met
from windrow.core.errors import InputError
from windrow.core.schema import Type
from windrow.subscriptions.predicates import Range
from windrow.subscriptions.subscriptions import Subscriptions

pytestmark = pytest.mark.usefixtures("sizes")

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
INTEGERS = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint32(), pa.uint64()]


@st.composite
def integer_cases(draw) -> tuple[pa.DataType, list[Any], list[Any]]:
    kind = draw(st.sampled_from(INTEGERS))
    signed, bits = pa.types.is_signed_integer(kind), kind.bit_width
    least, most = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    near = st.sampled_from([0, 5, 2**53, -(2**53), 2**62, 2**63, 2**64, least, most])
    whole = st.builds(lambda c, d: c + d, near, st.integers(-3, 3))
    values = draw(st.lists(whole.filter(lambda v: least <= v <= most), max_size=8))
    bound = st.one_of(
        whole,
        whole.map(float),
        whole.map(lambda v: Decimal(v) + Decimal("0.5")),
        whole.map(lambda v: f"{v}.25"),
        st.sampled_from([1e300, -1e300, math.inf, -math.inf, 0.1, -0.1]),
    )
    end = st.one_of(st.none(), bound)
    ranges = st.builds(Range, end, end, st.booleans(), st.booleans())
    return kind, draw(st.lists(ranges, min_size=1, max_size=8)), values


@settings(max_examples=100)
@given(case=integer_cases())
def test_integers_of_every_width_are_compared_beyond_what_floats_can_tell(case):
    kind, conditions, values = case
    assert matched(kind, conditions, pa.array(values, kind)) == expected(conditions, values)


@settings(max_examples=70)
@given(
    kind=st.sampled_from([pa.float16(), pa.float32(), pa.float64()]),
    values=st.lists(st.sampled_from([0.0, -0.0, 0.5, 1.5, -2.0, 2.0**11, math.inf, -math.inf])),
    large=st.lists(st.integers(-3, 3).map(lambda d: 2.0**53 + 2 * d), max_size=4),
    ends=st.lists(
        st.tuples(*[st.integers(-7, 7).map(lambda d: 2**53 + d)] * 2, st.booleans(), st.booleans()),
        min_size=1,
    ),
)
def test_whole_numbers_as_bounds_of_floats_are_exact(kind, values, large, ends):
    values = [*values, *(large if kind == pa.float64() else [])]
    column = pa.array(np.array(values, kind.to_pandas_dtype()), kind)
    conditions = [Range(*end) for end in ends] + [Range(0, 0), Range(low=1.5), Range(high=-2.0)]
    expect = {
        (row, i)
        for row, value in enumerate(values)
        for i, c in enumerate(conditions)
        if (c.low is None or (value > c.low if c.low_open else value >= c.low))
        and (c.high is None or (value < c.high if c.high_open else value <= c.high))
    }
    assert matched(kind, conditions, column) == expect


PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def moment(nanoseconds: int) -> str:
    """Nanoseconds after 1970 as text with all its places."""
    whole, rest = divmod(nanoseconds, 10**9)
    return f"{EPOCH + timedelta(seconds=whole):%Y-%m-%d %H:%M:%S}.{rest:09d}"


@st.composite
def moment_cases(draw) -> tuple[pa.DataType, list[Any], list[int], list[Any]]:
    unit = draw(st.sampled_from(list(PER_SECOND)))
    zone = draw(st.sampled_from([None, "UTC", "Europe/Berlin", "+05:30"]))
    step = 10**9 // PER_SECOND[unit]
    base = draw(st.sampled_from([0, 1_704_067_200 * 10**9, -(10**9)]))
    near = st.builds(lambda c, d: base + c * step + d, st.integers(-2, 2), st.integers(-1, 1))
    units = draw(st.lists(st.integers(-3, 3).map(lambda d: base // step + d), max_size=8))
    ends = st.one_of(st.none(), near)
    conditions = draw(
        st.lists(st.tuples(ends, ends, st.booleans(), st.booleans()), min_size=1, max_size=6)
    )
    return pa.timestamp(unit, zone), conditions, units, step


@settings(max_examples=70)
@given(case=moment_cases())
def test_moments_in_every_unit_and_zone_are_compared_to_the_nanosecond(case):
    kind, asked, units, step = case
    conditions = [
        Range(*(None if e is None else moment(e) for e in (low, high)), *opened)
        for low, high, *opened in asked
    ]
    values = [u * step for u in units]
    want = {
        (row, i)
        for row, value in enumerate(values)
        for i, (low, high, low_open, high_open) in enumerate(asked)
        if met(Range(low, high, low_open, high_open), Fraction(value))
    }
    assert matched(kind, conditions, pa.array(units, pa.int64()).cast(kind)) == want


def test_the_utmost_moments_in_nanoseconds_have_room_on_either_side():
    far = 2**63 - 1
    column = pa.array([-far - 1, -far, 0, far - 1, far], pa.int64()).cast(pa.timestamp("ns"))
    last, first = "2262-04-11 23:47:16.854775807", "1677-09-21 00:12:43.145224192"
    conditions = [f">= {last}", f"> {last}", f"<= {first}", f"< {first}", "> 1600-01-01",
                  "< 1600-01-01", "> 2300-01-01", "< 2300-01-01", f"= {last}5"]  # fmt: skip
    assert matched(column.type, conditions, column) == {
        (4, 0), (0, 2), *((row, 4) for row in range(5)), *((row, 7) for row in range(5)),
    }  # fmt: skip


def test_dates_times_and_truths():
    days = pa.array([date(2024, 1, d) for d in (1, 2, 3)])
    for column in (days, days.cast(pa.date64())):
        conditions = ["> 2024-01-01 12:00", date(2024, 1, 2), "<= '2024-01-02 23:59:59.9999999'"]
        assert matched(column.type, conditions, column) == {
            (1, 0), (2, 0), (1, 1), (0, 2), (1, 2),
        }  # fmt: skip
    for unit in ("s", "ms"):
        clock = pa.array([0, 43_200, 86_399], pa.int32()).cast(pa.time32("s")).cast(pa.time32(unit))
        conditions = [">= 12:00", time(12), "< 12:00:00.000000001", "> 23:59:58.5"]
        assert matched(clock.type, conditions, clock) == {
            (1, 0), (2, 0), (1, 1), (0, 2), (1, 2), (2, 3),
        }  # fmt: skip
    fine = pa.array([0, 1, 2], pa.int64()).cast(pa.time64("ns"))
    assert matched(fine.type, ["> 00:00:00.000000001"], fine) == {(2, 0)}
    truths = pa.array([True, False, None])
    assert matched(pa.bool_(), [True, "= false"], truths) == {(0, 0), (1, 1)}


@pytest.mark.parametrize("layout", [pa.string(), pa.large_string(), pa.string_view()])
def test_texts_are_equal_in_whatever_layout_they_come(layout):
    column = pa.array(["a", None, "b", "a"], layout)
    dictionary = pa.array(["a", None, "b", "a"]).dictionary_encode()
    for kind in (layout, dictionary.type, Type.STRING):
        for rows in (column, dictionary, column.slice(1)):
            want = {(i, 0) for i, v in enumerate(rows.to_pylist()) if v == "a"}
            assert matched(kind, ["a"], rows) == want


def test_offsets_and_aware_datetimes_are_moments_of_utc():
    column = pa.array([datetime(2024, 1, 1, 12, tzinfo=UTC)], pa.timestamp("ms", "Asia/Tokyo"))
    berlin = timezone(timedelta(hours=1))
    conditions = [
        "2024-01-01 12:00",
        "2024-01-01T13:00:00+01:00",
        "2024-01-01 21:00:00+09:00",
        datetime(2024, 1, 1, 13, tzinfo=berlin),
        np.datetime64("2024-01-01T12:00:00"),
    ]
    assert matched(column.type, conditions, column) == {(0, i) for i in range(5)}


@pytest.mark.parametrize(
    ("kind", "column"),
    [
        (pa.decimal128(38, 18), pa.array([Decimal("1.5"), None], pa.decimal128(5, 1))),
        (pa.decimal128(12, 2), pa.array([Decimal("1.5000"), None], pa.decimal256(50, 4))),
        (pa.decimal128(12, 2), pa.array([1, None], pa.int8())),
        (pa.decimal128(12, 2), pa.array(["1.5", ""])),
        (pa.int64(), pa.array([Decimal("1.00"), None])),
        (Type.INT, pa.array([2**40, None])),
        (pa.float32(), pa.array([1.1, None])),
        (pa.timestamp("ns"), pa.array([1, None], pa.timestamp("s", "UTC"))),
        (Type.TIMESTAMP, pa.array([1000, None], pa.timestamp("ns"))),
        (Type.DATE, pa.array([datetime(2024, 1, 1), None])),
        (pa.time64("ns"), pa.array([1, None], pa.time32("s"))),
        (pa.uint64(), pa.array([7.0, None])),
        (pa.decimal128(12, 2), pa.nulls(2)),
    ],
)
def test_a_column_of_another_type_is_taken_if_its_values_are_the_attributes(kind, column):
    want = set() if column.null_count == 2 else {(0, 0)}
    assert matched(kind, ["*"], column) == want


@pytest.mark.parametrize(
    ("kind", "column", "said"),
    [
        (pa.decimal128(12, 2), pa.array([Decimal("1.00"), Decimal("1.001")]),
         "row 1: expected a value of decimal128(12, 2); found 1.001; declare the attribute as "),
        (Type.DOUBLE, pa.array([Decimal("0.1")]), "declare the attribute as decimal128(1, 1)"),
        (pa.decimal128(12, 2), pa.array([0.1]), "expected decimal128(12, 2); found double"),
        (Type.BIGINT, pa.array([0, 2**63], pa.uint64()), "declare the attribute as uint64"),
        (Type.BIGINT, pa.array([1.0, 1.5]), "row 1: expected a value of BIGINT; found 1.5"),
        (Type.TIMESTAMP, pa.array([0, 1], pa.timestamp("ns")), "as timestamp[ns]"),
        (Type.DATE, pa.array([datetime(2024, 1, 1, 5)]), "expected a value of DATE"),
        (Type.DOUBLE, pa.array([2**53 + 1]), "declare the attribute as int64"),
        (Type.STRING, pa.array([1]), "expected STRING; found int64"),
        (Type.BIGINT, pa.array(["1", "x"]), "row 1: expected a value of BIGINT; found x"),
        (pa.time64("us"), pa.array(["12:00"]), "expected time64[us]; found string"),
    ],
)  # fmt: skip
def test_a_value_that_has_no_place_is_an_error_and_not_a_guess(kind, column, said):
    with pytest.raises(InputError) as caught:
        matched(kind, ["*" if kind is not Type.STRING else "a"], column)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    "kind", [pa.list_(pa.int64()), pa.binary(), pa.duration("s"), pa.struct([("a", pa.int64())])]
)
def test_a_type_without_an_order_here_is_refused_when_it_is_declared(kind):
    with pytest.raises(InputError, match="attribute x: expected a boolean, a number"):
        Subscriptions({"x": kind})


@pytest.mark.parametrize(
    ("kind", "condition"),
    [
        (pa.decimal128(12, 2), "> 1,5"),
        (pa.decimal128(12, 2), "1_000"),
        (pa.uint64(), "-x"),
        (pa.time64("us"), "> 25:00"),
        (pa.time64("us"), "2024-01-01 12:00"),
        (pa.timestamp("ns"), "> noon"),
    ],
)
def test_a_bound_that_says_nothing_is_refused_with_the_type(kind, condition):
    with pytest.raises(InputError, match=r"row 1: expected .*, found"):
        matched(kind, [condition], pa.nulls(1))
