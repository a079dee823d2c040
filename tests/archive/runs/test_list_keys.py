"""A record whose key is a list is found under each of its values, however the list is held: whole,
and once by whoever asks; one without values is found by scans."""

from __future__ import annotations

import datetime
import json
import math
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings

from tests.archive.support.edited import newest, signed
from tests.archive.support.plain import bag
from windrow.archive.archive import Archive
from windrow.archive.errors import ArchiveError
from windrow.archive.format.disk import Disk
from windrow.archive.format.layout import Layout
from windrow.archive.lifetimes.lifetime_index import LifetimeIndex
from windrow.archive.lifetimes.partition_grid import Grid, GridTechnique
from windrow.archive.runs import merge
from windrow.archive.runs.run_directory import write_listing
from windrow.archive.runs.sorting import Listing, listing_of
from windrow.archive.versions.pinned_reader import Range
from windrow.archive.wave.schemes import SCHEMES
from windrow.tables.fit import lists_of_views

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
def test_records_are_found_whole_and_once_under_the_values_of_their_lists(name, form):
    kind = LISTS[name]
    size = {"min_size": 2, "max_size": 2} if name == "two each" else {"max_size": 4}

    @settings(max_examples=10, deadline=None)
    @given(st.lists(st.lists(st.none() | st.lists(WORDS, **size), max_size=6), max_size=5))
    def check(days):
        schema = pa.schema({"k": kind, "v": pa.string()})
        with TemporaryDirectory() as path:
            archive = Archive.create(
                Disk(Path(path)), schema, "k", window=3, scheme="DEL", n=2, format=form
            )
            plain = []
            for day, lists in enumerate(days, start=1):
                values = [f"{day}-{i}" for i in range(len(lists))]
                table = pa.table({"k": pa.array(lists, kind), "v": pa.array(values, pa.string())})
                archive.append(day, table.slice(1), now=day)
                plain += [(*row, day) for row in list(zip(lists, values, strict=True))[1:]]
            seen = [row for row in plain if row[2] > len(days) - 3]
            with archive.reader() as reader:
                assert bag(reader.scan()) == rows_of(seen)
                assert bag(reader.scan(len(days))) == rows_of(r for r in seen if r[2] == len(days))
                for key in ("", "a", "ab", "b", "nobody"):
                    assert bag(reader.probe(key)) == rows_of(having(seen, {key}))
                    newest = [row for row in having(seen, {key}) if row[2] == len(days)]
                    assert bag(reader.probe(key, len(days), plain=True)) == rows_of(newest)
                several = rows_of(having(seen, {"a", "b", ""}))
                assert bag(reader.probe(["b", "a", "", "b"])) == several
                assert bag(reader.probe(Range("a", "b"))) == rows_of(having(seen, {"a", "ab", "b"}))
                assert bag(reader.probe(Range("ab"))) == rows_of(having(seen, {"ab", "b"}))
            assert archive.verify() == []
            assert archive.stat().entries == len(seen)

    check()


def having(rows, keys):
    return [row for row in rows if keys & set(row[0] or ())]


def rows_of(rows):
    return sorted((row[:2] for row in rows), key=repr)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("form", ["arrow", "parquet"])
def test_lists_are_kept_through_merges_in_pieces_expiry_and_migrations(
    scheme, form, tmp_path, monkeypatch
):
    monkeypatch.setattr(merge.PIECE, "value", 3)
    schema = pa.schema({"site": pa.string(), "k": pa.list_(pa.float64()), "v": pa.int64()})
    archive = Archive.create(
        Disk(tmp_path), schema, ["site", "k"], window=4, scheme=scheme, n=2, format=form
    )
    plain = []
    for day in range(1, 11):
        lists = [[math.nan, 0.5], [-0.0, 0.0, 2.0], [1.0 * day, None, 1.0 * day], [], None, [2.0]]
        sites = ["x", "y", "x", "x", None, None]
        table = pa.table({"site": sites, "k": lists, "v": range(day, day + 6)}, schema)
        archive.append(day, table, now=day)
        plain += [(*row, day) for row in zip(sites, lists, range(day, day + 6), strict=True)]
        if day == 6:
            archive.migrate(n=3, format="parquet" if form == "arrow" else "arrow", how="drain")
        if day == 8:
            archive.migrate(n=2, scheme="DEL")
        archive.vacuum()
        assert archive.verify() == []
        with archive.reader() as reader:
            seen = [row for row in plain if row[3] > day - 4]
            assert list(map(repr, bag(reader.scan()))) == sorted(repr(row[:3]) for row in seen)
            keyed = [row for row in seen if row[0] and row[1]]
            assert found(reader, ("x",)) == sorted(r[2] for r in keyed if r[0] == "x")
            assert found(reader, ("x", math.nan)) == [r[2] for r in keyed if r[2] == r[3]]
            assert found(reader, ("y", 0)) == [r[2] for r in keyed if r[2] == r[3] + 1]
            assert found(reader, [("y", 2.0), ("y",), ("y", -0.0)]) == found(reader, ("y",))
            assert found(reader, Range(("x", 1), ("y", 1))) == sorted(
                r[2] for r in keyed if r[2] != r[3] + 5
            )


