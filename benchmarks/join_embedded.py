"""A window join in process, against Spark's own stream-stream join over the same data.

Two streams of one tuple a second each, a key and four payload columns; keys are as many as a
window has tuples, so that a tuple meets about one partner. ``[RANGE n SECONDS INTERNAL]`` bounds
the windows and never withdraws a result, which is what Spark's inner join over a time interval
does. Both are timed when the windows are full, from Parquet files to results that are dropped: our
engine from Arrow batches to Arrow batches, with the time that reading the files takes added.

The second part is about our engine alone: what a tuple costs when windows grow a hundredfold.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.feeding import Feed, Lap, lap
from benchmarks.report import finish, median, quick_asked, save, say, table
from benchmarks.spark_rival import rival_session, run_to_the_end, stream_of_files
from windrow.engine.pipeline import Pipeline
from windrow.plan.program import compile_script

SECOND = 1_000_000
COLUMNS = "ts TIMESTAMP, k BIGINT, a BIGINT, b DOUBLE, c INT, d STRING"
OUTPUT = ["k", "a", "b", "c", "d"]


@dataclass(frozen=True)
class Sizes:
    """How much is measured; all numbers are tuples per stream."""

    window: int = 100_000
    batch: int = 100_000
    batches: int = 7
    warm_up: int = 2
    """Batches that fill the windows and are not counted."""
    rounds: int = 5
    small: int = 20_000
    large: int = 2_000_000
    laps: int = 9
    interval: int = 20_000


QUICK = Sizes(batches=5, rounds=3, laps=5)


def stream(rows: int, keys: int, seed: int) -> pa.RecordBatch:
    """From the first second after the epoch on: Spark takes what is at the epoch for late."""
    rng = np.random.default_rng(seed)
    names = pa.array([f"user{i:04}" for i in range(10_000)])
    columns = {
        "ts": pa.array(np.arange(1, rows + 1) * SECOND, pa.timestamp("us")),
        "k": pa.array(rng.integers(0, keys, rows)),
        "a": pa.array(rng.integers(0, 1000, rows)),
        "b": pa.array(rng.random(rows)),
        "c": pa.array(rng.integers(0, 10**6, rows), pa.int32()),
        "d": names.take(pa.array(rng.integers(0, len(names), rows))),
    }
    return pa.RecordBatch.from_pydict(columns)


def join(window: int) -> Pipeline:
    script = f"""
        CREATE STREAM l ({COLUMNS}) TIMESTAMP BY ts;
        CREATE STREAM r ({COLUMNS}) TIMESTAMP BY ts;
        SELECT l.k, l.a, l.b, r.c, r.d
        FROM l [RANGE {window} SECONDS INTERNAL], r [RANGE {window} SECONDS INTERNAL]
        WHERE l.k = r.k;
    """
    return Pipeline(compile_script(script).queries[0].plan)


def ours(streams: dict[str, pa.RecordBatch], sizes: Sizes) -> Lap:
    pipeline, feed = join(sizes.window), Feed(streams)
    lap(pipeline, feed, 2 * sizes.warm_up * sizes.batch, sizes.batch)
    return lap(pipeline, feed, 2 * (sizes.batches - sizes.warm_up) * sizes.batch, sizes.batch)


def write_files(streams: dict[str, pa.RecordBatch], sizes: Sizes, directory: Path) -> None:
    for name, rows in streams.items():
        (directory / name).mkdir()
        for i in range(sizes.batches):
            part = pa.Table.from_batches([rows.slice(i * sizes.batch, sizes.batch)])
            pq.write_table(part, directory / name / f"{i:03}.parquet")


def seconds_to_read(directory: Path) -> float:
    began = time.perf_counter()
    for path in sorted(directory.glob("?/*.parquet")):
        pq.read_table(path)
    return time.perf_counter() - began


def spark_join(session: Any, directory: Path, window: int) -> Any:
    left, right = (
        stream_of_files(session, directory / name, COLUMNS).withWatermark("ts", "0 seconds")
        for name in ("l", "r")
    )
    left.createOrReplaceTempView("l")
    right.createOrReplaceTempView("r")
    return session.sql(f"""
        SELECT l.k, l.a, l.b, r.c, r.d FROM l JOIN r ON l.k = r.k
        AND r.ts > l.ts - INTERVAL {window} SECONDS AND r.ts < l.ts + INTERVAL {window} SECONDS
    """)


def check(session: Any, streams: dict[str, pa.RecordBatch], directory: Path, sizes: Sizes) -> int:
    """The first run of both: the answers are compared row by row, and machines get warm."""
    results = directory / "results"

    def keep(frame: Any, _number: int) -> None:
        frame.write.mode("append").parquet(str(results))

    run_to_the_end(spark_join(session, directory, sizes.window), directory / "c0", keep)
    theirs = pq.read_table(results)
    pipeline, feed, parts = join(sizes.window), Feed(streams), []
    while (interval := feed.take(sizes.batch)) is not None:
        parts.append(pipeline.process(*interval).rows)
    mine = pa.Table.from_batches(parts)
    if not ordered(mine).equals(ordered(theirs)):
        raise AssertionError(f"answers differ: ours {mine.num_rows}, Spark's {theirs.num_rows}")
    return mine.num_rows


def ordered(rows: pa.Table) -> pa.Table:
    plain = pa.table(rows.columns, OUTPUT).combine_chunks()
    return plain.take(pc.sort_indices(plain, [(name, "ascending") for name in OUTPUT]))


def against_spark(sizes: Sizes) -> dict[str, Any]:
    rows = sizes.batch * sizes.batches
    streams = {name: stream(rows, sizes.window, seed) for seed, name in enumerate("lr", 1)}
    laps, theirs = [], []
    with tempfile.TemporaryDirectory() as place, rival_session() as session:
        directory = Path(place)
        write_files(streams, sizes, directory)
        results = check(session, streams, directory, sizes)
        say(f"answers are the same: {results:,} results from 2 x {rows:,} tuples")
        for number in range(1, sizes.rounds + 1):
            laps.append(ours(streams, sizes))
            frame = spark_join(session, directory, sizes.window)
            batches = run_to_the_end(frame, directory / f"c{number}")[sizes.warm_up :]
            theirs.append(sum(b.rows for b in batches) / sum(b.seconds for b in batches))
            say(f"round {number}: Windrow {laps[-1].rate:,.0f} rows/s, Spark {theirs[-1]:,.0f}")
        reading = seconds_to_read(directory) / (2 * rows)
    rate, rival = median(p.rate for p in laps), median(theirs)
    with_reading = 1 / (1 / rate + reading)
    return {
        "results_per_tuple": laps[0].results / laps[0].tuples,
        "windrow_rows_per_second": rate,
        "windrow_rows_per_second_with_reading": with_reading,
        "spark_rows_per_second": rival,
        "rounds": [{"windrow": p.rate, "spark": s} for p, s in zip(laps, theirs, strict=True)],
        "ratio": with_reading / rival,
    }


def cost_of_size(sizes: Sizes) -> dict[str, Any]:
    """Nanoseconds of processor time per tuple at both windows, measured in turns."""
    step = 10 * sizes.interval
    runs: dict[int, tuple[Pipeline, Feed, list[float]]] = {}
    for window in (sizes.small, sizes.large):
        filling = max(window, step)
        rows = 2 * filling + sizes.laps * step
        streams = {name: stream(rows, window, seed) for seed, name in enumerate("lr", 1)}
        runs[window] = join(window), Feed(streams), []
        lap(*runs[window][:2], 4 * filling, sizes.interval)
    for _ in range(sizes.laps):
        for pipeline, feed, costs in runs.values():
            taken = lap(pipeline, feed, 2 * step, sizes.interval)
            costs.append(taken.work / taken.tuples * 1e9)
    small, large = (median(costs) for _, _, costs in runs.values())
    return {
        "nanoseconds_per_tuple": {str(w): median(costs) for w, (_, _, costs) in runs.items()},
        "laps": {str(w): costs for w, (_, _, costs) in runs.items()},
        "growth": large / small,
    }


def run(sizes: Sizes) -> dict[str, Any]:
    scale = cost_of_size(sizes)
    small, large = scale["nanoseconds_per_tuple"].values()
    say(
        f"cost per tuple: {small:.0f} ns at windows of {sizes.small:,}, {large:.0f} ns at "
        f"{sizes.large:,}: {scale['growth']:.2f} times"
    )
    joined = against_spark(sizes)
    table(
        ["", "rows/s"],
        [
            ("Windrow, Arrow to Arrow", joined["windrow_rows_per_second"]),
            ("Windrow, Parquet to Arrow", joined["windrow_rows_per_second_with_reading"]),
            ("Spark, Parquet to noop", joined["spark_rows_per_second"]),
        ],
    )
    return {"sizes": asdict(sizes), "join": joined, "scale": scale, "ratio": joined["ratio"]}


def main(argv: Sequence[str] | None = None) -> None:
    quick = quick_asked("join_embedded", __doc__ or "", argv)
    results = run(QUICK if quick else Sizes())
    if not quick:
        save("join_embedded", results)
    finish(results["ratio"])


if __name__ == "__main__":
    main()
