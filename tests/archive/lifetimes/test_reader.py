"""Which rows of a run live, by binary search in each bucket and by looking at each row."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.archive.format.disk import Disk
from windrow.archive.lifetimes import reader as module
from windrow.archive.lifetimes.lifetime_index import LifetimeIndex
from windrow.archive.lifetimes.partition_grid import d_ins
from windrow.archive.lifetimes.reader import live_ranges


@given(
    buckets=st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=5), max_size=6),
    after=st.integers(-1, 11),
)
def test_ranges_are_the_rows_that_expire_late_enough_and_as_few_as_can_be(buckets, after):
    expiries = np.array([e for bucket in buckets for e in sorted(bucket)], np.int64)
    edges = np.cumsum([0, *map(len, buckets)]).astype(np.int64)
    starts, stops = live_ranges(edges, expiries, after)
    rows = [row for a, b in zip(starts, stops, strict=True) for row in range(a, b)]
    assert rows == np.flatnonzero(expiries >= after).tolist()
    assert all(starts[1:] > stops[:-1])


SCHEMA = pa.schema([("k", pa.string()), ("v", pa.int64()), ("text", pa.string())])


@pytest.mark.parametrize("form", ["arrow", "parquet"])
@pytest.mark.parametrize("worth", [1, module.WORTH_A_SLICE.usual])
def test_sliced_and_sieved_scans_agree(form, worth, tmp_path, monkeypatch):
    monkeypatch.setattr(module.WORTH_A_SLICE, "value", worth)
    index = LifetimeIndex.create(
        Disk(tmp_path), SCHEMA, "k", longest=50, interval=5, grid=d_ins(1), format=form
    )
    rng, held = np.random.default_rng(3), []
    for now in (5, 10, 15, 23):
        keys = [None if k == 7 else f"k{k}" for k in rng.integers(0, 8, 60).tolist()]
        values = range(1_000 * now, 1_000 * now + 60)
        expiries = (now + rng.integers(1, 51, 60)).tolist()
        rows = pa.table({"k": keys, "v": values, "text": ["x" * 50] * 60}, schema=SCHEMA)
        index.insert(now, rows, pa.array(expiries))
        held += zip(values, expiries, strict=True)
    for now in (23, 24, 40, 73):
        with index.reader(now) as reader:
            found = reader.scan(columns=["v"])
            assert sorted(found.column("v").to_pylist()) == [v for v, e in held if e > now]


def test_a_scan_of_long_buckets_copies_nothing_of_the_living(tmp_path):
    index = LifetimeIndex.create(Disk(tmp_path), SCHEMA, "k", longest=50, interval=5, grid=d_ins(1))
    count = 1_000
    rows = pa.table(
        {
            "k": ["a", "b"] * (count // 2),
            "v": range(count),
            "text": [f"{i:0500}" for i in range(count)],
        },
        schema=SCHEMA,
    )
    index.insert(5, rows, pa.array([6 + i % 50 for i in range(count)]))
    with index.reader(20) as reader:
        before = pa.total_allocated_bytes()
        found = reader.scan(columns=["text"])
        assert pa.total_allocated_bytes() - before < found.nbytes / 20
        assert found.num_rows == sum(6 + i % 50 > 20 for i in range(count))
