"""Memory is that of the windows, however long the stream runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from windrow.columns.delta import Delta
from windrow.engine.pipeline import Pipeline
from windrow.plan.program import compile_script

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
