"""The benchmark of archives at a tiny size: stores agree, forget on time, and are drawn."""

from __future__ import annotations

import pyarrow as pa
import pytest

from benchmarks import archive
from benchmarks.archive_days import KEY, SCHEMA, Days
from benchmarks.archive_laps import Laps, disk_bytes, evict, same_answers, scans
from benchmarks.archive_rivals import PACKAGES, RIVALS
from benchmarks.archive_stores import OURS, USUAL

MAKERS = {**OURS, **RIVALS}
DAYS = Days(2_000, 4)


def made(name, path):
    if name in PACKAGES:
        pytest.importorskip(PACKAGES[name])
    return MAKERS[name](path, DAYS.window)


def test_days_are_the_same_whenever_they_are_made_and_sources_have_a_hundred_records_each():
    first, again, other = DAYS.day(3), Days(2_000, 4).day(3), DAYS.day(4)
    assert first.equals(again)
    assert not first.equals(other)
    assert first.schema.equals(SCHEMA)
    assert first.num_rows * DAYS.window == 100 * len(DAYS.hosts)
    assert len(DAYS.hosts.unique()) == len(DAYS.hosts)
    assert set(DAYS.keys(50, 1)) <= set(DAYS.hosts.to_pylist())


@pytest.mark.parametrize("name", MAKERS)
def test_a_store_holds_the_last_window_and_nothing_else(name, tmp_path):
    store = made(name, tmp_path / "store")
    for day in range(1, 8):
        records = DAYS.day(day)
        given = records.sort_by(KEY) if store.wants_sorted else records
        if day <= DAYS.window:
            store.load(day, given)
        else:
            store.advance(day, given)
            store.reclaim()
        if day == DAYS.window:
            store.loaded(day)
    window = pa.concat_tables([DAYS.day(day) for day in range(4, 8)])
    store.open()
    for key in [*DAYS.keys(5, 1), "nobody"]:
        expected = sorted(tuple(r.values()) for r in window.to_pylist() if r[KEY] == key)
        assert sorted(store.unpack(store.probe(key))) == expected
        assert sorted(store.rows(key)) == expected
        found = store.arrow(key).select(SCHEMA.names)
        assert sorted(tuple(row.values()) for row in found.to_pylist()) == expected
    totals = store.totals()
    assert sum(count for count, *_ in totals.values()) == window.num_rows
    assert sum(size for _, size, _ in totals.values()) == sum(window.column("bytes").to_pylist())
    store.close()
    assert disk_bytes(store.path) > 10 * window.num_rows
    evict(store.path)
    store.open()
    assert len(store.rows(DAYS.keys(1, 1)[0])) > 0
    store.close()


def test_stores_that_differ_in_one_day_are_told_apart(tmp_path):
    stores = [made(name, tmp_path / name.replace(" ", "")) for name in list(OURS)[:2]]
    for store, days in zip(stores, ([1, 2], [1, 3]), strict=True):
        for number, day in enumerate(days, 1):
            store.load(number, DAYS.day(day))
        store.loaded(2)
        store.open()
    with pytest.raises(AssertionError, match="differ in the records"):
        same_answers(stores, DAYS.keys(20, 1))
    with pytest.raises(AssertionError, match="totals of"):
        scans(stores, Laps(), 1)
    for store in stores:
        store.close()


def test_everything_is_measured_and_drawn(tmp_path, capsys):
    sizes = archive.Sizes(4, 2_000, 1, 2, 20, 2, 1, 1)
    results = archive.run(sizes, tmp_path)
    took = {name: line["warm"]["p50"] for name, line in results["stores"].items()}
    best = min(took[name] for name in took if name not in OURS)
    assert results["ratio"] == best / took[USUAL] > 0
    assert set(results["best"]) == {"warm", "arrow", "rows", "scan", "scan_two_cores"}
    for line in results["stores"].values():
        assert 0 < line["warm"]["p50"] <= line["warm"]["p99"]
        assert line["cold"]["p50"] > 0
        assert line["written_per_day"] > 10 * sizes.rows
    assert all(runs >= 3 for runs in results["runs"].values())
    assert "over zstd Parquet" in capsys.readouterr().out
    archive.draw(results, tmp_path / "figures.png")
    assert (tmp_path / "figures.png").stat().st_size > 10_000
