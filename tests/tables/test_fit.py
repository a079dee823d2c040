"""A value that a file has is in an archive as it is, or is refused: it never becomes another."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal
from math import nan

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from windrow.archive import Archive
from windrow.cli.main import app
from windrow.core.errors import InputError
from windrow.tables.fit import fit_column, misfits

NEW_YORK = pa.timestamp("us", "America/New_York")
MOMENT = datetime(2026, 3, 1, 2, tzinfo=UTC)


def fit(values, kind):
    """The values that fit, and where those are that do not."""
    found = fit_column(values, pa.field("c", kind), "here")
    return found.to_pylist(), misfits(values, found).tolist()


@pytest.mark.parametrize(
    ("values", "kind", "fits", "refused"),
    [
        ([0.1, 0.15, 1.005, 2.5, nan], pa.decimal128(10, 1), ["0.1", "2.5"], [1, 2, 4]),
        ([0.1, 0.15, 1.005, 123456789.12], pa.decimal128(20, 2), ["0.10", "0.15", "123456789.12"],
         [2]),
        (pa.array([0.1, 0.125], pa.float32()), pa.decimal128(5, 2), ["0.10"], [1]),
        ([Decimal("1.15"), Decimal("1.10")], pa.decimal128(10, 1), ["1.1"], [0]),
        ([1.5, 2.0, 40_000.0, nan], pa.int16(), ["2"], [0, 2, 3]),
        ([datetime(2026, 3, 1, 10), datetime(2026, 3, 2)], pa.date64(), ["2026-03-02"], [0]),
        (pa.array([MOMENT], NEW_YORK), pa.date64(), [], [0]),
        (pa.array([MOMENT], NEW_YORK), pa.timestamp("s"), ["2026-03-01 02:00:00"], []),
        ([datetime(2026, 3, 1, 10, 0, 0, 5)], pa.timestamp("ms"), [], [0]),
        (["01:02:03.5", "25:00", "2026-03-01 10:00", " 10:00 ", "", None], pa.time64("us"),
         ["01:02:03.500000", "10:00:00"], [1, 2]),
        (["1", " ", None, "x", b"\xff".decode("latin-1")], pa.int16(), ["1"], [3, 4]),
        ([b"1", b" ", None, b"\xff"], pa.int16(), ["1"], [3]),
        (pa.array(["1", " ", None, "x"]).dictionary_encode(), pa.int16(), ["1"], [3]),
        ([None, " "], pa.decimal128(5, 2), [], []),
    ],
)  # fmt: skip
def test_what_a_cast_would_change_is_refused_where_it_stands(values, kind, fits, refused):
    found, misplaced = fit(pa.array(values) if isinstance(values, list) else values, kind)
    assert [str(value) for value in found if value is not None] == fits
    assert misplaced == refused


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([datetime(2026, 3, 1, 10)], pa.time64("us")),
        ([[datetime(2026, 3, 1, 10)]], pa.list_(pa.date32())),
        ([[0.15]], pa.list_(pa.decimal128(5, 1))),
        ([[1]], pa.list_(pa.string())),
        ([{"a": [1.5]}], pa.struct({"a": pa.list_(pa.decimal128(5, 1))})),
        ([1], pa.list_(pa.int64())),
    ],
)
def test_what_can_only_be_changed_is_refused_by_its_type(values, kind):
    with pytest.raises(InputError, match="in column c"):
        fit(pa.array(values), kind)


def test_lists_and_records_are_cast_inside_and_fields_go_by_their_names():
    kind = pa.list_(pa.struct({"z": pa.large_string(), "a": pa.int32()}))
    assert fit(pa.array([[{"a": 1, "z": "q", "more": 2}], None, []]), kind) == (
        [[{"z": "q", "a": 1}], None, []],
        [],
    )
    assert fit(pa.array([[1], [2**20], [3]]), pa.list_(pa.int16())) == ([[1], None, [3]], [1])


@pytest.mark.parametrize("name", ["out.csv", "out.json", "out.parquet"])
def test_what_an_archive_exports_can_be_appended_again(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given = pa.table(
        {
            "k": pa.array([1, 2], pa.int16()),
            "at": pa.array([time(1, 2, 3, 500_000), None], pa.time64("us")),
            "price": pa.array([Decimal("0.10"), None], pa.decimal128(10, 2)),
            "day": pa.array([None, date(2026, 3, 1)], pa.date64()),
        }
    )
    pq.write_table(given, "in.parquet")
    for arguments in (
        ["create", "a", "--like", "in.parquet", "--key", "k", "--window", "3"],
        ["append", "a", "in.parquet", "--day", "2026-03-01"],
        ["export", "a", name],
        ["append", "a", name, "--day", "2026-03-02"],
    ):
        result = CliRunner().invoke(app, ["archive", *arguments])
        assert result.exit_code == 0, result.output
    with Archive.open("a").reader() as reader:
        rows = reader.scan(columns=given.column_names).to_pylist()
    assert sorted(map(str, rows)) == sorted(2 * [str(row) for row in given.to_pylist()])
