"""Spark's own streaming operators as a rival, with the settings that make them fastest here.

As many shuffle partitions as cores, the state store in memory (HDFS-backed; RocksDB is slower
for state of this size), a checkpoint manager that renames instead of copying, and memory to
spare. What a round took is read from the query's own progress reports: planning, reading,
running and committing of each micro-batch, not the time between two of them.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from windrow.spark.run.java import ensure_java

ensure_java()  # before pyspark looks for one
from pyspark.sql import DataFrame, SparkSession  # noqa: E402

STREAMING = "org.apache.spark.sql.execution.streaming"
SETTINGS = {
    "spark.driver.memory": "6g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.session.timeZone": "UTC",
    "spark.python.unix.domain.socket.enabled": "true",  # of use to Python workers, which are ours
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.streaming.stateStore.providerClass": (
        f"{STREAMING}.state.HDFSBackedStateStoreProvider"
    ),
    "spark.sql.streaming.checkpointFileManagerClass": (
        f"{STREAMING}.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    # Without it, one more micro-batch without data follows each one that moved the watermark.
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
}


@contextmanager
def rival_session(**settings: str) -> Iterator[SparkSession]:
    """A session on two cores that is gone afterwards, with everything that it wrote."""
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    warehouse = tempfile.mkdtemp(prefix="windrow-bench-")
    builder = SparkSession.builder.master("local[2]").appName("rival")
    for name, value in {**SETTINGS, "spark.sql.warehouse.dir": warehouse, **settings}.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    try:
        yield session
    finally:
        session.stop()
        shutil.rmtree(warehouse, ignore_errors=True)


@dataclass(frozen=True)
class MicroBatch:
    """One micro-batch as Spark reports it."""

    rows: int
    seconds: float


def stream_of_files(session: SparkSession, directory: Path, schema: str) -> DataFrame:
    """The Parquet files of a directory in order, one per micro-batch."""
    reader = session.readStream.schema(schema).option("maxFilesPerTrigger", 1)
    return reader.parquet(str(directory))


def run_to_the_end(
    frame: DataFrame,
    checkpoint: Path,
    collect: Callable[[DataFrame, int], None] | None = None,
    mode: str = "append",
) -> list[MicroBatch]:
    """Run over all files there are; results go nowhere, or to ``collect``."""
    writer = frame.writeStream.outputMode(mode).option("checkpointLocation", str(checkpoint))
    writer = writer.trigger(availableNow=True)
    writer = writer.foreachBatch(collect) if collect else writer.format("noop")
    query: Any = writer.start()
    query.awaitTermination()
    return [
        MicroBatch(int(p["numInputRows"]), p["durationMs"]["triggerExecution"] / 1000)
        for p in query.recentProgress
        if int(p["numInputRows"])
    ]
