"""Queries that differ in a range, on Spark: one streaming query for all of them, or one for each.

    CREATE QUERY qN AS SELECT k, COUNT(*) AS n, SUM(v) AS total
      FROM flows [RANGE 20 SLIDE 10] WHERE v BETWEEN a AND b GROUP BY k;

A script with a few such queries is run from its files to their end, twice: as the runner does, and
with each query as a streaming query of its own, as without sharing. The ranges of all queries
together cover the attribute once. The answers must be the same. Larger groups are run shared only.
Times are by the clock, of whole runs, each with a new checkpoint, after a run that warms Spark up.

The last line is the time of one each over that of all as one.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.report import finish, median, quick_asked, save, say, table
from windrow.engine.progress import Report
from windrow.engine.runner import run
from windrow.plan.catalog import Catalog
from windrow.plan.program import compile_script
from windrow.spark.run import runtime_factory, spark_runtime
from windrow.spark.run.session import spark_session

DOMAIN = 1 << 16
QUERY = (
    "CREATE QUERY q{} AS SELECT k, COUNT(*) AS n, SUM(v) AS total "
    "FROM flows [RANGE 20 SLIDE 10] WHERE v BETWEEN {} AND {} GROUP BY k;"
)


@dataclass(frozen=True)
class Sizes:
    """``compared`` queries are run both ways, ``counts`` shared only."""

    rows: int = 50_000
    files: int = 4
    compared: int = 8
    counts: tuple[int, ...] = (100, 1_000)
    rounds: int = 3


QUICK = Sizes(rows=5_000, files=1, compared=3, counts=(), rounds=1)


def write_files(directory: Path, sizes: Sizes) -> None:
    rng = np.random.default_rng(3)
    for number in range(sizes.files):
        ts = np.sort(rng.integers(10 * number, 10 * number + 10, sizes.rows))
        columns = {
            "ts": ts,
            "k": rng.integers(0, 10, sizes.rows),
            "v": rng.integers(0, DOMAIN, sizes.rows),
        }
        pq.write_table(pa.table(columns), directory / f"{number:03d}.parquet")


def script(directory: Path, count: int) -> Catalog:
    width = DOMAIN // count
    text = f"CREATE STREAM flows (ts BIGINT, k BIGINT, v BIGINT) FROM '{directory}' FORMAT parquet;"
    text += "".join(QUERY.format(i, i * width, (i + 1) * width - 1) for i in range(count))
    return compile_script(text).catalog


def timed(catalog: Catalog) -> tuple[float, Report]:
    began = time.perf_counter()
    on_spark = runtime_factory.over_files("local[2]", None, None, once=True, files_per_trigger=1)
    report = run(catalog, on_spark, once=True, on_progress=lambda _: None)
    return time.perf_counter() - began, report


def one_each(catalog: Catalog) -> tuple[float, Report]:
    with patch.object(spark_runtime, "groups_of", lambda *_: []):
        return timed(catalog)


def same(ours: Report, theirs: Report) -> None:
    for mine, other in zip(ours.queries, theirs.queries, strict=True):
        found = [sorted(map(str, q.answer.to_pylist())) for q in (mine, other)]
        if found[0] != found[1] or mine.rows_in != other.rows_in:
            raise AssertionError(f"{mine.name} answers differently when it is shared")


def measured(directory: Path, sizes: Sizes) -> dict[str, Any]:
    write_files(directory, sizes)
    compared = script(directory, sizes.compared)
    timed(compared)
    times: dict[str, list[float]] = {"shared": [], "one each": []}
    for _ in range(sizes.rounds):
        seconds, ours = timed(compared)
        times["shared"].append(seconds)
        seconds, theirs = one_each(compared)
        times["one each"].append(seconds)
        same(ours, theirs)
    middle = {name: median(laps) for name, laps in times.items()}
    lines = [{"queries": sizes.compared, **middle}]
    for count in sizes.counts:
        catalog = script(directory, count)
        laps = [timed(catalog)[0] for _ in range(sizes.rounds)]
        lines.append({"queries": count, "shared": median(laps)})
    say(f"seconds of a run over {sizes.rows * sizes.files:,} rows in {sizes.files} micro-batches")
    table(
        ["queries", "all as one", "one each"],
        [(f"{line['queries']:,}", line["shared"], line.get("one each")) for line in lines],
    )
    return {"lines": lines, "ratio": middle["one each"] / middle["shared"]}


def main(argv: Sequence[str] | None = None) -> None:
    quick = quick_asked("shared_spark", __doc__ or "", argv)
    sizes = QUICK if quick else Sizes()
    directory = Path(tempfile.mkdtemp(prefix="windrow-benchmark-"))
    session = spark_session("local[2]")
    try:
        results = {"sizes": asdict(sizes), **measured(directory, sizes)}
    finally:
        session.stop()
        shutil.rmtree(directory, ignore_errors=True)
    if not quick:
        save("shared_spark", results)
    finish(results["ratio"])


if __name__ == "__main__":
    main()
