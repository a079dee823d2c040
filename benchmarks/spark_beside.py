"""Windrow's stages beside Spark's own operators: the same files, one machine, runs in turns.

Both read the same Parquet files, one of each stream per micro-batch, in one Java virtual machine on
two cores, and write what they find as Parquet. A first file fills the windows; the next ones warm
up; those after are measured, from the look for files to the note that a trigger is over. Runs
alternate, after one of each that is thrown away, and each must find the same rows. Spark has its
state in memory (HDFS-backed), as many partitions as cores, and a watermark that lets it forget what
is over.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from benchmarks.report import median
from windrow.plan.catalog import Catalog
from windrow.plan.program import compile_script
from windrow.plan.strategy import Strategy
from windrow.spark.run.session import configure
from windrow.spark.run.spark_job import Feed
from windrow.spark.run.spark_pipeline import Pipeline
from windrow.spark.run.spark_runtime import OnSpark

MILLISECOND, HALF = 1_000, 500
"""Rows lie between milliseconds: who counts an end of a window in does not matter."""
SCHEMA = "ts timestamp, k bigint, v bigint"


@dataclass(frozen=True)
class Size:
    """``rows`` per stream and trigger, over windows of ``window`` rows; ``rounds`` of each."""

    rows: int
    window: int = 200_000
    warm: int = 2
    measured: int = 5
    rounds: int = 3


@dataclass(frozen=True)
class Contest:
    """A query of ours over streams, and the same of Spark's; ``columns`` are those compared.

    ``keys`` says how many values ``k`` has in a window of a size.
    """

    query: Callable[[Size], str]
    native: Callable[[Mapping[str, DataFrame], Size], DataFrame] | None
    columns: tuple[str, ...]
    streams: tuple[str, ...] = ("s",)
    keys: Callable[[Size], int] = lambda size: size.window


def write_files(directory: Path, size: Size, contest: Contest) -> None:
    """A row per stream and millisecond."""
    rng = np.random.default_rng(7)
    for name in contest.streams:
        (directory / name).mkdir(parents=True)
        first = 1_000  # Spark takes what lies at its first watermark, 1970, for late
        for number in range(1 + size.warm + size.measured):
            count = size.rows if number else size.window
            at = np.arange(first, first + count)
            columns = {
                "ts": pa.array(at * MILLISECOND + HALF, pa.timestamp("us")),
                "k": rng.integers(0, contest.keys(size), count),
                "v": at % 1_000_003,
            }
            pq.write_table(pa.table(columns), directory / name / f"{number:03d}.parquet")
            first += count


def ours(
    session: SparkSession, contest: Contest, directory: Path, size: Size, place: Path
) -> list[float]:
    """The seconds of each micro-batch."""
    text = "".join(
        f"CREATE STREAM {name} (ts TIMESTAMP, k BIGINT, v BIGINT) FROM '{directory / name}' "
        "FORMAT parquet;"
        for name in contest.streams
    )
    text += f"CREATE QUERY q AS {contest.query(size)} INTO '{place / 'out'}' FORMAT parquet;"
    catalog = compile_script(text).catalog
    (pipeline,) = pipelines(session, catalog, place / "checkpoint", Feed(once=True, files=1))
    running = pipeline.start()
    running.wait()
    return running.durations


def pipelines(
    session: SparkSession, catalog: Catalog, checkpoint: Path, feed: Feed, *, apart: bool = False
) -> list[Pipeline]:
    """The queries of a script, ready to start: together, or ``apart``, each with a checkpoint of
    its own, since those of one runtime join each other."""
    ours = configure(session)
    found: list[Pipeline] = []
    parts = [[query] for query in catalog.queries] if apart else [catalog.queries]
    for number, queries in enumerate(parts):
        place = checkpoint.with_name(f"{checkpoint.name}-{number}")
        runtime = OnSpark(lambda: ours, place, Strategy.UPA, feed)
        runtime.start(runtime.jobs(queries, (), catalog), catalog)
        found += runtime.pipelines
    assert not apart or len(found) == len(parts)
    return found


def spark(
    session: SparkSession, contest: Contest, directory: Path, size: Size, place: Path
) -> list[float]:
    sides = {}
    for name in contest.streams:
        reader = session.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
        rows = reader.parquet(str(directory / name))
        sides[name] = rows.withWatermark("ts", "1 second")
    assert contest.native is not None
    writer = contest.native(sides, size).writeStream.format("parquet")
    writer = writer.option("path", str(place / "out"))
    writer = writer.option("checkpointLocation", str(place / "checkpoint"))
    query: Any = writer.outputMode("append").trigger(availableNow=True).start()
    query.awaitTermination()
    progress = [p for p in query.recentProgress if int(p["numInputRows"])]
    return [p["durationMs"]["triggerExecution"] / 1000 for p in progress]


WAYS = {"ours": ours, "spark": spark}


def found(place: Path, columns: Sequence[str]) -> pa.Table:
    """What a run has written, in one order."""
    files = sorted((place / "out").glob("*.parquet"))
    rows = pa.concat_tables(pq.read_table(file, columns=list(columns)) for file in files)
    return rows.take(pc.sort_indices(rows, [(name, "ascending") for name in columns]))


def compare(
    session: SparkSession,
    contest: Contest,
    size: Size,
    agree: Callable[[pa.Table, pa.Table], bool] = lambda ours, theirs: bool(ours.equals(theirs)),
) -> dict[str, Any]:
    """The median seconds of a micro-batch each way, over alternating runs."""
    directory = Path(tempfile.mkdtemp(prefix="windrow-benchmark-"))
    ways = list(WAYS) if contest.native is not None else ["ours"]
    laps: dict[str, list[float]] = {way: [] for way in ways}
    try:
        write_files(directory / "in", size, contest)
        for number in range(size.rounds + 1):
            answers = []
            for way in ways:
                place = directory / f"{way}-{number}"
                seconds = WAYS[way](session, contest, directory / "in", size, place)
                laps[way] += seconds[1 + size.warm :] if number else []
                answers.append(found(place, contest.columns))
                shutil.rmtree(place)
            if not agree(answers[0], answers[-1]):
                counts = [answer.num_rows for answer in answers]
                raise AssertionError(f"the ways differ: {ways} found {counts} rows")
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    return {**asdict(size), **{way: median(seconds) for way, seconds in laps.items()}}
