"""Many windowed aggregates in Spark's own Structured Streaming, three ways.

apart      a streaming query for each
exploded   one streaming query: rows times the queries that want them times the windows that they
           are in, grouped by query, end of window and key
panes      one streaming query with two stateful steps: sums of ten seconds per key and value of x,
           which are multiplied in the same way then; far fewer rows are multiplied
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from benchmarks.many_queries import PANE, SCHEMA, Query
from benchmarks.spark_rival import stream_of_files

OWN = {
    "COUNT(*)": f.count,
    "SUM(v)": f.sum,
    "MIN(v)": f.min,
    "MAX(v)": f.max,
    "AVG(v)": f.avg,
}
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
    sums = ends.groupBy("query", "aggregate", "instant", "k").agg(*partial(f.lit(1), "v", "v", "v"))
    return sums.select("query", "instant", "k", value_of().alias("value"))


def paned(session: SparkSession, rows: DataFrame, asked: Sequence[Query]) -> DataFrame:
    pane = f.window("ts", f"{PANE} seconds")
    panes = rows.withWatermark("ts", "0 seconds").groupBy(pane.alias("p"), "k", "x")
    sums = panes.agg(*partial(f.lit(1), "v", "v", "v"))
    last = f.col("p.end").cast("double").cast("bigint")
    wide = multiplied(session, sums, asked, last)
    ends = wide.withColumn(
        "instant", f.timestamp_seconds("end").alias("instant", metadata={WATERMARK: 0})
    )
    whole = ends.groupBy("query", "aggregate", "instant", "k").agg(
        *partial(f.col("n"), "t", "lo", "hi")
    )
    return whole.select("query", "instant", "k", value_of().alias("value"))


def partial(count: Column, total: str, least: str, greatest: str) -> list[Column]:
    return [
        f.sum(count).alias("n"),
        f.sum(total).alias("t"),
        f.min(least).alias("lo"),
        f.max(greatest).alias("hi"),
    ]


def value_of() -> Column:
    """The value of each query's own aggregate."""
    kind = f.col("aggregate")
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
        (query.name, query.aggregate, query.length, query.slide, x)
        for query in asked
        for x in range(query.low, query.high + 1)
    ]
    wanted = session.createDataFrame(
        kinds, "query string, aggregate string, length bigint, slide bigint, x bigint"
    )
    joined = rows.join(f.broadcast(wanted), "x")
    first = f.ceil(last / f.col("slide")) * f.col("slide")
    ends = f.sequence(first, first + f.col("length") - f.col("slide"), f.col("slide"))
    return joined.withColumn("end", f.explode(ends))


def answers(
    session: SparkSession, directory: Path, way: str, asked: Sequence[Query]
) -> dict[tuple[str, int, int], float]:
    """By query, instant in microseconds and key, over all files that are there."""
    found: dict[tuple[str, int, int], float] = {}

    def collect(frame: DataFrame, _: int) -> None:
        for row in frame.withColumn("at", f.unix_micros("instant")).collect():
            found[row["query"], row["at"], row["k"]] = row["value"]

    for number, frame in enumerate(frames(session, directory / "in", way, asked)):
        writer = frame.writeStream.outputMode("append").foreachBatch(collect)
        place = directory / way / str(number)
        writer = writer.option("checkpointLocation", str(place)).trigger(availableNow=True)
        query: Any = writer.start()
        query.awaitTermination()
    return found
