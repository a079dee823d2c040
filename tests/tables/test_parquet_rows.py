"""Rows of Parquet files do not depend on which columns anybody looks at."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from windrow.core.schema import Field, Schema, Type
from windrow.core.time import Clock
from windrow.plan.catalog import StreamDeclaration
from windrow.plan.nodes import FileSource
from windrow.tables.parquet_rows import _WholeRows
from windrow.tables.readers import read_file

FIELDS = (Field("ts", Type.BIGINT), Field("k", Type.INT), Field("name", Type.STRING))
STREAM = StreamDeclaration("s", Schema(FIELDS), 0, Clock.INTEGER, 0, FileSource("x", "parquet"))
BY_K = dataclasses.replace(STREAM, timestamp=1)
"""Of which no row of the files below is refused."""
ROWS = 100


def written(tmp_path: Path, k: pa.DataType) -> Path:
    ts = pa.array([None if n % 7 == 3 else n for n in range(ROWS)], pa.int64())
    keys = pa.array([10**12 if n % 9 == 4 and k == pa.int64() else n for n in range(ROWS)], k)
    table = pa.table({"name": [f"n{n}" for n in range(ROWS)], "ts": ts, "k": keys})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=30)
    return tmp_path / "a.parquet"


@pytest.mark.parametrize("kind", [pa.int32(), pa.int64()])
@pytest.mark.parametrize("seen", [{0}, {1}, {0, 2}])
@pytest.mark.parametrize("most", [7, 1000])
def test_rows_numbers_refusals_and_texts_are_the_same(kind, seen, most, tmp_path):
    path = written(tmp_path, kind)
    everything = list(read_file(path, STREAM, most))
    some = list(read_file(path, STREAM, most, columns=frozenset(seen)))
    assert sum(len(parsed.rejected) for parsed in some) >= ROWS // 7
    for whole, part in zip(everything, some, strict=True):
        assert part.rejected == whole.rejected
        assert part.numbers.tolist() == whole.numbers.tolist()
        for column in seen | {0}:
            assert part.rows.column(column) == whole.rows.column(column)
        every = np.arange(len(part))
        assert part.texts(every) == whole.texts(every)
        assert part.texts(every[:1]) == whole.texts(every[:1])


def test_a_column_of_another_type_is_read_since_its_values_may_be_refused(tmp_path):
    (plain,) = read_file(written(tmp_path, pa.int32()), STREAM, columns=frozenset({0}))
    (wider,) = read_file(written(tmp_path, pa.int64()), STREAM, columns=frozenset({0}))
    assert plain.rows.column("k").null_count == len(plain)
    assert wider.rows.column("k").null_count == 0
    assert len(wider) < len(plain)


def test_the_text_of_a_row_whose_file_is_gone_has_the_columns_that_were_read(tmp_path):
    path = written(tmp_path, pa.int32())
    (parsed,) = read_file(path, BY_K, columns=frozenset({1}))
    path.unlink()
    assert parsed.texts(np.array([0])) == ['{"k": 0}']


def test_the_file_is_not_read_again_unless_a_text_is_asked_for(tmp_path, monkeypatch):
    def refuse(*_: object) -> str:
        raise AssertionError

    monkeypatch.setattr(_WholeRows, "_text", refuse)
    path = written(tmp_path, pa.int32())
    assert sum(len(p) for p in read_file(path, BY_K, columns=frozenset({1}))) == ROWS
