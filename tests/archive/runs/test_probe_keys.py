"""A key is converted once for all runs of an archive, and finds in each what it finds alone."""

from __future__ import annotations

import datetime
import decimal

import numpy as np
import pyarrow as pa
import pytest

from windrow.archive.archive import Archive
from windrow.archive.errors import ArchiveError
from windrow.archive.runs.encoding import decode

KEYS = {
    "int": (pa.int32(), [3, -1, 7, 2**31 - 1]),
    "float": (pa.float64(), [0.5, -2.0, float("inf"), 1e300]),
    "text": (pa.string(), ["", "a", "ab", "\u00e9"]),
    "bytes": (pa.binary(), [b"", b"\x00", b"\xff", b"ab"]),
    "date": (pa.date32(), [datetime.date(2024, 1, d) for d in (1, 2, 3, 4)]),
    "decimal": (pa.decimal128(20, 2), [decimal.Decimal(n) / 4 for n in (-2, 0, 3, 2**60)]),
    "bool": (pa.bool_(), [False, True]),
}


def several_runs(path, schema, key, days):
    archive = Archive.create(
        path, schema, key, window=4, scheme="WATA", n=2, technique="in-place", growth=100
    )
    for day, records in days.items():
        archive.append(day, records, now=day)
    return archive


@pytest.mark.parametrize("name", KEYS)
def test_a_key_of_any_type_is_found_in_every_run(name, tmp_path):
    kind, values = KEYS[name]
    schema = pa.schema({"k": kind, "v": pa.int64()})
    days = {
        # Each day lacks one of the values, so that a run without the key is among the runs.
        day: pa.table({"k": pa.array([v for i, v in enumerate(values) if i != day % len(values)],
                                     kind)}).append_column(
            "v", pa.array(np.arange(len(values) - 1) + 10 * day)
        )
        for day in range(1, 6)
    }  # fmt: skip
    with several_runs(tmp_path / "a", schema, "k", days).reader() as reader:
        assert len(reader.sources()) >= 3
        for value in values:
            expected = sorted(
                row["v"]
                for day in range(2, 6)
                for row in days[day].to_pylist()
                if row["k"] == value
            )
            found = decode(reader.probe(value))
            assert sorted(found.column("v").to_pylist()) == expected
            assert set(found.column("k").to_pylist()) == {value}
        with pytest.raises(ArchiveError, match="a key of type"):
            reader.probe(None)


def test_the_first_column_alone_finds_all_that_begins_with_it_with_or_without_a_tuple(tmp_path):
    schema = pa.schema({"a": pa.string(), "b": pa.int64()})
    days = {d: pa.table({"a": ["x", "y", "x", "x"], "b": [d, d, 9, 1]}) for d in range(1, 7)}
    archive = several_runs(tmp_path / "a", schema, ["a", "b"], days)
    archive.migrate(technique="packed shadow")
    with archive.reader() as reader:
        for t1, t2 in ((None, None), (3, 4), (5, 5)):
            first, last = t1 or 3, t2 or 6
            expected = sorted(b for d in range(first, last + 1) for b in (d, 9, 1))
            for key in ("x", ("x",)):
                assert sorted(reader.probe(key, t1, t2).column("b").to_pylist()) == expected
