"""Totals of a scan against the same rows added up in plain Python."""

from __future__ import annotations

import pyarrow as pa
import pytest

from windrow.archive import Archive
from windrow.archive.runs.encoding import decode
from windrow.core.thresholds import Threshold

pytestmark = pytest.mark.usefixtures("sizes")
SCHEMA = pa.schema(
    {
        "k": pa.string(),
        "kind": pa.string(),
        "few": pa.int32(),
        "large": pa.int64(),
        "maybe": pa.int16(),
        "share": pa.float64(),
    }
)
CASES: list[tuple[str, list[str]]] = [
    ("kind", []),
    ("kind", ["few"]),
    ("kind", ["large", "few"]),
    ("few", ["large", "few"]),
    ("kind", ["maybe", "large"]),
    ("maybe", ["large"]),
    ("kind", ["share"]),
    ("large", ["few"]),
]
EDGES = [2**63 - 1, -(2**63), 0, -1, 2**40]


def day_rows(day: int, rows: int) -> pa.Table:
    return pa.table(
        {
            "k": [f"k{i * day % 23}" for i in range(rows)],
            "kind": [("tcp", "udp", "icmp")[(i + day) % 3] for i in range(rows)],
            "few": [i % 7 - 3 for i in range(rows)],
            "large": [EDGES[i % 5] if i % 2 else i * 2**33 + day for i in range(rows)],
            "maybe": [None if i % 3 == 0 or day == 4 else i % 100 for i in range(rows)],
            "share": [i / 8 for i in range(rows)],
        },
        schema=SCHEMA,
    )


@pytest.fixture
def reader(tmp_path, request):
    form = getattr(request, "param", "arrow")
    archive = Archive.create(tmp_path / "a", SCHEMA, "k", window=4, scheme="WATA", n=2, format=form)
    for day in range(1, 7):
        archive.append(day, day_rows(day, 500), now=day)
    with archive.reader() as found:
        yield found


def added_up(table: pa.Table, by: str, sums: list[str]):
    found: dict[object, list] = {}
    for row in decode(table).to_pylist():
        line = found.setdefault(row[by], [0, *[None] * len(sums)])
        line[0] += 1
        for place, name in enumerate(sums, 1):
            if row[name] is not None:
                line[place] = row[name] + (line[place] or 0)
    return {name: tuple(line) for name, line in found.items()}


@pytest.mark.parametrize("reader", ["arrow", "parquet"], indirect=True)
def test_totals_are_those_of_the_rows(reader):
    """One archive for all: with thresholds at their least it is the making that takes time."""
    for by, sums in CASES:
        names = list(dict.fromkeys([by, *sums]))
        wanted = added_up(reader.scan(columns=names), by, sums)
        assert reader.totals(by, sums) == wanted, (by, sums)


def test_totals_of_some_days_on_any_number_of_threads(reader, monkeypatch):
    monkeypatch.setattr("windrow.archive.runs.totals.PIECE", Threshold(100, least=1))
    wanted = added_up(reader.scan(4, 5, columns=["kind", "large"]), "kind", ["large"])
    before = pa.cpu_count()
    try:
        for threads in (1, 2, 5):
            pa.set_cpu_count(threads)
            assert reader.totals("kind", ["large"], 4, 5) == wanted
    finally:
        pa.set_cpu_count(before)


def test_runs_that_were_merged_in_pieces_are_added_up_by_kernels_too(tmp_path, monkeypatch):
    monkeypatch.setattr("windrow.archive.runs.merge.PIECE", Threshold(900))
    archive = Archive.create(tmp_path / "a", SCHEMA, "k", window=3, scheme="REINDEX", n=1)
    archive.append_days({day: day_rows(day, 500) for day in (1, 2, 3)}, now=3)
    archive.append(4, day_rows(4, 1_400), now=4)
    with archive.reader() as reader:
        if pa.types.is_dictionary(reader.schema.field("kind").type):  # not where all is least
            monkeypatch.delattr("windrow.archive.versions.pinned_reader.add_table")
        ((run, only),) = reader._live(None, None)
        assert len(run.entries.map_scan(reader.schema, only)) > 1
        for days in ((None, None), (3, 4)):
            wanted = added_up(reader.scan(*days, columns=["kind", "large"]), "kind", ["large"])
            assert reader.totals("kind", ["large"], *days) == wanted
