"""Result files say what the changes were: written in each format and read back, bit for bit."""

from __future__ import annotations

import datetime
import math
from pathlib import Path

import pyarrow as pa
import pytest

from windrow.core.file_formats import RESULT_ENDINGS
from windrow.core.schema import Field, Schema, Type
from windrow.core.time import Clock
from windrow.result_files.change_table import read_changes
from windrow.result_files.identity import Identity, changes_schema
from windrow.result_files.sinks import open_sinks

COLUMNS = {
    Type.BOOLEAN: [True, False, None],
    Type.INT: [-(2**31), 2**31 - 1, None],
    Type.BIGINT: [-(2**63), 2**53 + 1, None],
    Type.FLOAT: [float("nan"), 0.10000000149011612, None],
    Type.DOUBLE: [float("nan"), float("-inf"), None],
    Type.STRING: ['a\n"b",', "", None],
    Type.TIMESTAMP: [
        datetime.datetime(1969, 12, 31, 23, 59, 59, 999999),
        datetime.datetime(2026, 3, 1),
        None,
    ],
    Type.DATE: [datetime.date(1582, 10, 4), datetime.date(2026, 3, 1), None],
}


@pytest.mark.parametrize("clock", Clock)
@pytest.mark.parametrize("format_", RESULT_ENDINGS)
def test_every_type_comes_back_as_it_was(format_: str, clock: Clock, tmp_path: Path) -> None:
    schema = changes_schema(Schema(tuple(Field(t.value, t) for t in COLUMNS)), clock)
    instants = pa.array([1, 2, 3]).cast(schema.field(0).type)
    values = [pa.array(v, f.type) for v, f in zip(COLUMNS.values(), list(schema)[2:], strict=True)]
    batch = pa.RecordBatch.from_arrays(
        [instants, pa.array(["+", "-", "+"]), *values], schema=schema
    )
    [sink] = open_sinks([(tmp_path, Identity("r", "q", format_, schema))])
    sink.prepare()
    sink.write(batch, 3, 3)
    sink.flush(3, 3)
    found = read_changes(tmp_path, format_, schema)
    assert found.schema == schema
    assert shown(found) == shown(pa.Table.from_batches([batch]))


def shown(table: pa.Table) -> list[list[object]]:
    """NaN as a word, since it is not equal to itself."""
    return [
        ["NaN" if isinstance(v, float) and math.isnan(v) else v for v in row.values()]
        for row in table.to_pylist()
    ]
