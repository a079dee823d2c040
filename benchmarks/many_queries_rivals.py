"""Many windowed aggregates in Spark's own Structured Streaming, three ways.

apart      a streaming query for each
exploded   one streaming query: rows times the queries that want them times the windows that they
           are in, grouped by query, end of window and key
panes      one streaming query with two stateful steps: sums of ten seconds per key and value of x,
           which are multiplied in the same way then; far fewer rows are multiplied

Queries are numbers until their answers are known: what is grouped, sent and kept is shorter than it
would be with their names and aggregates. Answers go into a table of Parquet files by Spark's own
file sink, which takes less time than a ``foreachBatch`` that appends to one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming.query import StreamingQuery

from benchmarks.many_queries import PANE, PARTITIONS, SCHEMA, Query
from benchmarks.spark_rival import stream_of_files

OWN = {
    "COUNT(*)": f.count,
    "SUM(v)": f.sum,
    "MIN(v)": f.min,
    "MAX(v)": f.max,
    "AVG(v)": f.avg,
}
SETTINGS = {
    # On two cores the collector that runs beside the program takes processor time from it.
    "spark.driver.extraJavaOptions": ("-XX:+UseSerialGC -Djdk.lang.Process.launchMechanism=VFORK"),
    # Half as many files, each of which Hadoop starts a process for: none of checksums.
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    **PARTITIONS,
}
"""What makes these rivals faster than the settings that rivals have in general."""
WATERMARK = "spark.watermarkDelayMs"
"""The metadata by which Spark knows a column of event time, in milliseconds."""


def frames(
    session: SparkSession, directory: Path, way: str, asked: Sequence[Query]
) -> list[DataFrame]:
    """The streaming queries of a way, each with ``query``, ``instant``, ``k`` and ``value``."""
    rows = stream_of_files(session, directory, SCHEMA)
    if way == "apart":
        return [alone(stream_of_files(session, directory, SCHEMA), query) for query in asked]
    return [exploded(session, rows, asked) if way == "exploded" else paned(session, rows, asked)]


def alone(rows: DataFrame, query: Query) -> DataFrame:
    window = f.window("ts", f"{query.length} seconds", f"{query.slide} seconds")
    wanted = rows.withWatermark("ts", "0 seconds").where(f.col("x").between(query.low, query.high))
    value = OWN[query.aggregate]("v").cast("double").alias("value")
    found = wanted.groupBy(window.alias("w"), "k").agg(value)
    return found.select(
        f.lit(query.name).alias("query"), f.col("w.end").alias("instant"), "k", "value"
    )


def exploded(session: SparkSession, rows: DataFrame, asked: Sequence[Query]) -> DataFrame:
    second = f.floor(f.col("ts").cast("double")).cast("bigint") + 1
    wide = multiplied(session, rows, asked, second)
    longest = max(query.length for query in asked)
    ends = wide.withColumn("instant", f.timestamp_seconds("end"))
    ends = ends.withWatermark("instant", f"{longest} seconds")
    sums = ends.groupBy("number", "instant", "k").agg(*partial(f.lit(1), "v", "v", "v"))
    return answered(sums, asked)


def paned(session: SparkSession, rows: DataFrame, asked: Sequence[Query]) -> DataFrame:
    pane = f.window("ts", f"{PANE} seconds")
    panes = rows.withWatermark("ts", "0 seconds").groupBy(pane.alias("p"), "k", "x")
    sums = panes.agg(*partial(f.lit(1), "v", "v", "v"))
    last = f.col("p.end").cast("double").cast("bigint")
    wide = multiplied(session, sums, asked, last)
    ends = wide.withColumn(
        "instant", f.timestamp_seconds("end").alias("instant", metadata={WATERMARK: 0})
    )
    whole = ends.groupBy("number", "instant", "k").agg(*partial(f.col("n"), "t", "lo", "hi"))
    return answered(whole, asked)


def partial(count: Column, total: str, least: str, greatest: str) -> list[Column]:
    return [
        f.sum(count).alias("n"),
        f.sum(total).alias("t"),
        f.min(least).alias("lo"),
        f.max(greatest).alias("hi"),
    ]


def answered(sums: DataFrame, asked: Sequence[Query]) -> DataFrame:
    """The names of queries, and the value of each one's own aggregate."""
    kind = _by_number(query.aggregate for query in asked)
    named = sums.withColumn("query", _by_number(query.name for query in asked))
    return named.select("query", "instant", "k", value_of(kind).alias("value"))


def _by_number(texts: Iterable[str]) -> Column:
    return f.element_at(f.array(*map(f.lit, texts)), f.col("number") + 1)


def value_of(kind: Column) -> Column:
    chosen = f.when(kind == "COUNT(*)", f.col("n").cast("double"))
    chosen = chosen.when(kind == "SUM(v)", f.col("t").cast("double"))
    chosen = chosen.when(kind == "MIN(v)", f.col("lo").cast("double"))
    chosen = chosen.when(kind == "MAX(v)", f.col("hi").cast("double"))
    return chosen.otherwise(f.col("t") / f.col("n"))


def multiplied(
    session: SparkSession, rows: DataFrame, asked: Sequence[Query], last: Column
) -> DataFrame:
    """Rows for each query that wants them and each window that they are in, by its ``end``; what
    a row stands for is over at the second ``last``."""
    kinds = [
        (number, query.length, query.slide, x)
        for number, query in enumerate(asked)
        for x in range(query.low, query.high + 1)
    ]
    wanted = session.createDataFrame(kinds, "number int, length bigint, slide bigint, x bigint")
    joined = rows.join(f.broadcast(wanted), "x")
    first = f.ceil(last / f.col("slide")) * f.col("slide")
    ends = f.sequence(first, first + f.col("length") - f.col("slide"), f.col("slide"))
    return joined.withColumn("end", f.explode(ends))


def start(
    session: SparkSession, directory: Path, way: str, asked: Sequence[Query], *, to_the_end: bool
) -> list[StreamingQuery]:
    """The streaming queries of a way over the files of ``in``, each with a table of its answers
    below ``out``; they end with the last file that is there, or go on."""
    running = []
    for number, frame in enumerate(frames(session, directory / "in", way, asked)):
        writer = frame.writeStream.outputMode("append").format("parquet")
        writer = writer.option("path", str(directory / "out" / str(number)))
        place = directory / "checkpoint" / str(number)
        writer = writer.option("checkpointLocation", str(place))
        running.append((writer.trigger(availableNow=True) if to_the_end else writer).start())
    return running


def answers(
    session: SparkSession, directory: Path, way: str, asked: Sequence[Query]
) -> dict[tuple[str, int, int], float]:
    """By query, instant in microseconds and key, over all files that are there, read from what has
    been delivered."""
    found: dict[tuple[str, int, int], float] = {}
    for number, query in enumerate(start(session, directory, way, asked, to_the_end=True)):
        query.awaitTermination()
        table = session.read.parquet(str(directory / "out" / str(number)))
        for row in table.withColumn("at", f.unix_micros("instant")).collect():
            found[row["query"], row["at"], row["k"]] = row["value"]
    return found
