"""Advice for a sample: prices are measured with the archive's own operations."""

from __future__ import annotations

import itertools
import time
from dataclasses import astuple, is_dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from windrow.archive.advise import calibrate
from windrow.archive.advise.advise import Workload, advise
from windrow.archive.advise.calibrate import least_seconds, measure_prices
from windrow.archive.advise.recommend import Constraints
from windrow.archive.advise.rehearse import ColdPrices, Line, price_days, rehearse
from windrow.archive.archive import Archive
from windrow.archive.errors import ArchiveError
from windrow.archive.runs.encoding import decode
from windrow.archive.wave.wave import Settings

ROWS = 8_000
RNG = np.random.default_rng(4)
SAMPLE = pa.table(
    {
        "src": pa.array(RNG.integers(0, 500, ROWS)),
        "dst": pa.array([f"host{i}" for i in RNG.integers(0, 50, ROWS)]),
        "words": pa.array([["a", f"w{i % 9}"] for i in range(ROWS)]),
        "bytes": pa.array(RNG.integers(0, 10**9, ROWS)),
    }
)


def flat(values) -> list[float]:
    values = astuple(values) if is_dataclass(values) else values
    nested = [flat(v) if isinstance(v, tuple) else [v] for v in values]
    return list(itertools.chain.from_iterable(nested))


