# ruff: noqa: N802 - the names and arguments of methods are Spark's
"""The format ``windrow-changes``: an offset is the number of a micro-batch of the query.

Spark starts three Python processes for a job over it: to plan it, to ask for offsets, and to read.
Each imports only what it needs, since most of what they take on a busy machine is imports.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from windrow.core.errors import InputError, StateError
from windrow.result_files.commits import Compacted, last_committed
from windrow.result_files.identity import Identity
from windrow.spark.frozen_imports import freeze_imports

FORMAT = "windrow-changes"
Offset = dict[str, Any]
"""The last micro-batch that was read, and the run whose it is, which older ones do not have."""


def known_identity(directory: Path) -> Identity:
    """What the results in a directory are; InputError if there are none."""
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
        compacted = Compacted.read(Path(self._directory))
        known = compacted is not None and compacted.run == self._run
        return self._offset(compacted.forgotten if compacted is not None and known else -1)

    def _offset(self, batch: int) -> Offset:
        return {"batch": batch, "run": self._run}

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:
        last = self._last(start)
        return self._offset(last if self._end is None else self._end)

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        self._end = self._last(self.initialOffset())

    def _last(self, start: Offset) -> int:
        """The last micro-batch; StateError if the results are not those that were read before."""
        run = known_identity(Path(self._directory)).run
        last = last_committed(Path(self._directory), -1)
        if run == self._run == start.get("run", run) and last >= start["batch"]:
            return last
        raise StateError(
            where=self._directory,
            expected="the results that the stream began with",
            found="those of another run, which has replaced them, or of one that was rewound",
            remedy="start this job again with a new checkpoint",
        )

    def partitions(self, start: Offset, end: Offset) -> Sequence[Batches]:
        self._last(end)
        return [Batches(start["batch"], end["batch"])]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        from windrow.result_files.reader import Reading  # noqa: PLC0415 - see the module
        from windrow.spark.archive.spark_types import arrow_schema, cast  # noqa: PLC0415

        freeze_imports()
        assert isinstance(partition, Batches)
        directory, target = Path(self._directory), arrow_schema(self._schema)
        known = known_identity(directory)
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
        self._known = known_identity(Path(self._directory))

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> StructType:
        from windrow.spark.archive.spark_types import spark_schema  # noqa: PLC0415

        return spark_schema(self._known.schema)

    def streamReader(self, schema: StructType) -> ChangesReader:
        return ChangesReader(self._directory, self._known.run, schema)
