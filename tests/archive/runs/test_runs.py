"""Runs against plain lists: the same entries for every key, range and day, in both formats."""

from __future__ import annotations

import datetime
import decimal
import math
import tempfile
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings

from tests.archive.support.keys import KINDS, order_of
from windrow.archive.errors import ArchiveError, DamagedError
from windrow.archive.format.disk import Disk
from windrow.archive.format.layout import DAY, EXPIRY, Layout
from windrow.archive.runs import merge as merging
from windrow.archive.runs.encoding import decode
from windrow.archive.runs.merge import merge
from windrow.archive.runs.run import ALL, Only, Run
from windrow.archive.runs.sorting import arrange, rank
from windrow.archive.runs.write import write_day

FORMATS = ("arrow", "parquet")


def disk_at(path: Path) -> Disk:
    disk = Disk(path)
    disk.make_folder("runs")
    return disk


def read(run: Run, rows: tuple[int, int], only: Only = ALL, bucket: bool = True) -> list[tuple]:
    schema = run.layout.reader_schema({})
    answer = run.entries.bucket if bucket else run.entries.rows
    table = pa.Table.from_batches(answer(*rows, schema, only), schema)
    return [tuple(row.values()) for row in decode(table).to_pylist()]


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("form", FORMATS)
def test_every_key_range_and_day_of_a_merge_is_found_as_in_a_list(kind, form, tmp_path_factory):
    @settings(max_examples=20)
    @given(
        st.lists(st.lists(st.one_of(st.none(), KINDS[kind]), max_size=30), max_size=4), st.data()
    )
    def check(days, data):
        disk = disk_at(tmp_path_factory.mktemp("runs"))
        layout = Layout(pa.schema([("k", kind), ("v", pa.string())]), ("k",))
        runs, rows, encodings = [], [], {}
        for day, keys in enumerate(days, start=1):
            values = [f"{day}-{i}" for i in range(len(keys))]
            table = pa.table({"k": pa.array(keys, kind), "v": values})
            rows += [(k, v, day) for k, v in zip(table["k"].to_pylist(), values, strict=True)]
            if keys:
                entries = layout.entries(table, day)
                ref, encodings = write_day(disk, layout, encodings, entries, f"d{day}", form)
                runs.append(Run(disk, layout, ref))
        ref, encodings = merge(disk, layout, encodings, [(r, ALL) for r in runs], "m", form)
        if ref is None:
            assert not rows
            return
        run = Run(disk, layout, ref)
        assert ref.rows == len(rows)
        keyed = sorted((r for r in rows if r[0] is not None), key=lambda r: order_of(r[0]))
        assert same(
            read(run, (0, ref.rows), bucket=False), keyed + [r for r in rows if r[0] is None]
        )
        chosen = data.draw(KINDS[kind])
        wanted = order_of(pa.scalar(chosen, kind).as_py())
        for value in [chosen, *(r[0] for r in keyed[:5])]:
            same_key = [
                r for r in keyed if order_of(r[0]) == order_of(pa.scalar(value, kind).as_py())
            ]
            assert same(read(run, run.directory.find(value)), same_key)
            for only in ((1,), (2, 3), (1, 3)):
                held = Only(tuple(d for d, _ in ref.days if d in only))
                if held.days:
                    expected = [r for r in same_key if r[2] in held.days]
                    assert same(read(run, run.directory.find(value), held), expected)
        below = [r for r in keyed if order_of(r[0]) <= wanted]
        assert same(read(run, run.directory.find_range(None, chosen), bucket=False), below)
        above = [r for r in keyed if order_of(r[0]) >= wanted]
        assert same(read(run, run.directory.find_range(chosen, None), bucket=False), above)

    check()


def same(found: list[tuple], expected: list[tuple]) -> bool:
    assert [plain(r) for r in found] == [plain(r) for r in expected]
    return True


def plain(row: tuple) -> tuple:
    return tuple("nan" if isinstance(v, float) and math.isnan(v) else v for v in row)


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(-2, 2), st.integers(0, 9)), max_size=40),
    st.integers(1, 5),
)
def test_composite_keys_are_found_whole_by_their_first_column_and_by_range(rows, piece):
    with (
        pytest.MonkeyPatch.context() as patch,
        tempfile.TemporaryDirectory() as d,
    ):
        patch.setattr(merging.PIECE, "value", piece)
        disk = disk_at(Path(d))
        layout = Layout(
            pa.schema([("a", pa.string()), ("b", pa.int32()), ("v", pa.int64())]), ("a", "b")
        )
        refs = []
        for day in (1, 2):
            own = [r for i, r in enumerate(rows) if i % 2 + 1 == day]
            if own:
                table = pa.table(list(map(list, zip(*own, strict=True))), names=["a", "b", "v"])
                ref, _ = write_day(disk, layout, {}, layout.entries(table, day), f"d{day}", "arrow")
                refs.append(ref)
        ref, _ = merge(disk, layout, {}, [(Run(disk, layout, r), ALL) for r in refs], "m", "arrow")
        if ref is None:
            assert not rows
            return
        run = Run(disk, layout, ref)

        def found(bounds):
            return sorted(r[:3] for r in read(run, bounds, bucket=False))

        for a in "abcd":
            assert found(run.directory.find((a,))) == sorted(r for r in rows if r[0] == a)
            for b in range(-2, 3):
                assert found(run.directory.find((a, b))) == sorted(
                    r for r in rows if r[:2] == (a, b)
                )
                assert found(run.directory.find_range((a, b), ("b",))) == sorted(
                    r for r in rows if (a, b) <= r[:2] and r[0] <= "b"
                )