@pytest.mark.parametrize("key", [("src",), ("dst", "src"), ("words",)])
def test_keys_of_every_kind_have_prices(tmp_path, key):
    prices = measure_prices(SAMPLE, key, ROWS // 4, tmp_path, "arrow", time.perf_counter)
    assert min(flat(prices)) >= 0
    assert min(prices.publish, prices.write, prices.search, prices.space.day) > 0
    assert prices.merge.of(1, 4) > 0


def test_prices_grow_with_the_rows_of_a_day_and_what_is_fixed_does_not(tmp_path):
    ticks = itertools.count()  # every measurement takes one tick
    one, ten = (
        measure_prices(SAMPLE, ("src",), ROWS // 4 * times, tmp_path / str(times), "arrow",
                 lambda: next(ticks))
        for times in (1, 10)
    )  # fmt: skip
    assert ten.space.day == pytest.approx(10 * one.space.day, rel=0.01)
    assert ten.space.fixed == pytest.approx(one.space.fixed, rel=0.01)
    assert (ten.publish, ten.merge.fixed) == (one.publish, one.merge.fixed) == (1, 1)
    assert ten.scan.day == pytest.approx(10 * one.scan.day)


def test_a_day_in_a_run_of_its_own_takes_more_space_than_one_of_many(tmp_path):
    prices = measure_prices(SAMPLE, ("dst",), ROWS // 4, tmp_path, "arrow", time.perf_counter)
    sizes = []
    for n in (1, 4):
        archive = Archive.create(
            tmp_path / str(n), SAMPLE.schema, "dst", window=4, scheme="DEL", n=n
        )
        days = {d: SAMPLE.slice((d - 1) * ROWS // 4, ROWS // 4) for d in range(1, 5)}
        archive.append_days(days, now=4)
        sizes.append(archive.stat().bytes / 1e6)
    assert [prices.space.of(n, 4) for n in (1, 4)] == pytest.approx(sizes, rel=0.02)
    assert sizes[1] > 1.02 * sizes[0]


@pytest.mark.parametrize("columns", [("bytes",), ("dst", "bytes")])
def test_a_scan_is_foretold_with_what_is_done_with_its_values(tmp_path, columns):
    """A scan of mapped runs only points at them; decoding and adding up is what takes time."""
    large = pa.concat_tables([SAMPLE] * 25).drop_columns("words")
    rows = large.num_rows // 4
    prices = measure_prices(
        large, ("src",), rows, tmp_path / "p", "arrow", time.process_time, columns
    )
    foretold = price_days(rehearse(Settings(4, "DEL", 2, "packed shadow")), prices, 0, 1).scan
    archive = Archive.create(
        tmp_path / "a", large.schema, "src", window=4, scheme="DEL", n=2, technique="packed shadow"
    )
    archive.append_days({d: large.slice((d - 1) * rows, rows) for d in range(1, 5)}, now=4)
    with archive.reader() as reader:
        release = pa.default_memory_pool().release_unused
        took = least_seconds(lambda: added_up(reader, columns), time.process_time, release)
        alone = least_seconds(lambda: reader.scan(columns=columns), time.process_time)
    assert alone < took / 3
    assert took / 2 < foretold < 2 * took


def added_up(reader, columns):
    rows = decode(reader.scan(columns=columns))
    return pc.sum(rows.column("bytes"))


def test_a_column_that_scans_cannot_read_is_refused(tmp_path):
    workload = Workload(5, ROWS // 4, 1, 1, scan_columns=("nothing",))
    with pytest.raises(ArchiveError, match="nothing"):
        advise(SAMPLE, "src", workload, tmp_path, time.perf_counter)


def test_advice_is_the_least_work_with_reasons_and_a_runner_up(tmp_path):
    workload = Workload(5, ROWS // 4, probes=100, scans=2)
    found = advise(SAMPLE, "src", workload, tmp_path, time.perf_counter, Constraints(hard=True))
    works = [one.measures.work for one in found.recommendations]
    assert works[0] <= 1.05 * min(works)
    assert len(works) == 20  # five hard schemes under four techniques
    assert found.recommendations[0].reasons
    assert "100 probes and 2 scans a day" in found.format.reason
    assert found.parameters.build == found.prices.publish + found.prices.write


class Disk:
    """A clock that stands still but for a second, or as many as wanted, after a file is dropped."""

    pending = False

    def __init__(self, monkeypatch, seconds: float) -> None:
        self.now, self.seconds, self.dropped = 0.0, seconds, False
        monkeypatch.setattr(calibrate, "evict", self.evict)

    def evict(self, place) -> None:
        assert place.name in ("one", "many")
        self.dropped = True

    def __call__(self) -> float:
        """What is begun after files were dropped takes long; nothing else takes any time."""
        self.now += 1e-6
        if self.dropped:
            self.dropped, self.pending = False, True
        elif self.pending:
            self.pending = False
            self.now += self.seconds
        return self.now


def test_a_probe_that_reads_from_the_disk_has_a_price_of_its_own(tmp_path, monkeypatch):
    clock = Disk(monkeypatch, seconds=2.0)
    prices = measure_prices(SAMPLE, ("src",), ROWS // 4, tmp_path, "arrow", clock)
    assert prices.probe + prices.search < 0.001
    assert prices.cold.probe + prices.cold.search == pytest.approx(2.0, abs=0.001)
    half = prices.with_cold(0.5)
    assert half.probe + half.search == pytest.approx(1.0, abs=0.001)
    assert half.scan.of(1, 4) == pytest.approx(1.0, abs=0.001)
    assert prices.with_cold(0.0) is prices
    assert (half.merge, half.write, half.space) == (prices.merge, prices.write, prices.space)
    assert replace(prices, cold=None).with_cold(1.0) == replace(prices, cold=None)


def test_where_runs_are_read_from_the_disk_fewer_are_recommended(tmp_path, monkeypatch):
    """A run costs a probe a tenth of a second from the disk and next to nothing in memory, where
    it is not worth a second of merging.
    """

    def prices_of(*args):
        measured = measure_prices(*args)
        cold = ColdPrices(0.0, 0.1, measured.scan)
        return replace(measured, merge=Line(1.0, 1.0), search=1e-6, cold=cold)

    monkeypatch.setattr("windrow.archive.advise.advise.measure_prices", prices_of)
    found = {
        memory: advise(
            SAMPLE,
            "src",
            Workload(6, ROWS // 4, probes=1_000, scans=0, memory=memory),
            tmp_path / str(memory),
            time.perf_counter,
        )
        for memory in (0, 1_000_000)
    }
    cold, warm = (found[memory].recommendations[0] for memory in found)
    assert (found[0].cold, found[1_000_000].cold) == (1.0, 0.0)
    assert (cold.n, cold.technique) == (1, "packed shadow")
    assert cold.measures.probe == pytest.approx(0.1, rel=0.01)
    assert (warm.n > 1, warm.technique) == (True, "in-place")
    assert warm.measures.probe < 0.01


def test_a_sample_that_is_too_small_is_refused(tmp_path):
    with pytest.raises(ArchiveError, match="at least 1,000 rows"):
        advise(SAMPLE.slice(0, 10), "src", Workload(7, 10, 1, 1), tmp_path, time.perf_counter)
