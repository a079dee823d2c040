"""Every value can be written, and what is written is read as the same value."""

from __future__ import annotations

import io
from datetime import date, datetime, timedelta

import duckdb
import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from windrow.columns.text_forms import plain_values, read_texts, texts_for_csv

DAY = 86_400
SIZES = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
UNITS = list(SIZES)


def counts(bits, *, least=0):
    return st.integers(-(2 ** (bits - 1)) + least, 2 ** (bits - 1) - 1)


columns = st.one_of(
    st.lists(st.binary(max_size=8)).map(lambda v: pa.array(v, pa.binary())),
    st.lists(st.binary(min_size=3, max_size=3)).map(lambda v: pa.array(v, pa.binary(3))),
    st.lists(counts(32)).map(lambda v: pa.array(v, pa.int32()).cast(pa.date32())),
    *(st.lists(counts(64)).map(lambda v, u=u: pa.array(v, pa.duration(u))) for u in UNITS),
    *(
        st.lists(counts(64, least=1)).map(lambda v, u=u: pa.array(v, pa.timestamp(u)))
        for u in UNITS
    ),
    st.lists(counts(64, least=1)).map(lambda v: pa.array(v, pa.timestamp("us", "UTC"))),
    *(
        st.lists(st.integers(0, DAY * SIZES[u] - 1)).map(lambda v, u=u: pa.array(v, pa.time64(u)))
        for u in ("us", "ns")
    ),
)


@given(columns)
@example(pa.array([-719529], pa.int32()).cast(pa.date32()))  # the last day of the year -1
def test_what_is_written_is_read_as_the_same_value(column):
    texts = pa.array([str(value) for value in plain_values(column)], pa.string())
    assert read_texts(texts, column.type) == column


@given(columns)
def test_csv_has_the_same_texts(column):
    file = io.BytesIO()
    pa.csv.write_csv(texts_for_csv(pa.table({"a": column})), file)
    texts = pa.csv.ConvertOptions(column_types={"a": pa.string()}, strings_can_be_null=False)
    back = pa.csv.read_csv(
        io.BytesIO(file.getvalue()),
        convert_options=texts,
        parse_options=pa.csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
    )
    assert read_texts(back.column("a").combine_chunks(), column.type) == column


MOST = timedelta(days=100_000_000)


@given(st.lists(st.timedeltas(-MOST, MOST)), st.lists(st.binary()))
def test_python_and_duckdb_would_write_the_same(durations, values):
    assert plain_values(pa.array(durations, pa.duration("us"))) == [str(one) for one in durations]
    with duckdb.connect() as connection:
        connection.register("given", pa.table({"b": pa.array(values, pa.binary())}))
        found = connection.sql("SELECT b::VARCHAR FROM given").fetchall()
    assert [(text,) for text in plain_values(pa.array(values, pa.binary()))] == found


def test_what_python_has_stays_as_it_is():
    days = [date(1, 1, 1), date(9999, 12, 31), None]
    moments = [datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999_999), None]
    assert plain_values(pa.array(days)) == days
    assert plain_values(pa.array(moments, pa.timestamp("us"))) == moments
    both = pa.array([0, 2**62], pa.timestamp("us"))
    assert plain_values(both) == [datetime(1970, 1, 1), "148108-07-06 14:00:27.387904"]
    zoned = pa.array([None, *moments[:2]], pa.timestamp("us", "America/New_York"))
    assert plain_values(zoned) == [
        None,
        "0001-01-01 00:00:00+00:00",
        "9999-12-31 23:59:59.999999+00:00",
    ]


def test_values_within_others_are_written_too():
    far = pa.array([2**31 - 1, None], pa.int32()).cast(pa.date32())
    lists = pa.ListArray.from_arrays([0, 2, 2], far)
    assert plain_values(lists) == [["5881580-07-11", None], []]
    structs = pa.StructArray.from_arrays([far, pa.array([b"\xff", None])], ["d", "b"])
    assert plain_values(structs) == [{"d": "5881580-07-11", "b": "\\xFF"}, {"d": None, "b": None}]
    pairs = pa.array([[("a", timedelta(days=-1))]], pa.map_(pa.string(), pa.duration("s")))
    assert plain_values(pairs) == [[("a", "-1 day, 0:00:00")]]
    assert plain_values(pa.array([b"\x00"]).dictionary_encode()) == ["\\x00"]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("0:00:00.5", pa.duration("s")),
        ("3", pa.duration("s")),
        ("0:60:00", pa.duration("s")),
        ("106751991167301 days, 15:30:07", pa.duration("s")),
        ("20000-01-01", pa.timestamp("ns")),
        ("20000-01-01 00:00:00.5", pa.timestamp("s")),
        ("20000-02-30", pa.date32()),
        ("5881580-07-12", pa.date32()),
        ("now", pa.timestamp("us")),
        ("25:00:00", pa.time64("us")),
        ("abc", pa.binary(2)),
    ],
)
def test_what_says_no_value_is_refused(text, kind):
    with pytest.raises(pa.ArrowInvalid):
        read_texts(pa.array([text]), kind)
