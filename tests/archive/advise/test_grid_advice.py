"""Grids are tried, put in order, and the paper's advice stands beside them."""

from __future__ import annotations

from itertools import count

import numpy as np
import pyarrow as pa
import pytest

from windrow.archive import ArchiveError, GridWorkload, advise_grid
from windrow.archive.advise import grid_advice
from windrow.archive.advise.grid_advice import CANDIDATES, Costs, lessons, paper_grid
from windrow.archive.lifetimes.partition_grid import Periods
from windrow.core.thresholds import Threshold

SAMPLE = pa.table({"k": [f"k{i % 50}" for i in range(1_200)], "x": list(range(1_200))})
LIVES = np.random.default_rng(2).integers(1, 60, 1_200)


@pytest.fixture(autouse=True)
def _short(monkeypatch):
    for name, least in (("PERIODS", 6), ("MOST_ROWS", 1_000), ("MEASURED", 2)):
        monkeypatch.setattr(grid_advice, name, Threshold(least))


def advised(tmp_path, timer, **workload):
    expected = GridWorkload(Periods(60, 10), 500, **workload)
    return advise_grid(SAMPLE, ("k",), LIVES, expected, tmp_path, timer)


def test_every_grid_that_the_window_has_room_for_is_tried_and_the_fewest_of_equals_comes_first(
    tmp_path,
):
    ticks = count()
    found = advised(tmp_path, lambda: float(next(ticks)), probes=1.0)
    wanted = {g.name for g in CANDIDATES if max(g.insertions, g.expiries) <= 6}
    assert set(found.costs) == set(found.grids) == wanted
    assert "D-ins9" not in wanted
    assert found.best.name == "D-ins1"  # between two looks at this clock is one second, always
    assert {(c.update, c.scan) for c in found.costs.values()} == {(1.0, 1.0)}
    assert found.share == pytest.approx(1 / 3)
    assert found.work("D-ins1") == pytest.approx(1 + 1 / 100)


def test_an_update_that_takes_long_puts_its_grid_behind(tmp_path, monkeypatch):
    slow, clock = [0.0], count()

    class Slow(grid_advice.LifetimeIndex):
        def insert(self, *args, **kwargs):
            slow[0] += 10.0 * self.grid.size
            return super().insert(*args, **kwargs)

    monkeypatch.setattr(grid_advice, "LifetimeIndex", Slow)
    found = advised(tmp_path, lambda: float(next(clock)) + slow[0], probes=0.0)
    sizes = [grid.size for grid in found.grids.values()]
    assert sizes == sorted(sizes)
    works = [found.work(name) for name in found.costs]
    assert works[1:] == sorted(works[1:])
    assert found.costs["NoRebuild2x2"].update == pytest.approx(41)


def test_an_index_that_does_not_fit_into_memory_is_probed_from_the_disk(tmp_path, monkeypatch):
    evicted, ticks = [], count()
    for name in ("calibrate", "grid_advice"):
        monkeypatch.setattr(f"windrow.archive.advise.{name}.evict", evicted.append)
    found = advised(tmp_path, lambda: float(next(ticks)), probes=1.0, memory=0.0)
    assert set(evicted) == {tmp_path / name for name in found.costs}
    assert set(found.cold.values()) == {1.0}
    # A probe in memory is a hundredth of a tick here; one from the disk is a tick by itself.
    assert {(c.update, c.probe, c.scan) for c in found.costs.values()} == {(1.0, 1.0, 1.0)}
    evicted.clear()
    warm = advised(tmp_path / "warm", lambda: float(next(ticks)), probes=1.0, memory=1e6)
    assert not evicted
    assert set(warm.cold.values()) == {0.0}


def test_what_fills_an_index_is_not_synced_and_what_is_measured_is(tmp_path, monkeypatch):
    synced, real = [], grid_advice.Disk.sync

    def sync(self, name):
        synced.append(self.synced)
        real(self, name)

    monkeypatch.setattr(grid_advice.Disk, "sync", sync)
    monkeypatch.setattr(grid_advice, "CANDIDATES", CANDIDATES[:1])
    ticks = count()
    advised(tmp_path, lambda: float(next(ticks)), probes=1.0)
    assert synced
    assert all(synced)


def test_the_paper_is_asked_by_what_was_measured():
    few, many = (GridWorkload(Periods(60, 10), 500, probes) for probes in (1.0, 1_000.0))
    small = {"NoRebuild4x4": Costs(1, 0.01, 1, 1), "NoRebuild5x5": Costs(2, 0.01, 1, 1)}
    large = {"NoRebuild4x4": Costs(2, 0.01, 1, 1), "NoRebuild5x5": Costs(1, 0.01, 1, 1)}
    assert paper_grid(small, few) == lessons(large=False, many_queries=False)
    assert paper_grid(small, many) == lessons(large=False, many_queries=True)
    assert paper_grid(large, few) == lessons(large=True, many_queries=False)
    assert paper_grid(large, many) == lessons(large=True, many_queries=True)


def test_a_sample_of_a_few_rows_is_refused(tmp_path):
    expected = GridWorkload(Periods(60, 10), 500, 1.0)
    with pytest.raises(ArchiveError, match="at least 1,000 rows"):
        advise_grid(SAMPLE.slice(0, 10), ("k",), LIVES, expected, tmp_path, float)