def found(reader, key):
    return sorted(reader.probe(key, columns=["v"]).column("v").to_pylist())


@pytest.mark.parametrize("technique", list(GridTechnique))
@pytest.mark.parametrize("form", ["arrow", "parquet"])
def test_lists_in_an_index_of_lifetimes_are_whole_too(technique, form, tmp_path):
    schema = pa.schema({"k": pa.large_list(pa.string()), "v": pa.int64()})
    index = LifetimeIndex.create(
        Disk(tmp_path), schema, "k", longest=8, interval=2, grid=Grid(2, 2, technique),
        format=form,
    )  # fmt: skip
    plain = []
    for now in range(2, 20, 2):
        lists = [["a", "b", "a"], ["b", f"at {now}"], None, ["c"]]
        values, ends = range(now * 10, now * 10 + 4), [now + 1, now + 3, now + 5, now + 8]
        index.insert(now, pa.table({"k": lists, "v": values}, schema), pa.array(ends))
        plain += list(zip(lists, values, ends, [now // 2] * 4, strict=True))
        if now == 10:
            index.migrate(grid=Grid(1, 2), how="rebuild")
        if now == 14:
            index.migrate(grid=Grid(2, 1), how="drain")
        index.vacuum()
        assert index.verify() == []
        for at in (now, now + 2):
            with index.reader(at) as reader:
                alive = [row for row in plain if row[2] > at]
                assert bag(reader.scan()) == rows_of(alive)
                for keys in ({"a"}, {"b"}, {"a", "b", "c"}, {f"at {now}"}):
                    key = next(iter(keys)) if len(keys) == 1 else keys
                    assert bag(reader.probe(key)) == rows_of(having(alive, keys))


@pytest.mark.parametrize("change", ["key", "row", "order"])
def test_a_directory_that_is_not_that_of_the_lists_is_found_by_verify(change, tmp_path):
    schema = pa.schema({"k": pa.list_(pa.string()), "v": pa.int64()})
    archive = Archive.create(tmp_path, schema, "k", window=3, scheme="DEL", n=1)
    archive.append(1, pa.table({"k": [["a", "b"], ["b", "c"]], "v": [1, 2]}, schema), now=1)
    listing = listing_of(archive.layout, pa.table({"k": [["a", "b"], ["b", "c"]]}))
    keys = {"key": ["a", "b", "d"]}.get(change, listing.distinct[0].to_pylist())
    rows = {"row": [0, 0, 1, 2], "order": [0, 1, 0, 1]}.get(change, listing.rows.tolist())
    wrong = Listing([pa.array(keys)], listing.starts, np.array(rows))
    run = next(iter((tmp_path / "runs").glob("*.directory")))
    run.unlink()
    written = archive.disk.write(
        f"runs/{run.name}", lambda sink: write_listing(sink, archive.layout, wrong, 2)
    )
    path = newest(archive)
    value = json.loads(path.read_bytes())
    del value["checksum"]
    value["runs"][0]["directory"] = [written.size, written.checksum]
    path.write_bytes(signed(value))
    problems = Archive.open(tmp_path).verify()
    assert [problem.where for problem in problems] == [f"runs/{run.name}"]
    assert "the values of the lists" in problems[0].what


@given(st.lists(st.none() | st.lists(WORDS, max_size=3), max_size=6), st.data())
def test_views_become_lists_of_the_same_values(lists, data):
    for kind in (LISTS["list view"], LISTS["large list view"]):
        views = pa.array(lists, kind)
        order = data.draw(st.permutations(range(len(lists))))
        chosen = views.take(pa.array(order, pa.int64())).slice(data.draw(st.integers(0, 2)))
        found = lists_of_views(chosen)
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
        assert bag(reader.probe("a")) == [(["a", "b"], [1])] * 2
        assert len(reader.probe("b")) == len(reader.scan()) == 4


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
