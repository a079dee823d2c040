"""Pushed data of every accepted kind becomes the same rows."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from windrow.core.errors import InputError
from windrow.core.schema import Field, Schema, Type
from windrow.core.time import Clock
from windrow.plan.catalog import StreamDeclaration
from windrow.streams.pushed_rows import parse_pushed

SCHEMA = Schema((Field("ts", Type.BIGINT), Field("k", Type.INT), Field("v", Type.DOUBLE),
                 Field("name", Type.STRING)))  # fmt: skip
STREAM = StreamDeclaration("s", SCHEMA, 0, Clock.INTEGER)
MOMENTS = StreamDeclaration(
    "m", Schema((Field("at", Type.TIMESTAMP), Field("day", Type.DATE))), 0, Clock.TIMESTAMP
)
DATA = {"ts": [3, 1], "k": [7, None], "v": [0.5, None], "name": ["é", None], "extra": [1, 2]}
EXPECTED = [
    {"ts": 3, "k": 7, "v": 0.5, "name": "é"},
    {"ts": 1, "k": None, "v": None, "name": None},
]
KINDS = {
    "dict of lists": DATA,
    "list of dicts": [
        dict(zip(DATA, row, strict=True)) for row in zip(*DATA.values(), strict=True)
    ],
    "Arrow table": pa.table(DATA),
    "Arrow batch": pa.RecordBatch.from_pydict(DATA),
    "pandas frame": pd.DataFrame(DATA),
    "dict of pandas columns": dict(pd.DataFrame(DATA).items()),
    "dict of pandas arrays": {**DATA, "k": pd.array(DATA["k"], "Int32")},
    "polars frame": pl.DataFrame(DATA),
    "chunked table": pa.concat_tables([pa.table(DATA).slice(0, 1), pa.table(DATA).slice(1)]),
    "dictionary column": pa.table({**DATA, "name": pa.array(DATA["name"]).dictionary_encode()}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_data_gives_the_same_rows(kind):
    parsed = parse_pushed(KINDS[kind], STREAM)
    assert parsed.rows.to_pylist() == EXPECTED
    assert parsed.rows.schema.types == [pa.int64(), pa.int32(), pa.float64(), pa.string()]
    assert not parsed.rejected


@pytest.mark.parametrize("frame", [True, False])
def test_whoever_pushed_may_write_to_the_data_later(frame):
    columns = {"ts": np.array([1, 2]), "v": np.array([0.5, 1.5]), "at": np.array([3, 4], "M8[us]")}
    columns["k"] = np.array([5, 6], np.int32)
    data = {**columns, "name": ["a", "b"]}
    fields = (*SCHEMA, Field("at", Type.TIMESTAMP))
    stream = StreamDeclaration("s", Schema(fields), 0, Clock.INTEGER)
    pushed = pd.DataFrame(data, copy=False) if frame else data
    rows = parse_pushed(pushed, stream).rows
    before = rows.to_pylist()
    for values in columns.values():
        values[:] = values[::-1].copy()
    assert rows.to_pylist() == before


NESTED = StreamDeclaration(
    "n",
    Schema((Field("ts", Type.BIGINT), Field("a", Type.array(Type.STRING)))),
    0, Clock.INTEGER,
)  # fmt: skip
LISTS = [["x"], None, ["y", "z"]]


@pytest.mark.parametrize(
    "lists",
    [
        pl.Series("a", LISTS),
        pl.Series("a", LISTS, pl.List(pl.Categorical)),
        pa.array(LISTS, pa.list_view(pa.string())),
        pa.array(LISTS, pa.list_(pa.string_view())),
    ],
)
def test_views_of_lists_and_texts_are_values_like_others(lists):
    data = {"ts": [1, 2, 3], "a": lists}
    table = pl.DataFrame(data) if isinstance(lists, pl.Series) else pa.table(data)
    for pushed in (table, data):
        assert parse_pushed(pushed, NESTED).rows["a"].to_pylist() == LISTS


def test_fields_of_structs_are_found_in_any_case_in_dicts_as_in_arrow():
    kind = Type.struct([("a", Type.INT), ("b", Type.STRING)])
    stream = StreamDeclaration("n", Schema((SCHEMA[0], Field("v", kind))), 0, Clock.INTEGER)
    rows = [{"ts": 1, "v": {"A": 5, "b": "x", "B": "y"}}, {"ts": 2, "v": {"A": None, "b": None}}]
    for data in (rows, pa.Table.from_pylist(rows)):
        found = parse_pushed(data, stream).rows["v"].to_pylist()
        assert found == [{"a": 5, "b": "x"}, {"a": None, "b": None}]


def test_lists_of_nothing_in_the_middle_of_a_column_are_values_like_others():
    lists = pa.array([[None], None, [None, None], []])
    for many in (lists, pa.concat_arrays([lists, lists])):
        for start in range(4):
            part = many.slice(start)
            data = {"ts": list(range(len(part))), "a": part}
            assert parse_pushed(data, NESTED).rows["a"].to_pylist() == part.to_pylist()


@pytest.mark.parametrize("kind", [pl.String, pl.Categorical, pl.Enum(["7", "x"])])
def test_texts_of_polars_are_read_as_numbers_and_times_or_refused_one_by_one(kind):
    texts = pl.Series(["7", "x", None], dtype=kind)
    parsed = parse_pushed(
        pl.DataFrame({"ts": [1, 2, 3], "k": texts, "v": 0.5, "name": texts}), STREAM
    )
    assert parsed.rows["k"].to_pylist() == [7, None]
    assert parsed.rows["name"].to_pylist() == ["7", None]
    assert [r.reason for r in parsed.rejected] == ["column k: expected INT, found 'x'"]
    at = pl.DataFrame({"at": ["2026-03-01 09:00:00", "soon"], "day": ["2026-03-01", None]})
    assert [r.row for r in parse_pushed(at, MOMENTS).rejected] == [2]


def test_a_blank_category_is_no_number_as_a_blank_text_is_none():
    numbers = pd.DataFrame({"ts": [1, 2], "k": ["7", ""], "v": [0.5, 1.5], "name": ["a", "b"]})
    for data in (numbers, numbers.astype({"k": "category"})):
        parsed = parse_pushed(data, STREAM)
        assert (parsed.rows["k"].to_pylist(), parsed.rejected) == ([7, None], ())


@pytest.mark.parametrize("unit", ["M", "D", "h", "m", "s", "ms", "us", "ns"])
def test_moments_of_numpy_are_taken_in_every_unit_also_beside_each_other(unit):
    days = np.array(["2024-02-29", "1969-12-31"]).astype(f"M8[{unit}]")
    found = [{"at": d.astype("M8[us]").item(), "day": d.astype("M8[D]").item()} for d in days]
    rows = [{"at": day, "day": day} for day in days]
    for data in ({"at": days, "day": days}, rows, {"at": days.astype(">M8"), "day": list(days)}):
        parsed = parse_pushed(data, MOMENTS)
        assert (parsed.rows.to_pylist(), parsed.cut, list(parsed.rejected)) == (found, 0, [])
    late = np.datetime64("2024-02-29T05:00:00.5")
    parsed = parse_pushed([*rows, {"at": late, "day": None}], MOMENTS)
    assert parsed.rows["at"].to_pylist()[2] == late.item()


def test_no_time_is_null_and_what_is_out_of_reach_is_refused_one_by_one():
    at = dt.datetime(2024, 2, 29)
    nothing = [{"at": at, "day": v} for v in (np.datetime64("NaT"), pd.NaT, None, "")]
    parsed = parse_pushed(nothing, MOMENTS)
    assert (parsed.rows["day"].to_pylist(), parsed.cut, parsed.rejected) == ([None] * 4, 0, ())
    far = [{"at": v} | {"day": None} for v in (np.datetime64(10**15, "D"), np.datetime64(at))]
    parsed = parse_pushed(far, MOMENTS)
    assert parsed.rows["at"].to_pylist() == [at]
    assert [r.row for r in parsed.rejected] == [1]
    numbers = [Decimal("1E+60"), Decimal("1E-60"), Decimal(7)]
    parsed = parse_pushed(
        [{**DATA, "ts": 1, "name": None, "v": 1, "k": n} for n in numbers], STREAM
    )
    assert parsed.rows["k"].to_pylist() == [7]
    assert [r.row for r in parsed.rejected] == [1, 2]


def test_two_columns_of_one_name_are_refused_in_words():
    twice = pd.DataFrame([[1, 2, 3]], columns=["ts", "k", "k"])
    with pytest.raises(InputError, match="several columns named k"):
        parse_pushed(twice, STREAM)


@pytest.mark.parametrize("table", [pd.DataFrame, pl.DataFrame, lambda of: np.array([of["v"]])])
def test_a_table_in_place_of_a_column_is_an_error_in_words(table):
    with pytest.raises(InputError, match="a whole table as v; put one of its columns there"):
        parse_pushed({**DATA, "v": table({"v": DATA["v"]})}, STREAM)


def test_a_text_in_a_numpy_array_that_does_not_fit_is_shown_as_it_was_written():
    texts = np.array(["7", "x"])
    parsed = parse_pushed({**DATA, "k": texts, "name": texts.astype("S")}, STREAM)
    assert parsed.rows["name"].to_pylist() == ["7"]
    assert [r.reason for r in parsed.rejected] == ["column k: expected INT, found 'x'"]


MISFITS = {
    "text that is no number": ("k", "x", "column k: expected INT, found 'x'"),
    "a fraction": ("k", 1.5, "column k: expected INT, found 1.5"),
    "an integer too large": ("k", 2**31, "column k: expected INT, found 2147483648"),
    "an integer beyond 64 bits": ("k", 2**70, f"column k: expected INT, found {2**70}"),
    "a truth": ("v", True, "column v: expected DOUBLE, found true"),
    "a number for text": ("name", 5, "column name: expected STRING, found 5"),
    "bytes that are not UTF-8": ("name", b"\xff", "in UTF-8, found bytes '\\xff'"),
    "a list": ("v", [1], "column v: expected DOUBLE, found [1]"),
    "no timestamp": ("ts", None, "every row needs its timestamp"),
    "the end of time": ("ts", 2**63 - 1, "column ts: expected a timestamp between"),
}


@pytest.mark.parametrize("case", MISFITS)
def test_a_value_that_does_not_fit_refuses_its_row_only(case):
    column, value, reason = MISFITS[case]
    good = {"ts": 1, "k": 1, "v": 1.0, "name": "a"}
    parsed = parse_pushed([good, {**good, column: value}, good], STREAM)
    assert parsed.numbers.tolist() == [1, 3]
    (refused,) = parsed.rejected
    assert refused.row == 2
    assert reason in refused.reason
    assert refused.ts == (None if column == "ts" else 1)
    assert json.loads(refused.text)["name"] is not None


def test_values_are_judged_alone_whatever_stands_beside_them():
    mixed = parse_pushed({"ts": [1, "2", 3.0], "k": [1, 1, 1], "v": [1, "2.5", None],
                    "name": ["a", 5, "b"]}, STREAM)  # fmt: skip
    assert mixed.rows.column(0).to_pylist() == [1, 3]
    assert [r.row for r in mixed.rejected] == [2]


def test_moments_are_taken_in_utc_and_cut_to_microseconds():
    zone = dt.timezone(dt.timedelta(hours=2))
    table = pa.table({
        "at": pa.array([dt.datetime(2020, 1, 1, 2, tzinfo=zone)], pa.timestamp("ns", "+02:00")),
        "day": pa.array([dt.datetime(2020, 1, 1)], pa.timestamp("ms")),
    })  # fmt: skip
    expected = [{"at": dt.datetime(2020, 1, 1), "day": dt.date(2020, 1, 1)}]
    assert parse_pushed(table, MOMENTS).rows.to_pylist() == expected


def test_a_text_with_half_a_character_is_no_time_and_refuses_its_row_only():
    for half in ("\ud800", b"\xff".decode(errors="surrogateescape")):
        parsed = parse_pushed({"at": [half, "2026-03-01 09:00:00"], "day": [None, half]}, MOMENTS)
        assert [r.reason.split(",")[0] for r in parsed.rejected] == [
            "column at: expected TIMESTAMP", "column day: expected DATE",
        ]  # fmt: skip


def test_an_integer_is_no_timestamp():
    parsed = parse_pushed({"at": [5], "day": ["2020-01-01"]}, MOMENTS)
    assert "column at: expected TIMESTAMP, found 5" in parsed.rejected[0].reason


def test_a_pandas_column_of_mixed_values_loses_only_the_bad_ones():
    frame = pd.DataFrame({**DATA, "k": ["x", 4]})
    parsed = parse_pushed(frame, STREAM)
    assert parsed.rows.column(1).to_pylist() == [4]


def test_a_missing_column_is_an_error_with_a_suggestion():
    with pytest.raises(InputError, match=r"'name' of stream s.*did you mean 'nam'"):
        parse_pushed({"ts": [1], "k": [1], "v": [1.0], "nam": ["a"]}, STREAM)
    with pytest.raises(InputError) as unnamed:
        parse_pushed(pd.DataFrame([[1, 2, 0.5, "a"]]), STREAM)
    assert unnamed.value.remedy == "rename the column, or change CREATE STREAM"


@pytest.mark.parametrize("data", [5, "text", {"ts": [1], "k": [1, 2], "v": [1], "name": ["a"]}])
def test_data_of_another_kind_or_of_uneven_columns_is_an_error(data):
    with pytest.raises(InputError, match="data pushed to s"):
        parse_pushed(data, STREAM)


@pytest.mark.parametrize(
    "row", [{"ts": 1, "k": 1, "v": 1.0, "name": "a"}, {"ts": [1], "k": [1], "v": [1], "name": "a"}]
)
def test_a_row_that_is_in_no_list_is_an_error_that_says_so(row):
    with pytest.raises(InputError, match=r"put a single row into a list: \[row\]"):
        parse_pushed(row, STREAM)


def test_no_rows_are_no_rows():
    for nothing in ([], {"ts": [], "k": [], "v": [], "name": []}, pa.table(DATA).slice(0, 0)):
        assert len(parse_pushed(nothing, STREAM)) == 0
