"""A record whose key is a list is found under each of its values, however the list is held; one
without values is found by scans."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory

import hypothesis.strategies as st
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings

from tests.archive.disks import UnsyncedDisk
from tests.archive.plain import bag
from windrow.archive.archive import Archive
from windrow.archive.errors import ArchiveError
from windrow.archive.layout import Layout
from windrow.archive.records.fitting import listed

WORDS = st.one_of(st.none(), st.sampled_from(["", "a", "ab", "b"]))
LISTS = {
    "list": pa.list_(pa.string()),
    "large list": pa.large_list(pa.string()),
    "list view": pa.list_view(pa.string()),
    "large list view": pa.large_list_view(pa.string()),
    "list of views": pa.list_(pa.string_view()),
    "two each": pa.list_(pa.string(), 2),
}


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("form", ["arrow", "parquet"])
def test_records_are_found_under_each_value_of_a_list(name, form):
    kind = LISTS[name]
    size = {"min_size": 2, "max_size": 2} if name == "two each" else {"max_size": 3}

    @settings(max_examples=15, deadline=None)
    @given(st.lists(st.lists(st.none() | st.lists(WORDS, **size), max_size=6), max_size=5))
    def check(days):
        schema = pa.schema({"k": kind, "v": pa.string()})
        with TemporaryDirectory() as path:
            archive = Archive.create(
                UnsyncedDisk(Path(path)), schema, "k", window=3, scheme="DEL", n=2, format=form
            )
            plain = []
            for day, lists in enumerate(days, start=1):
                values = [f"{day}-{i}" for i in range(len(lists))]
                table = pa.table({"k": pa.array(lists, kind), "v": pa.array(values, pa.string())})
                archive.append(day, table.slice(1), now=day)
                plain += [
                    (word, value, day)
                    for words, value in list(zip(lists, values, strict=True))[1:]
                    for word in words or [None]
                ]
            seen = [row[:2] for row in plain if row[2] > len(days) - 3]
            with archive.reader() as reader:
                assert bag(reader.scan()) == sorted(seen, key=repr)
                for word in ("", "a", "ab", "b", "nobody"):
                    same = [row for row in seen if row[0] == word]
                    assert bag(reader.probe(word)) == sorted(same, key=repr)
            assert archive.verify() == []

    check()


@given(st.lists(st.none() | st.lists(WORDS, max_size=3), max_size=6), st.data())
def test_views_become_lists_of_the_same_values(lists, data):
    for kind in (LISTS["list view"], LISTS["large list view"]):
        views = pa.array(lists, kind)
        order = data.draw(st.permutations(range(len(lists))))
        chosen = views.take(pa.array(order, pa.int64())).slice(data.draw(st.integers(0, 2)))
        found = listed(chosen)
        found.validate(full=True)
        assert found.to_pylist() == chosen.to_pylist()


def test_lists_are_taken_from_views_and_from_frames(tmp_path):
    schema = pa.schema({"k": pa.list_(pa.string()), "v": pa.list_(pa.int64())})
    archive = Archive.create(tmp_path / "a", schema, "k", window=3, scheme="DEL", n=1)
    rows = {"k": [["a", "b"], ["b"]], "v": [[1], None]}
    views = pa.schema({"k": LISTS["large list view"], "v": pa.list_view(pa.int32())})
    archive.append(1, pa.table(rows, schema=views))
    archive.append(1, pl.DataFrame(rows), now=1)
    with archive.reader() as reader:
        assert reader.probe("a").column("v").to_pylist() == [[1], [1]]
        assert len(reader.probe("b")) == 4


@pytest.mark.parametrize(
    "kind",
    [
        pa.struct({"a": pa.int64()}),
        pa.list_(pa.list_(pa.int64())),
        pa.map_(pa.string(), pa.int64()),
        pa.month_day_nano_interval(),
        pa.null(),
    ],
    ids=str,
)
def test_a_key_that_has_no_order_is_refused_with_what_is_taken(kind):
    with pytest.raises(ArchiveError, match=r"decimals.*durations, or lists of one of these; found"):
        Layout(pa.schema({"k": kind}), ("k",))


@pytest.mark.parametrize(
    ("kind", "key"),
    [
        (pa.binary(2), b"abc"),
        (pa.binary(2), "a"),
        (pa.decimal32(4, 1), Decimal("12345.1")),
        (pa.decimal256(50, 1), "x"),
        (pa.float16(), datetime.date(2026, 3, 1)),
    ],
)
def test_a_probe_for_what_is_no_key_of_the_type_says_so(kind, key, tmp_path):
    archive = Archive.create(
        tmp_path / "a", pa.schema({"k": kind}), "k", window=3, scheme="DEL", n=1
    )
    archive.append(1, pa.table({"k": pa.nulls(2, kind)}), now=1)
    with archive.reader() as reader, pytest.raises(ArchiveError, match="a key of type"):
        reader.probe(key)
