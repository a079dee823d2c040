# ruff: noqa: N802 - the names and arguments of methods are Spark's
"""The changes of a query as a streaming DataFrame, for any other job on Spark.

    changes = windrow.spark.changes_stream(spark, "out/busy")  # or checkpoint=..., query="busy"
    changes.writeStream.foreachBatch(write_to_the_warehouse).start()

The query writes INTO files, embedded or on Spark, here or elsewhere; the results say themselves
what they are. An offset is the number of a micro-batch of the query, and Spark's checkpoint of the
other job keeps it: every change comes once, in the order of the query's micro-batches.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from windrow.core.errors import InputError, StateError
from windrow.core.paths import local_path
from windrow.plan.catalog import QueryDeclaration
from windrow.result_files.commits import last_committed
from windrow.result_files.identity import Identity
from windrow.result_files.reader import Reading, published_results
from windrow.spark.active_session import active
from windrow.spark.archive.spark_types import arrow_schema, cast, spark_schema
from windrow.spark.checkpoint.script_record import read_script
from windrow.spark.frozen_imports import freeze_imports
from windrow.spark.run.session import name_interpreter
from windrow.spark.run.worker_check import python_error

FORMAT = "windrow-changes"
Offset = dict[str, int]


def changes_stream(
    spark: SparkSession,
    results: str | Path | None = None,
    *,
    checkpoint: str | Path | None = None,
    query: str | None = None,
) -> DataFrame:
    """The changes of a query, those that are there and those that come: see the module.

    Named are its results, or its name and the checkpoint of its run. Its columns are ``instant``,
    ``change`` (``+`` or ``-``) and those of the query. On one machine Python workers run this
    interpreter, if nobody has named another.
    """
    if results is None:
        results = _results_of(checkpoint, query)
    directory = local_path(results, "changes_stream").absolute()
    _identity(directory)
    name_interpreter(spark)
    with active(spark):
        spark.dataSource.register(ChangesSource)
        try:
            return spark.readStream.format(FORMAT).option("path", str(directory)).load()
        except (Py4JJavaError, PySparkException) as error:
            raise python_error(spark.sparkContext.pythonExec, error) from error


def _results_of(checkpoint: str | Path | None, query: str | None) -> Path:
    """Where a query writes, as its checkpoint says."""
    if checkpoint is None or query is None:
        raise InputError(
            where="changes_stream",
            expected="the directory of results, or checkpoint= and query=",
            found="neither",
        )
    known = read_script(local_path(checkpoint, "changes_stream"))
    declared = known.catalog.find(query)
    if not isinstance(declared, QueryDeclaration) or declared.into is None:
        raise InputError(
            where=f"query {query}",
            expected="a query of the checkpoint that writes INTO files",
            found="no such query" if declared is None else "no INTO",
            remedy="add INTO 'directory' FORMAT parquet to it",
        )
    return known.base / declared.into.path  # which may be absolute


def _identity(directory: Path) -> Identity:
    known = Identity.read(directory)
    if known is None:
        raise InputError(
            where=str(directory),
            expected="the results of a query, a directory that is named after INTO",
            found="no results" if directory.is_dir() else "no such directory",
            remedy="start the query first; it makes the directory before its first result",
        )
    return known


@dataclass
class Batches(InputPartition):
    """Micro-batches of the query after one, up to another."""

    after: int
    upto: int


class ChangesReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """``run`` is the run of the query whose changes they are."""

    def __init__(self, directory: str, run: str, schema: StructType) -> None:
        self._directory, self._run, self._schema = directory, run, schema
        self._end: int | None = None

    def initialOffset(self) -> Offset:
        return {"batch": published_results(Path(self._directory)).forgotten_through}

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:
        return {"batch": self._last(start["batch"]) if self._end is None else self._end}

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        self._end = self._last(-1)

    def _last(self, after: int) -> int:
        if _identity(Path(self._directory)).run != self._run:
            raise StateError(
                where=self._directory,
                expected="the results that the stream began with",
                found="those of another run, which has replaced them",
                remedy="start this job again with a new checkpoint",
            )
        return last_committed(Path(self._directory), after)

    def partitions(self, start: Offset, end: Offset) -> Sequence[Batches]:
        return [Batches(start["batch"], end["batch"])]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        freeze_imports()
        assert isinstance(partition, Batches)
        directory, target = Path(self._directory), arrow_schema(self._schema)
        known = _identity(directory)
        reading = Reading(directory, known.format, known.schema)
        for table in reading.tables(partition.after, partition.upto):
            for batch in table.to_batches():
                yield cast(batch, target)

    def commit(self, end: Offset) -> None:
        """Results stay: others may read them too."""


class ChangesSource(DataSource):
    """The format ``windrow-changes``."""

    def __init__(self, options: Any) -> None:
        super().__init__(options)
        self._directory = str(options["path"])
        self._known = _identity(Path(self._directory))

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> StructType:
        return spark_schema(self._known.schema)

    def streamReader(self, schema: StructType) -> ChangesReader:
        return ChangesReader(self._directory, self._known.run, schema)
