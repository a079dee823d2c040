"""Keys found in many runs at once, and answers copied out of them, against the slow way."""

from __future__ import annotations

import datetime as dt
import tempfile
from decimal import Decimal
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings

from windrow.archive.archive import Archive
from windrow.archive.format.disk import Disk
from windrow.archive.format.layout import Layout
from windrow.archive.runs.arrow_entries import Copier, sheet
from windrow.archive.runs.encoding import decode
from windrow.archive.runs.run import Run
from windrow.archive.runs.run_directory import Finder
from windrow.archive.runs.write import write_day
from windrow.archive.versions.pinned_reader import Range

WORDS = st.text(alphabet="ab\x00é", max_size=4)


@settings(max_examples=40)
@given(st.lists(st.lists(WORDS, min_size=1, max_size=12), max_size=5), st.lists(WORDS, max_size=6))
def test_a_key_is_found_in_all_directories_as_in_each(days, others):
    with Temporary() as disk:
        layout = Layout(pa.schema({"k": pa.string()}), ("k",))
        runs = []
        for day, keys in enumerate(days):
            entries = layout.entries(pa.table({"k": keys}), day)
            ref, _ = write_day(disk, layout, {}, entries, f"r{day}", "arrow")
            runs.append(Run(disk, layout, ref))
        finder = Finder([run.directory for run in runs])
        for key in {*others, "", *(key for keys in days for key in keys)}:
            each = [run.directory.find(key) for run in runs]
            assert list(map(tuple, finder.buckets(key))) == each


class Temporary:
    def __enter__(self) -> Disk:
        self._folder = tempfile.TemporaryDirectory()
        disk = Disk(Path(self._folder.name))
        disk.make_folder("runs")
        return disk

    def __exit__(self, *error: object) -> None:
        self._folder.cleanup()


@pytest.mark.parametrize(
    ("kind", "keys"),
    [
        (pa.int64(), [3, 1, 3, 2]),
        (pa.float64(), [0.5, float("nan"), 0.5]),
        (pa.binary(), [b"", b"a\x00", b"a"]),
        (pa.bool_(), [True, False, True]),
        (pa.decimal128(9, 2), [Decimal("1.50"), Decimal(-2)]),
    ],
    ids=str,
)
def test_keys_of_other_types_are_found_too(kind, keys, tmp_path):
    schema = pa.schema({"k": kind, "v": pa.int64()})
    archive = Archive.create(tmp_path, schema, "k", window=4, scheme="WATA", n=2)
    for day in (1, 2, 3):
        table = pa.table({"k": pa.array(keys, kind), "v": list(range(len(keys)))})
        archive.append(day, table, now=day)
    with archive.reader() as reader:
        for key in keys:
            found = reader.probe(key, plain=True)
            assert found.schema == schema
            same = [i for i, k in enumerate(keys) if repr(k) == repr(key)]
            assert sorted(found["v"].to_pylist()) == sorted(same * 3)
            assert repr(decode(reader.probe(key)).to_pylist()) == repr(found.to_pylist())


def batch_of(rows: int, seed: int) -> pa.RecordBatch:
    rng = np.random.default_rng(seed)

    def coded(values: pa.Array, index: pa.DataType) -> pa.Array:
        return pa.DictionaryArray.from_arrays(
            pa.array(rng.integers(0, len(values), rows), index), values
        )

    return pa.record_batch(
        {
            "time": pa.array(rng.integers(0, 2**50, rows), pa.timestamp("us")),
            "tiny": pa.array(rng.integers(-9, 9, rows), pa.int8()),
            "half": pa.array(rng.normal(size=rows)),
            "text": pa.array(["é" * int(n) for n in rng.integers(0, 4, rows)]),
            "cost": pa.array([Decimal(int(n)) for n in rng.integers(0, 99, rows)]).cast(
                pa.decimal128(20, 2)
            ),
            "few": coded(pa.array(["", "tcp", "ö" * 20]), pa.int8()),
            "many": coded(pa.array([f"host{i}" for i in range(70_000)]), pa.int32()),
            "some": coded(pa.array(range(300), pa.int64()), pa.int16()),
            "raw": pa.array([bytes([n % 251]) * (n % 5) for n in range(rows)]),
            "on": coded(pa.array([dt.date(2020, 1, d) for d in range(1, 9)]), pa.int16()),
        }
    )


