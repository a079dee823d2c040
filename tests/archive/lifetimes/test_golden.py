"""Indexes of every format version that was ever released must open, read and go on."""

from __future__ import annotations

import shutil

import pytest

from tests.archive.lifetimes.golden.make import HERE, LAST, instants, records
from windrow.archive.lifetimes.lifetime_index import LifetimeIndex
from windrow.archive.lifetimes.partition_grid import (
    Chronological,
    GridTechnique,
    Randomised,
    RoundRobin,
)
from windrow.archive.runs.encoding import decode

GOLDEN = sorted(path for path in HERE.glob("*-*") if path.is_dir())


def expected(updates: list[int], key: str | None = None) -> list[int]:
    found = []
    for at in updates:
        table, expiries = records(at)
        rows = zip(*table.to_pydict().values(), expiries.to_pylist(), strict=True)
        found += [v for k, v, end in rows if end > updates[-1] and key in (None, k)]
    return sorted(found)


def test_there_is_a_golden_index_of_each_format_of_runs_and_each_kind_of_layout():
    forms = {"1-arrow", "1-parquet"}
    assert {path.name for path in GOLDEN} >= forms | {f"{form}-summed" for form in forms}
    found = {path.name: LifetimeIndex.open(path).contents() for path in GOLDEN}
    assert {type(one.grid.assignment) for one in found.values()} == {
        RoundRobin,
        Randomised,
        Chronological,
    }
    assert {part.grid.technique for one in found.values() for part in one.partitions} == {
        *GridTechnique
    }
    draining = {name for name, one in found.items() if one.draining}
    assert draining == {"1-parquet-draining-summed"}


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda path: path.name)
def test_it_opens_answers_as_it_did_and_goes_on(golden, tmp_path):
    index = LifetimeIndex.open(shutil.copytree(golden, tmp_path / "index"))
    updates = instants()
    assert index.insert(LAST, *records(LAST), batch=("golden", len(updates) - 1)).step.writes == ()
    for later in (None, 62, 65, 70, 75, 140):
        if later is not None:
            index.insert(later, *records(later))
            updates.append(later)
        assert index.verify() == []
        with index.reader() as reader:
            assert sorted(decode(reader.scan()).column("v").to_pylist()) == expected(updates)
            found = decode(reader.probe("k2")).column("v").to_pylist()
            assert sorted(found) == expected(updates, "k2")
    assert index.contents().draining == ()
