"""Rows of a key as they are stored, as Arrow and as Python tuples, against a scan of everything."""

from __future__ import annotations

import datetime as dt
import gc
import sys
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest

from windrow.archive import Archive
from windrow.archive.errors import ArchiveError
from windrow.archive.runs import merge, probe_plan
from windrow.archive.runs.encoding import decode
from windrow.archive.versions.pinned_reader import Range

pytestmark = pytest.mark.usefixtures("sizes")

SCHEMA = pa.schema(
    {
        "k": pa.string(),
        "i8": pa.int8(),
        "u64": pa.uint64(),
        "i64": pa.int64(),
        "f32": pa.float32(),
        "f64": pa.float64(),
        "yes": pa.bool_(),
        "word": pa.string(),
        "raw": pa.binary(),
        "at": pa.timestamp("us"),
        "maybe": pa.int32(),
    }
)
WORDS = ["", "ä", "plain", "日本", "x" * 40, "a\0b"]
KEYS = ["", "10.0.0.1", "10.0.0.10", "10.0.0.2", "10.0.0.2\0", "ä", "日本", "10.0.0.200" * 3]


def day_rows(day: int, rows: int) -> pa.Table:
    """A day that repeats little or much, by its length."""
    columns = {
        "k": [KEYS[(i * i + day) % len(KEYS)] for i in range(rows)],
        "i8": [(i * 7 + day) % 256 - 128 for i in range(rows)],
        "u64": [2**64 - 1 - i * day for i in range(rows)],
        "i64": [-(2**40) * (i % 3) + i for i in range(rows)],
        "f32": [i / 4 for i in range(rows)],
        "f64": [i / 3 for i in range(rows)],
        "yes": [i % 3 == 0 for i in range(rows)],
        "word": [WORDS[i % len(WORDS)] for i in range(rows)],
        "raw": [bytes([255, i % 5]) for i in range(rows)],
        "at": [dt.datetime(2024, 1, day) + dt.timedelta(seconds=i) for i in range(rows)],
        "maybe": [None if i % 4 == 0 else i for i in range(rows)],
    }
    return pa.table(columns, schema=SCHEMA)


@pytest.fixture(params=["arrow", "parquet"])
def archive(request, tmp_path):
    """Under WATA, so that the oldest run has days that no longer count."""
    made = Archive.create(
        tmp_path / "a", SCHEMA, "k", window=5, scheme="WATA", n=2, format=request.param
    )
    for day in range(1, 9):
        made.append(day, day_rows(day, 1_500 if day == 7 else 60), now=day)
    return made


def in_order(rows):
    return sorted(rows, key=repr)


def tuples(table: pa.Table):
    return list(zip(*(c.to_pylist() for c in table.columns), strict=True))


def test_every_form_has_the_rows_that_a_scan_has(archive):
    with archive.reader() as reader:
        every = tuples(decode(reader.scan()))
        for _ in range(3):  # without a plan, with one, with fences
            for key in [*KEYS, "10", "10.0.0.3", "zz"]:
                wanted = in_order(row for row in every if row[0] == key)
                stored = reader.find(key)
                assert len(stored) == len(wanted)
                assert in_order(stored.rows()) == wanted == in_order(reader.rows(key))
                assert in_order(tuples(decode(stored.table()))) == wanted
                assert in_order(tuples(stored.plain())) == wanted
                assert stored.plain().schema.types == SCHEMA.types
                assert sum(stop - start for _, start, stop in stored.pieces()) == len(wanted)


def test_days_and_columns_can_be_chosen(archive):
    with archive.reader() as reader:
        every = tuples(decode(reader.scan(6, 7, columns=["word", "k", "maybe"])))
        for _ in range(8):
            for key in KEYS:
                rows = reader.rows(key, 6, 7, columns=["word", "k", "maybe"])
                assert in_order(rows) == in_order(row for row in every if row[1] == key)


def test_several_keys_and_ranges_have_the_same_forms(archive):
    with archive.reader() as reader:
        for key in ([KEYS[1], KEYS[3]], Range("10", "11")):
            assert in_order(reader.find(key).rows()) == in_order(tuples(decode(reader.probe(key))))


