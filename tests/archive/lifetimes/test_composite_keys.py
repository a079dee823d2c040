"""Keys of several columns in an index of lifetimes: whole, begun, and the first column bare."""

from __future__ import annotations

import pyarrow as pa
import pytest

from windrow.archive.lifetimes.lifetime_index import LifetimeIndex


@pytest.mark.parametrize("form", ["arrow", "parquet"])
def test_a_key_that_is_only_begun_finds_all_that_begins_so(tmp_path, form):
    rows = {"k": ["x", "x", "x", "y"], "l": [1, 2, 2, 1], "v": [1, 2, 3, 4]}
    table = pa.table(rows)
    index = LifetimeIndex.create(
        tmp_path, table.schema, ("k", "l"), longest=100, interval=10, format=form
    )
    # The expiries of a key's buckets are not in order across the buckets.
    index.insert(5, table, pa.array([90, 12, 50, 60]))
    with index.reader(now=20) as reader:
        for key, expected in [(("x", 2), [3]), (("x",), [1, 3]), ("x", [1, 3]), ("y", [4])]:
            assert sorted(reader.probe(key).column("v").to_pylist()) == expected
        assert sorted(reader.probe([("x", 1), "y"]).column("v").to_pylist()) == [1, 4]