PLAIN = decode(pa.Table.from_batches([batch_of(1, 0)])).schema


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 100), st.integers(0, 60)), min_size=1, max_size=6))
def test_rows_that_are_copied_are_those_that_arrow_decodes(cuts):
    batches = [batch_of(200, seed) for seed in range(len(cuts))]
    sheets = [sheet(batch, PLAIN) for batch in batches]
    pieces = [(s.ctypes.data, a, a + n) for s, (a, n) in zip(sheets, cuts, strict=True)]
    found = Copier(PLAIN).batch(pieces)
    found.validate(full=True)
    slices = [b.slice(a, n) for b, (a, n) in zip(batches, cuts, strict=True)]
    assert pa.Table.from_batches([found]).equals(
        decode(pa.Table.from_batches(slices)).combine_chunks()
    )


@pytest.mark.parametrize(("times", "fits"), [(3, True), (2**11, False)])
def test_more_text_than_offsets_reach_is_left_to_arrow(times, fits):
    batch = pa.record_batch({"text": pa.array(["x" * 2**20])})
    lines = sheet(batch, batch.schema)
    found = Copier(batch.schema).batch([(lines.ctypes.data, 0, 1)] * times)
    assert (found is not None) == fits


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1, None, 3]),
        pa.array(["a", None, "b"]).dictionary_encode(),
        pa.DictionaryArray.from_arrays(pa.array([0, 1, 0]), pa.array(["a", None])),
        pa.array([True, False, True]),
        pa.array([[1], [], [2, 3]]),
        pa.array([{"a": 1}, {"a": 2}, {"a": 3}]),
        pa.array(["a", "b", "c"], pa.large_string()),
        pa.nulls(3),
    ],
    ids=lambda c: str(c.type)[:30],
)
def test_what_cannot_be_copied_is_left_to_arrow(column, tmp_path):
    batch = pa.record_batch({"k": ["x", "x", "y"], "v": column})
    plain = decode(pa.Table.from_batches([batch])).schema
    assert sheet(batch, plain) is None
    archive = Archive.create(tmp_path, plain, "k", window=2, scheme="DEL", n=1)
    archive.append(1, decode(pa.Table.from_batches([batch])), now=1)
    with archive.reader() as reader:
        values = reader.probe("x", plain=True)["v"].to_pylist()
        assert values == column.slice(0, 2).to_pylist()


@pytest.mark.parametrize("form", ["arrow", "parquet"])
def test_a_plain_answer_is_a_decoded_one_whatever_is_asked(form, tmp_path):
    schema = pa.schema({"k": pa.string(), "v": pa.int64(), "w": pa.string()})
    archive = Archive.create(tmp_path, schema, "k", window=6, scheme="WATA", n=2, format=form)
    for day in range(1, 10):
        rows = range(day, day + 2_000)
        archive.append(
            day,
            pa.table(
                {
                    "k": [f"k{i % 50}" for i in rows],
                    "v": list(rows),
                    "w": [f"w{i % 9}" for i in rows],
                }
            ),
            now=day,
        )
    with archive.reader() as reader:
        for key in ("k0", "k49", "nobody", ["k1", "k2"], Range("k1", "k12"), ("k3",)):
            for days in ((None, None), (5, 7), (9, 9), (1, 2)):
                for columns in (None, ["w", "_day"]):
                    found = reader.probe(key, *days, columns=columns, plain=True)
                    expected = decode(reader.probe(key, *days, columns=columns))
                    assert found.schema.equals(expected.schema)
                    assert found.combine_chunks().equals(expected.combine_chunks())
        assert len(reader.probe("k0", plain=True)) > 100


def test_a_run_that_is_merged_is_read_ahead_and_one_that_is_probed_is_not(tmp_path):
    schema = pa.schema({"k": pa.string()})
    archive = Archive.create(tmp_path, schema, "k", window=4, scheme="WATA", n=2, growth=9.0)
    for day in (1, 2):
        archive.append(day, pa.table({"k": ["a", "b"]}), now=day)
    with archive.reader() as reader:
        reader.probe("a")
        runs = [run for run, _ in reader._live(None, None)]
        assert [page.scattered for run in runs for page in run._pages] == [True] * 4
        late = Run(archive.disk, archive.layout, runs[0].ref)
        late.read_whole()
        assert late.entries.plain(0, 1).num_rows == 1
        assert [page.scattered for page in late._pages] == [False, False]