def test_earlier_archives_have_an_entry_for_each_value_of_a_list_and_one_for_none(tmp_path):
    schema = pa.schema([("words", pa.list_(pa.string())), ("doc", pa.int64())])
    layout = Layout(schema, ("words",), each_value=True)
    table = pa.table(
        {"words": [["war", "peace"], [], None, ["war"]], "doc": [1, 2, 3, 4]}, layout.schema
    )
    disk = disk_at(tmp_path)
    ref, _ = write_day(disk, layout, {}, layout.entries(table, 7), "r", "arrow")
    run = Run(disk, layout, ref)
    assert read(run, run.directory.find("war")) == [("war", 1, 7), ("war", 4, 7)]
    assert (run.directory.end, ref.rows) == (3, 5)


@pytest.mark.parametrize("form", FORMATS)
def test_entries_with_lifetimes_stand_in_the_order_of_expiry_and_the_dead_are_skipped(
    form, tmp_path
):
    layout = Layout(pa.schema([("k", pa.int64())]), ("k",), lifetimes=True)
    disk = disk_at(tmp_path)
    rng = np.random.default_rng(1)
    refs = []
    for day in (1, 2):
        keys, exp = rng.integers(0, 5, 100), rng.integers(0, 50, 100)
        entries = layout.entries(pa.table({"k": keys}), day, pa.array(exp))
        refs.append(write_day(disk, layout, {}, entries, f"d{day}", form)[0])
    runs = [(Run(disk, layout, r), Only(after=10)) for r in refs]
    ref, _ = merge(disk, layout, {}, runs, "m", form)
    run = Run(disk, layout, ref)
    assert ref.expiries[0] >= 10
    for key in range(5):
        whole = read(run, run.directory.find(key))
        assert [r[2] for r in whole] == sorted(r[2] for r in whole)
        late = read(run, run.directory.find(key), Only(after=30))
        assert late == [r for r in whole if r[2] >= 30] != []


def test_what_repeats_is_encoded_and_codes_widen_as_runs_are_merged(tmp_path):
    layout = Layout(pa.schema([("k", pa.int64()), ("s", pa.string())]), ("k",))
    disk = disk_at(tmp_path)
    encodings: dict[str, str] = {}
    runs, rows = [], []
    for day in range(1, 4):
        names = [f"name {day} {i % 100}" if i % 7 else None for i in range(2000)]
        table = pa.table({"k": list(range(2000)), "s": names})
        rows += [(k, s, day) for k, s in zip(range(2000), names, strict=True)]
        entries = layout.entries(table, day)
        ref, encodings = write_day(disk, layout, encodings, entries, f"d{day}", "arrow")
        assert encodings == {"s": "int8"}
        runs.append(Run(disk, layout, ref))
    whole, wide = merge(disk, layout, encodings, [(r, ALL) for r in runs], "m", "arrow")
    assert wide == {"s": "int16"}
    run = Run(disk, layout, whole)
    assert sorted(read(run, (0, whole.rows), bucket=False), key=repr) == sorted(rows, key=repr)
    less, _ = merge(disk, layout, wide, [(run, Only((1,)))], "l", "arrow")
    least = Run(disk, layout, less)
    assert sorted(read(least, (0, less.rows), bucket=False), key=repr) == sorted(
        (r for r in rows if r[2] == 1), key=repr
    )
    assert len(least.entries.plain(0, 1).column("s").chunk(0).dictionary) == 100


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3))))
def test_the_counting_sort_orders_as_sorted_does(pairs):
    keys = pa.array([k if k < 5 else None for k, _ in pairs], pa.int64())
    stamps = np.array([s for _, s in pairs], np.int64)
    ranked = rank([keys])
    order, starts = arrange(ranked.ranks, len(ranked), stamps)
    expected = sorted(range(len(pairs)), key=lambda i: pairs[i])
    assert order.tolist() == expected
    for place, value in enumerate(ranked.distinct[0].to_pylist()):
        assert pairs[order[starts[place]]][0] == value


