"""The changes of a query as a streaming DataFrame, for any other job on Spark.

    changes = windrow.spark.changes_stream(spark, "out/busy")  # or checkpoint=..., query="busy"
    changes.writeStream.foreachBatch(write_to_the_warehouse).start()

The query writes INTO files, embedded or on Spark, here or elsewhere; the results say themselves
what they are. Spark's checkpoint of the other job keeps how far it is, in micro-batches of the
query: every change comes once, in their order.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from windrow.core.errors import InputError
from windrow.core.paths import local_path
from windrow.plan.catalog import QueryDeclaration
from windrow.result_files.identity import QUERY
from windrow.spark.active_session import active
from windrow.spark.checkpoint.script_record import read_script
from windrow.spark.run.changes_source import FORMAT, ChangesSource, known_identity
from windrow.spark.run.session import name_interpreter
from windrow.spark.run.worker_check import python_error

if TYPE_CHECKING:
    from windrow.spark.run.spark_run import SparkRun


def changes_stream(
    spark: SparkSession,
    results: str | Path | None = None,
    *,
    checkpoint: str | Path | None = None,
    query: str | None = None,
) -> DataFrame:
    """The changes of a query, those that are there and those that come: see the module.

    Named are its results, or its name and the checkpoint of its run; of a table of several queries
    the name says which. Its columns are ``instant``, ``change`` (``+`` or ``-``) and those of the
    query. On one machine Python workers run this interpreter, if nobody has named another.
    """
    if results is None:
        results, query = _results_of(checkpoint, query)
    directory = local_path(results, "changes_stream").absolute()
    known = known_identity(directory)
    name_interpreter(spark)
    with active(spark):
        spark.dataSource.register(ChangesSource)
        try:
            frame = spark.readStream.format(FORMAT).option("path", str(directory)).load()
        except (Py4JJavaError, PySparkException) as error:
            raise python_error(spark.sparkContext.pythonExec, error) from error
    if query is None or not known.table:
        return frame
    return frame.where(frame[QUERY] == query).drop(QUERY)


def changes_of_member(spark: SparkSession, run: SparkRun, number: int) -> DataFrame:
    """The same of a query of a connection, which is started: only then are there results."""
    name, place = run.job.members[number].name, run.destination(number)
    if place is None:
        raise _without_files(name, "no INTO")
    run.start()
    return changes_stream(spark, place, query=name)


def _results_of(checkpoint: str | Path | None, query: str | None) -> tuple[Path, str]:
    """Where a query writes, as its checkpoint says, and its name as it was declared."""
    if checkpoint is None or query is None:
        raise InputError(
            where="changes_stream",
            expected="the directory of results, or checkpoint= and query=",
            found="neither",
        )
    known = read_script(local_path(checkpoint, "changes_stream"))
    declared = known.catalog.find(query)
    if not isinstance(declared, QueryDeclaration) or declared.into is None:
        raise _without_files(query, "no such query" if declared is None else "no INTO")
    return known.base / declared.into.path, declared.name  # the path may be absolute


def _without_files(query: str, found: str) -> InputError:
    return InputError(
        where=f"query {query}",
        expected="a query that writes INTO files",
        found=found,
        remedy="add INTO 'directory' FORMAT parquet to it",
    )