@pytest.mark.parametrize(
    ("kind", "keys"),
    [
        (pa.int16(), [-5, 0, 7, 300]),
        (pa.uint64(), [0, 2**63, 2**64 - 1]),
        (pa.float64(), [-1.5, 0.0, float("inf")]),
        (pa.binary(), [b"", b"\xff", b"\xff\x00"]),
        (pa.large_string(), ["", "a", "ab"]),
        (pa.date32(), [dt.date(2024, 1, 1), dt.date(1960, 5, 5)]),
    ],
)
def test_keys_of_any_type_are_found_between_fences(tmp_path, kind, keys):
    schema = pa.schema({"k": kind, "x": pa.int64()})
    archive = Archive.create(tmp_path / "a", schema, "k", window=3, scheme="DEL", n=3)
    for day in range(1, 5):
        archive.append(day, pa.table({"k": keys * 3, "x": range(3 * len(keys))}, schema), now=day)
    with archive.reader() as reader:
        for _ in range(40):
            for place, key in enumerate(keys):
                wanted = [(key, place + i * len(keys)) for i in range(3)] * 3
                assert sorted(reader.rows(key)) == sorted(wanted)


def test_rows_are_the_callers_own_and_leave_nothing_behind(archive):
    with archive.reader() as reader:
        for _ in range(100):
            held = reader.rows(KEYS[3])
        assert all(sys.getrefcount(row) <= 4 for row in held)
        held_before = in_order(held)
        gc.collect()
        before = len(gc.get_objects())
        for _ in range(50):
            reader.rows(KEYS[3])
        gc.collect()
        assert len(gc.get_objects()) < before + 200
    del reader
    gc.collect()
    assert in_order(held) == held_before


def test_threads_share_a_reader(archive):
    with archive.reader() as reader, ThreadPoolExecutor(4) as pool:
        wanted = {key: in_order(reader.rows(key)) for key in KEYS}
        for key, rows in zip(KEYS * 30, pool.map(reader.rows, KEYS * 30), strict=True):
            assert in_order(rows) == wanted[key]


def test_a_closed_reader_finds_nothing(archive):
    reader = archive.reader()
    for _ in range(10):
        reader.find(KEYS[3])
    reader.close()
    with pytest.raises(ArchiveError, match="closed"):
        reader.find(KEYS[3])


def test_a_string_that_is_not_utf_8_is_an_error_and_not_a_crash(tmp_path):
    broken = pa.Array.from_buffers(
        pa.string(), 2, [None, pa.py_buffer(b"\0\0\0\0\1\0\0\0\2\0\0\0"), pa.py_buffer(b"\xff\xfe")]
    )
    schema = pa.schema({"k": pa.int64(), "s": pa.string()})
    archive = Archive.create(tmp_path / "a", schema, "k", window=2, scheme="DEL", n=1)
    archive.append(1, pa.table([pa.array([1, 1]), broken], schema=schema), now=1)
    with archive.reader() as reader:
        for _ in range(10):
            with pytest.raises(UnicodeDecodeError):
                reader.rows(1)


def test_the_plan_is_what_answers(tmp_path, monkeypatch):
    """The kernel goes through all runs: entries are not asked one by one."""
    archive = Archive.create(tmp_path / "a", SCHEMA, "k", window=3, scheme="DEL", n=3)
    for day in range(1, 5):
        archive.append(day, day_rows(day, 40), now=day)
    with archive.reader() as reader:
        for _ in range(100):
            reader.find(KEYS[3])
        asked = []
        for run, _ in reader._live(None, None):
            monkeypatch.setattr(run.entries, "bucket", asked.append)
        assert reader.rows(KEYS[3])
        assert not asked
        plan = reader._usual
        assert plan is not None
        assert plan.complete
        assert (plan._table[:, probe_plan.FENCE_COUNT] > 0).all()


@pytest.mark.parametrize("few", [True, False])
def test_a_run_of_several_batches_is_answered_by_the_plan_too(tmp_path, monkeypatch, few):
    """Unless they are so many that each would cost a search of its own."""
    monkeypatch.setattr(merge.PIECE, "value", 30)
    monkeypatch.setattr(merge.PIECE_BYTES, "value", 1 << 20)
    monkeypatch.setattr(probe_plan.MOST_BATCHES, "value", 100 if few else 2)
    archive = Archive.create(tmp_path / "a", SCHEMA, "k", window=4, scheme="WATA", n=2)
    for day in range(1, 8):
        archive.append(day, day_rows(day, 40), now=day)
    with archive.reader() as reader:
        runs = [run.entries for run, _ in reader._live(None, None)]
        assert max(len(entries.batches) for entries in runs) > 2
        scan = {days: tuples(decode(reader.scan(*days))) for days in ((None, None), (5, 6))}
        for _ in range(20):
            for key in KEYS:
                for days, everything in scan.items():
                    wanted = in_order(row for row in everything if row[0] == key)
                    assert in_order(reader.rows(key, *days)) == wanted
                    assert in_order(tuples(reader.find(key, *days).plain())) == wanted
        plan = reader._usual
        assert plan is not None
        assert plan.complete == few
