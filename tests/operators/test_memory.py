"""Memory is that of the windows, however long the stream runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tests.operators.held import held_bytes
from tests.support.thresholds import at_their_least
from windrow.columns.delta import Delta
from windrow.engine.pipeline import Pipeline
from windrow.plan.program import compile_script
from windrow.plan.strategy import Strategy

WINDOW, BATCH = 20_000, 5_000
PROTOCOLS = pa.array(["ftp", "telnet", "http"])
QUERY_4 = "".join(
    f"CREATE STREAM link{i} (ts BIGINT, src BIGINT, bytes BIGINT, protocol STRING);"
    for i in (1, 2, 3)
) + (
    f"SELECT link1.src, link1.bytes, link3.bytes "
    f"FROM link1 [RANGE {WINDOW} SECONDS], link3 [RANGE {WINDOW} SECONDS] "
    "WHERE link1.src = link3.src AND link3.protocol = 'ftp' AND NOT EXISTS "
    f"(SELECT * FROM link2 [RANGE {WINDOW} SECONDS] WHERE link2.src = link1.src);"
)


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def links(rng: np.random.Generator, now: int) -> dict[str, Delta]:
    """A batch for each link; the hosts drift, so that values die out."""
    found = {}
    for name in ("link1", "link2", "link3"):
        ts = np.arange(now, now + BATCH)
        columns = [
            pa.array(ts),
            pa.array(rng.integers(0, 30_000, BATCH) + now // 100),
            pa.array(rng.integers(0, 1500, BATCH)),
            PROTOCOLS.take(pa.array(rng.integers(0, 3, BATCH))),
        ]
        batch = pa.RecordBatch.from_arrays(columns, ["ts", "src", "bytes", "protocol"])
        found[name] = Delta.insertions(ts, batch)
    return found


@pytest.mark.parametrize("tuples", [600_000, pytest.param(10_000_000, marks=pytest.mark.slow)])
def test_query_4_holds_no_more_after_many_windows_than_after_a_few(tuples: int) -> None:
    pipeline = Pipeline(compile_script(QUERY_4).queries[0].plan, changes=True)
    rng, full = np.random.default_rng(0), 0
    for now in range(0, tuples // 3, BATCH):
        pipeline.process(links(rng, now), now + BATCH - 1)
        if now == 5 * WINDOW:
            full, held = resident(), pipeline.size()
    assert pipeline.size() < 1.2 * held
    assert resident() < full + 64 * 2**20


LENGTH, EACH = 20, 2
"""A window's length in ticks, and the tuples of each tick."""
AGGREGATES = (
    "COUNT(*)", "COUNT(x)", "SUM(a)", "SUM(x)", "AVG(a)", "AVG(x)", "MIN(a)", "MAX(x)", "MAX(n)",
    "MEDIAN(a)", "QUANTILE(x, 0.9)", "VAR(a)", "STDDEV(x)", "MAX_BY(a, s.x)",
    "STRING_AGG(n ORDER BY s.a)", "COUNT(DISTINCT n)", "SUM(DISTINCT a)",
    "AVG(DISTINCT x)", "MIN(DISTINCT a)", "MAX(DISTINCT n)", "MEDIAN(DISTINCT a)",
    "STDDEV(DISTINCT x)",
)  # fmt: skip
EXTREMES = ("MIN(a)", "MAX(x)", "MAX(n)")
"""By themselves, because then tuples that cannot become extreme any more are dropped."""
WINDOWS = {
    "range": f"s [RANGE {LENGTH} SECONDS]",
    "slide": f"s [RANGE {LENGTH} SECONDS SLIDE {LENGTH // 4} SECONDS]",
    "now": "s [NOW]",
    "rows": f"s [ROWS {LENGTH * EACH}]",
    "partition": f"s [PARTITION BY p ROWS {LENGTH}]",
    "internal": f"s [ROWS {LENGTH * EACH}], s [RANGE 3 SECONDS INTERNAL] AS i WHERE s.k = i.k",
    "join": f"s [RANGE {LENGTH} SECONDS], s [RANGE 3 SECONDS] AS j WHERE s.k = j.k",
    "negation": f"s [RANGE {LENGTH} SECONDS] WHERE NOT EXISTS "
    "(SELECT * FROM s [RANGE 2 SECONDS] AS m WHERE m.p = s.p)",
    "union": f"(SELECT * FROM s [RANGE {LENGTH} SECONDS] UNION ALL SELECT * FROM s [NOW]) AS s",
}


def drifting(rng: np.random.Generator, now: int) -> dict[str, Delta]:
    """A window's length of tuples from ``now`` on, with groups and values of their own time."""
    count = LENGTH * EACH
    ts = np.repeat(np.arange(now, now + LENGTH), EACH)
    numbers = rng.integers(0, 1_000, count)
    numbers[:: LENGTH // 2] -= 5_000  # an extreme that stays for its whole life
    columns = [
        pa.array(ts),
        pa.array(ts // 3 + rng.integers(0, 5, count)),
        pa.array(rng.integers(0, EACH, count)),
        pa.array(numbers + ts),
        pa.array((numbers + ts) / 7),
        pa.array([f"n{value}" for value in numbers + ts]),
    ]
    batch = pa.RecordBatch.from_arrays(columns, ["ts", "k", "p", "a", "x", "n"])
    return {"s": Delta.insertions(ts, batch)}


def held_after(query: str, strategy: Strategy, windows: int) -> list[int]:
    """The bytes that a query holds after every fourth window's length."""
    declaration = "CREATE STREAM s (ts BIGINT, k BIGINT, p BIGINT, a BIGINT, x DOUBLE, n STRING);"
    plan = compile_script(declaration + query + ";").queries[0].plan
    pipeline = Pipeline(plan, changes=True, strategy=strategy)
    rng, held = np.random.default_rng(0), []
    for now in range(0, windows * LENGTH, LENGTH):
        pipeline.process(drifting(rng, now), now + LENGTH - 1)
        if now // LENGTH % 4 == 0:  # counting takes longer than processing
            held.append(held_bytes(pipeline))
    return held


def grouped(kind: str, aggregates: tuple[str, ...]) -> str:
    """The aggregates of a group of tuples that are near in time; or of all time, if they last."""
    key = "p" if kind in ("partition", "rows") else "k"
    listed = ", ".join(a.replace("(", "(s.") if "*" not in a else a for a in aggregates)
    listed = listed.replace("(s.DISTINCT ", "(DISTINCT s.")
    return f"SELECT s.{key}, {listed} FROM {WINDOWS[kind]} GROUP BY s.{key}"


@pytest.mark.parametrize("kind", WINDOWS)
@pytest.mark.parametrize(
    ("aggregates", "strategies"),
    [(AGGREGATES, [Strategy.UPA]), (EXTREMES, list(Strategy))],
    ids=["all", "extremes"],
)
def test_every_aggregate_over_every_window_holds_no_more_after_a_hundred_windows(
    kind: str, aggregates: tuple[str, ...], strategies: list[Strategy]
) -> None:
    """With thresholds at their least, so that what has grown and shrinks again is small."""
    for strategy in strategies:
        with at_their_least():
            held = held_after(grouped(kind, aggregates), strategy, 100)
        assert max(held[15:]) < 1.3 * max(held[:15]) + 2**14, strategy


def test_an_extreme_over_a_time_window_holds_a_window_with_the_usual_thresholds() -> None:
    held = held_after(grouped("range", EXTREMES), Strategy.UPA, 600)
    assert max(held[100:]) < 1.2 * max(held[:100])