@pytest.mark.parametrize(
    ("kind", "value"),
    [(pa.int32(), 2**40), (pa.int64(), "x"), (pa.string(), 5), (pa.int64(), None)],
)
def test_a_probe_with_a_value_of_another_type_is_told_so(kind, value, tmp_path):
    layout = Layout(pa.schema([("k", kind)]), ("k",))
    disk = disk_at(tmp_path)
    table = pa.table({"k": pa.array(["1"], pa.string()).cast(kind)})
    ref, _ = write_day(disk, layout, {}, layout.entries(table, 1), "r", "arrow")
    with pytest.raises(ArchiveError, match="a key of type"):
        Run(disk, layout, ref).directory.find(value)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("which", ["entries_file", "directory_file"])
def test_a_file_that_is_gone_empty_or_cut_is_called_damaged(form, which, tmp_path):
    layout = Layout(pa.schema([("k", pa.int64())]), ("k",))
    disk = disk_at(tmp_path)
    table = pa.table({"k": list(range(100))})
    ref, _ = write_day(disk, layout, {}, layout.entries(table, 1), "r", form)
    path = disk.path(getattr(ref, which))
    whole = path.read_bytes()
    for damage in (whole[:-10], b"", None):
        path.unlink()
        if damage is not None:
            path.write_bytes(damage)
        with pytest.raises(DamagedError):
            _ = Run(disk, layout, ref).entries


@pytest.mark.parametrize(
    ("schema", "key"),
    [
        ([("k", pa.struct([("x", pa.int64())]))], ("k",)),
        ([("k", pa.int64())], ("j",)),
        ([("k", pa.int64())], ()),
        ([("k", pa.int64()), (DAY, pa.int64())], ("k",)),
        ([("k", pa.int64()), (EXPIRY, pa.int64())], ("k",)),
        ([("a", pa.list_(pa.int64())), ("b", pa.list_(pa.int64()))], ("a", "b")),
    ],
)
def test_a_layout_that_cannot_be_is_refused(schema, key):
    with pytest.raises(ArchiveError):
        Layout(pa.schema(schema), key)


def test_a_layout_survives_json():
    kinds = [
        ("a", pa.decimal128(20, 3)),
        ("b", pa.timestamp("us", "UTC")),
        ("c", pa.list_(pa.date32())),
    ]
    layout = Layout(pa.schema(kinds), ("c", "a"), lifetimes=True)
    assert Layout.from_json(layout.to_json()) == layout


def test_dates_and_decimals_are_probed_by_python_values(tmp_path):
    layout = Layout(pa.schema([("d", pa.date32()), ("x", pa.decimal128(38, 2))]), ("d", "x"))
    day, amount = (
        datetime.date(2026, 1, 2),
        decimal.Decimal("-123456789012345678901234567890123456.78"),
    )
    table = pa.table({"d": [day, day], "x": [amount, amount + 0]}, layout.schema)
    disk = disk_at(tmp_path)
    ref, _ = write_day(disk, layout, {}, layout.entries(table, 1), "r", "arrow")
    assert Run(disk, layout, ref).directory.find((day, amount)) != (0, 0)


def test_a_probe_of_an_arrow_run_copies_nothing(tmp_path):
    layout = Layout(pa.schema([("k", pa.int64()), ("s", pa.string()), ("v", pa.float64())]), ("k",))
    disk = disk_at(tmp_path)
    rows = 20_000
    table = pa.table(
        {"k": np.arange(rows) // 100, "s": [f"{i % 50}" for i in range(rows)], "v": np.ones(rows)}
    )
    ref, encodings = write_day(disk, layout, {}, layout.entries(table, 1), "r", "arrow")
    run = Run(disk, layout, ref)
    schema = layout.reader_schema(encodings).remove(3)
    run.entries.bucket(0, 1, schema, ALL)
    before = pa.total_allocated_bytes()
    answer = pa.Table.from_batches(run.entries.bucket(*run.directory.find(77), schema, ALL), schema)
    assert pa.total_allocated_bytes() == before
    assert len(answer) == 100
    assert answer.schema.field("s").type == pa.dictionary(pa.int8(), pa.string())


def test_wide_entries_are_merged_in_pieces_of_bounded_bytes(tmp_path, monkeypatch):
    monkeypatch.setattr(merging.PIECE_BYTES, "value", 100_000)
    layout = Layout(pa.schema([("k", pa.int64()), ("s", pa.string())]), ("k",))
    disk = disk_at(tmp_path)
    runs = []
    for day in (1, 2):
        table = pa.table(
            {"k": np.arange(500), "s": [f"{day} {i} " + "x" * 1_000 for i in range(500)]}
        )
        ref, _ = write_day(disk, layout, {}, layout.entries(table, day), f"d{day}", "arrow")
        runs.append((Run(disk, layout, ref), ALL))
    ref, _ = merge(disk, layout, {}, runs, "m", "arrow")
    run = Run(disk, layout, ref)
    assert len(run.entries.batches) >= 10
    assert max(batch.nbytes for batch in run.entries.batches) < 120_000
    for key in (0, 99, 100, 499):
        assert [row[2] for row in read(run, run.directory.find(key))] == [1, 2]
    assert len(read(run, run.directory.find_range(90, 210), bucket=False)) == 242
