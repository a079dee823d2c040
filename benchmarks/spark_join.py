"""A window join on Spark: Windrow's stages beside Spark's own stream-stream join.

    SELECT a.k, a.v, b.v FROM a [RANGE w], b [RANGE w] WHERE a.k = b.k        Parquet to Parquet

Both read the same files, one of each stream per micro-batch, in the same Java virtual machine on
two cores, and write what they find as Parquet. A first file fills the windows; the next ones warm
up; those after are measured, by what Spark says that their triggers took. Runs alternate, after one
of each that is thrown away, and each must find the same pairs. Spark has its state in memory
(HDFS-backed), as many partitions as cores, and a watermark that lets it forget what is out of
reach.

The last line is Spark's time over ours at 100,000 rows per stream and trigger.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import SparkSession, functions

from benchmarks.report import finish, median, quick_asked, save, say, table
from benchmarks.spark_rival import rival_session
from windrow.plan.program import compile_script
from windrow.spark.run.session import configure
from windrow.spark.run.streaming_query import Feed, SparkQuery

MILLISECOND = 1_000
STREAMS = ("a", "b")
SCHEMA = "ts timestamp, k bigint, v bigint"


@dataclass(frozen=True)
class Size:
    """``rows`` per stream and trigger, over windows of ``window`` rows; ``rounds`` of each."""

    rows: int
    window: int = 200_000
    warm: int = 2
    measured: int = 5
    rounds: int = 3


FULL = (Size(10_000), Size(100_000), Size(500_000, measured=4))
LARGE = (Size(20_000, 20_000), Size(20_000, 5_000_000, measured=8))
"""Windows of different sizes, ours only: what a tuple costs must not grow with the window."""
QUICK = (Size(10_000, rounds=1, measured=8), Size(100_000, rounds=1, measured=8))


def write_files(directory: Path, size: Size) -> None:
    """A row per stream and millisecond; keys meet about once in a window."""
    rng = np.random.default_rng(7)
    for name in STREAMS:
        (directory / name).mkdir(parents=True)
        first = 1_000  # Spark takes what lies at its first watermark, 1970, for late
        for number in range(1 + size.warm + size.measured):
            count = size.rows if number else size.window
            at = np.arange(first, first + count)
            columns = {
                "ts": pa.array(at * MILLISECOND, pa.timestamp("us")),
                "k": rng.integers(0, size.window, count),
                "v": at,
            }
            pq.write_table(pa.table(columns), directory / name / f"{number:03d}.parquet")
            first += count


def ours(session: SparkSession, directory: Path, size: Size, place: Path) -> list[float]:
    """The seconds of each micro-batch after the first."""
    text = "".join(
        f"CREATE STREAM {name} (ts TIMESTAMP, k BIGINT, v BIGINT) FROM '{directory / name}' "
        "FORMAT parquet;"
        for name in STREAMS
    )
    text += (
        "CREATE QUERY pairs AS ISTREAM (SELECT a.k AS k, a.v AS x, b.v AS y "
        f"FROM a [RANGE {size.window} MILLISECONDS], b [RANGE {size.window} MILLISECONDS] "
        f"WHERE a.k = b.k) INTO '{place / 'out'}' FORMAT parquet;"
    )
    catalog = compile_script(text).catalog
    query = SparkQuery(configure(session), catalog.queries[0], catalog, place / "home")
    query.prepare()
    running: Any = query.start(Feed(once=True, files=1))
    running.awaitTermination()
    return [p["durationMs"]["triggerExecution"] / 1000 for p in running.recentProgress]


def spark(session: SparkSession, directory: Path, size: Size, place: Path) -> list[float]:
    sides = {}
    for name in STREAMS:
        reader = session.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
        rows = reader.parquet(str(directory / name)).withWatermark("ts", "1 second")
        sides[name] = rows.select(
            *(functions.col(c).alias(f"{name}_{c}") for c in ("ts", "k", "v"))
        )
    reach = functions.expr(f"INTERVAL {size.window} MILLISECONDS")
    a, b = (functions.col(f"{name}_ts") for name in STREAMS)
    near = (a > b - reach) & (a < b + reach)
    pairs = sides["a"].join(sides["b"], (functions.col("a_k") == functions.col("b_k")) & near)
    names = {"a_k": "k", "a_v": "x", "b_v": "y"}
    pairs = pairs.select(*(functions.col(old).alias(new) for old, new in names.items()))
    writer = pairs.writeStream.format("parquet").option("path", str(place / "out"))
    writer = writer.option("checkpointLocation", str(place / "checkpoint"))
    query: Any = writer.outputMode("append").trigger(availableNow=True).start()
    query.awaitTermination()
    progress = [p for p in query.recentProgress if int(p["numInputRows"])]
    return [p["durationMs"]["triggerExecution"] / 1000 for p in progress]


WAYS = {"ours": ours, "spark": spark}


def found(place: Path) -> pa.Table:
    """The pairs that a run has written, in one order."""
    files = sorted((place / "out").glob("*.parquet"))
    pairs = pa.concat_tables(pq.read_table(file, columns=["x", "y"]) for file in files)
    return pairs.take(pc.sort_indices(pairs, [("x", "ascending"), ("y", "ascending")]))


def compare(session: SparkSession, size: Size, ways: Sequence[str]) -> dict[str, Any]:
    """The median seconds of a micro-batch each way, over alternating runs."""
    directory = Path(tempfile.mkdtemp(prefix="windrow-benchmark-"))
    laps: dict[str, list[float]] = {way: [] for way in ways}
    try:
        write_files(directory / "in", size)
        for number in range(size.rounds + 1):
            answers = {}
            for way in ways:
                place = directory / f"{way}-{number}"
                seconds = WAYS[way](session, directory / "in", size, place)[1 + size.warm :]
                laps[way] += seconds if number else []
                answers[way] = found(place)
                shutil.rmtree(place)
            if len({answer.num_rows for answer in answers.values()}) > 1 or any(
                answer != answers["ours"] for answer in answers.values()
            ):
                raise AssertionError(
                    f"other pairs: { {w: a.num_rows for w, a in answers.items()} }"
                )
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    return {**asdict(size), **{way: median(seconds) for way, seconds in laps.items()}}


def main(argv: Sequence[str] | None = None) -> None:
    quick = quick_asked("spark_join", __doc__ or "", argv)
    lines, large = [], []
    with rival_session() as session:
        for size in QUICK if quick else FULL:
            line = compare(session, size, list(WAYS))
            line["ratio"] = line["spark"] / line["ours"]
            lines.append(line)
            say(f"{size.rows:,} rows: {line['ratio']:.2f} times Spark's own")
        if not quick:
            large = [compare(session, size, ["ours"]) for size in LARGE]
    say("seconds of a micro-batch")
    table(
        ["rows per stream and trigger", "window", "ours", "Spark", "ratio"],
        [(f"{r['rows']:,}", r["window"], r["ours"], r["spark"], r["ratio"]) for r in lines],
    )
    if large:
        growth = large[1]["ours"] / large[0]["ours"]
        say(
            f"a trigger of 20,000 rows over windows of 5,000,000: {growth:.2f} times that of 20,000"
        )
    if not quick:
        save("spark_join", {"lines": lines, "large": large})
    finish(next(line["ratio"] for line in lines if line["rows"] == 100_000))


if __name__ == "__main__":
    main()
