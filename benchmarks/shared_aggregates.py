"""Periodic aggregates on Spark: one job over shared synopses for all of them, or one for each.

    CREATE QUERY qN AS SELECT src, SUM(bytes) AS total
      FROM flows [RANGE 60 SECONDS SLIDE 5 SECONDS] WHERE protocol = 'tcp' GROUP BY src;

The windows (20 to 120 seconds), periods (5 seconds to a tenth of the window), aggregates (SUM,
COUNT, AVG, MAX) and predicates (eight, one of them the union of two others) are drawn at random. A
script is run from its files to their end: one query, many as the runner does, and some of them each
as a job of its own. The answers must be the same. Times are by the clock, of whole runs, each with
a new checkpoint, after a run that warms Spark up.

The last line is the time of one each over that of all as one.
"""

from __future__ import annotations

import random
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.report import finish, median, quick_asked, save, say, table
from benchmarks.shared_spark import one_each, same, timed
from windrow.plan.catalog import Catalog
from windrow.plan.program import compile_script
from windrow.spark.run.session import spark_session

STREAM = (
    "CREATE STREAM flows (ts BIGINT, src STRING, protocol STRING, port INT, bytes BIGINT) "
    "FROM '{}' FORMAT parquet;"
)
QUERY = (
    "CREATE QUERY q{} AS SELECT src, {} AS value FROM flows "
    "[RANGE {} SECONDS SLIDE {} SECONDS]{} GROUP BY src;"
)
AGGREGATES = ("SUM(bytes)", "COUNT(*)", "AVG(bytes)", "MAX(bytes)")
PREDICATES = (
    "", " WHERE protocol = 'tcp'", " WHERE protocol = 'udp'",
    " WHERE protocol = 'tcp' OR protocol = 'udp'", " WHERE port = 443", " WHERE port < 1024",
    " WHERE bytes > 1000", " WHERE bytes <= 1000",
)  # fmt: skip


@dataclass(frozen=True)
class Sizes:
    """``compared`` queries are run both ways, ``counts`` together only."""

    rows: int = 200_000
    files: int = 5
    sources: int = 20
    compared: int = 100
    counts: tuple[int, ...] = (1, 1_000)
    rounds: int = 3


QUICK = Sizes(rows=10_000, files=2, compared=12, counts=(1,), rounds=1)


def write_files(directory: Path, sizes: Sizes) -> None:
    rng = np.random.default_rng(3)
    for number in range(sizes.files):
        columns = {
            "ts": np.sort(rng.integers(120 * number, 120 * number + 120, sizes.rows)),
            "src": pa.array([f"h{i}" for i in rng.integers(0, sizes.sources, sizes.rows)]),
            "protocol": rng.choice(["tcp", "udp", "icmp"], sizes.rows),
            "port": rng.choice(np.array([22, 53, 443, 8080], np.int32), sizes.rows),
            "bytes": rng.integers(0, 3_000, sizes.rows),
        }
        pq.write_table(pa.table(columns), directory / f"{number:03d}.parquet")


def script(directory: Path, count: int) -> Catalog:
    draw, text = random.Random(5), STREAM.format(directory)
    for number in range(count):
        window = 5 * draw.randrange(4, 25)
        slide = 5 * draw.randrange(1, window // 50 + 2)
        chosen = draw.choice(AGGREGATES), window, slide, draw.choice(PREDICATES)
        text += QUERY.format(number, *chosen)
    return compile_script(text).catalog


def measured(directory: Path, sizes: Sizes) -> dict[str, Any]:
    write_files(directory, sizes)
    counts = sorted({*sizes.counts, sizes.compared})
    catalogs = {count: script(directory, count) for count in counts}
    timed(catalogs[sizes.compared])
    times: dict[int, list[float]] = {count: [] for count in counts}
    each = []
    for _ in range(sizes.rounds):
        for count, catalog in catalogs.items():
            seconds, ours = timed(catalog)
            times[count].append(seconds)
            if count == sizes.compared:
                seconds, theirs = one_each(catalog)
                each.append(seconds)
                same(ours, theirs)
    together = {count: median(laps) for count, laps in times.items()}
    say(f"seconds of a run over {sizes.rows * sizes.files:,} rows in {sizes.files} micro-batches")
    apart = median(each)
    table(
        ["queries", "one job", "a job each"],
        [(f"{n:,}", t, apart if n == sizes.compared else None) for n, t in together.items()],
    )
    ratio = apart / together[sizes.compared]
    return {"one_job": together, "a_job_each": apart, "ratio": ratio}


def main(argv: Sequence[str] | None = None) -> None:
    quick = quick_asked("shared_aggregates", __doc__ or "", argv)
    sizes = QUICK if quick else Sizes()
    directory = Path(tempfile.mkdtemp(prefix="windrow-benchmark-"))
    session = spark_session("local[2]")
    try:
        results = {"sizes": asdict(sizes), **measured(directory, sizes)}
    finally:
        session.stop()
        shutil.rmtree(directory, ignore_errors=True)
    if not quick:
        save("shared_aggregates", results)
    finish(results["ratio"])


if __name__ == "__main__":
    main()
