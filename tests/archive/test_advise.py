"""Advice for a sample: prices are measured with the archive's own operations."""

from __future__ import annotations

import itertools
import time
from dataclasses import astuple

import numpy as np
import pyarrow as pa
import pytest

from windrow.archive.advise import Workload, advise
from windrow.archive.costs.constraints import Constraints
from windrow.archive.errors import ArchiveError
from windrow.archive.measuring import measured

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


def flat(prices) -> list[float]:
    values = (v if isinstance(v, tuple) else (v,) for v in astuple(prices))
    return list(itertools.chain.from_iterable(values))


@pytest.mark.parametrize("key", [("src",), ("dst", "src"), ("words",)])
def test_keys_of_every_kind_have_prices(tmp_path, key):
    prices = measured(SAMPLE, key, ROWS // 4, tmp_path, "arrow", time.perf_counter)
    assert min(flat(prices)) >= 0
    assert min(prices.publish, prices.write, prices.search, prices.megabytes) > 0
    assert prices.merge.of(1, 4) > 0


def test_prices_grow_with_the_rows_of_a_day_and_what_is_fixed_does_not(tmp_path):
    ticks = itertools.count()  # every measurement takes one tick
    one, ten = (
        measured(SAMPLE, ("src",), ROWS // 4 * times, tmp_path / str(times), "arrow",
                 lambda: next(ticks))
        for times in (1, 10)
    )  # fmt: skip
    assert ten.megabytes == pytest.approx(10 * one.megabytes, rel=0.01)
    assert (ten.publish, ten.merge.fixed) == (one.publish, one.merge.fixed) == (1, 1)
    assert ten.scan.day == pytest.approx(10 * one.scan.day)


def test_advice_is_the_least_work_with_reasons_and_a_runner_up(tmp_path):
    workload = Workload(5, ROWS // 4, probes=100, scans=2)
    found = advise(SAMPLE, "src", workload, tmp_path, time.perf_counter, Constraints(hard=True))
    works = [one.measures.work for one in found.recommendations]
    assert works[0] <= 1.05 * min(works)
    assert len(works) == 20  # five hard schemes under four techniques
    assert found.recommendations[0].reasons
    assert "100 probes and 2 scans a day" in found.format.reason
    assert found.parameters.build == found.prices.publish + found.prices.write


def test_a_sample_that_is_too_small_is_refused(tmp_path):
    with pytest.raises(ArchiveError, match="at least 1,000 rows"):
        advise(SAMPLE.slice(0, 10), "src", Workload(7, 10, 1, 1), tmp_path, time.perf_counter)
