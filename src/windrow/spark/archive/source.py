"""The format ``windrow``: entries of an archive as a DataFrame.

    spark.read.format("windrow").option("since", "2026-03-01").option("keys", '["a"]').load(path)

Options: ``now``, ``since`` and ``until`` (days, as numbers or dates), ``keys`` (a JSON list; a
composite key is a list, and may be cut short) or ``least`` and ``greatest``, ``columns`` (names
with commas between), ``version``. The version and the moment are those of ``load``. What a query's
conditions say of keys and days counts like options (``pushdown``), and the columns of a scan are
those that the query needs. Keys and days are looked up in the manifest and the directories at the
driver, so a task is only started for rows that are wanted; what it reads goes to Spark as record
batches.

Spark calls the parts of a source in processes of its own, so the lease on the version is one of
theirs and ends with them, a minute after they were last used at the earliest. For a query that may
wait longer than that before it starts, ``windrow.spark.archive.read`` has a lease that lasts.

Spark tells a source in Python nothing of the columns that a query needs, and keeps what came of
its filters with the table: a second query over the same DataFrame, with another filter or with
none, would be given the rows of the first. ``Format.java`` wraps Spark's classes so that each scan
has a source of its own, which is told both, and has Spark's own reader scan whole Parquet runs. It
is compiled by the compiler that Spark generates code with, when the format is registered, against
the Spark that is there. Only the driver needs it: the scans that it makes are Spark's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamWriter,
    DataSourceWriter,
    Filter,
    InputPartition,
)
from pyspark.sql.types import StructType

from windrow.archive.errors import ArchiveError, DamagedError
from windrow.archive.format.layout import Layout
from windrow.archive.runs.entries import positions
from windrow.archive.runs.run import Run
from windrow.archive.versions.versioned_index import disk_at
from windrow.archive.versions.versions import Versions
from windrow.core.thresholds import Threshold
from windrow.spark.active_session import active
from windrow.spark.archive.options import (
    Rows,
    Wish,
    chosen_columns,
    in_both,
    key_of,
    root_of,
    rows_of,
    version_of,
)
from windrow.spark.archive.pins import Pin, Source, pin, whole_runs, whole_schema
from windrow.spark.archive.pushdown import Where
from windrow.spark.archive.spark_types import arrow_schema, cast, spark_schema
from windrow.spark.frozen_imports import freeze_imports
from windrow.spark.java_classes import provide_class

FORMAT, SOURCE, CLASS = "windrow", "windrow-archive", "windrow.Format"
"""The format's name, that of its part in Python, and of its part in the virtual machine."""
SERVICE = "META-INF/services/org.apache.spark.sql.sources.DataSourceRegister"
"""Where Java looks for the classes that are formats."""
SLICE = Threshold(96 << 20)
"""Bytes of a run that a task reads, about; a run of Parquet counts three times."""
AT_ONCE = Threshold(65_536, least=1)
"""Rows of a record batch at most."""
HELD = Threshold(64, least=1)
"""Leases that a process of Spark's own keeps; a busy one would otherwise keep all for ever."""
_held: list[Pin] = []


def provide(spark: SparkSession) -> None:
    """Have the virtual machine of a session know the class; once is enough for all of them."""
    provide_class(spark, CLASS, __package__, {SERVICE: f"{CLASS}\n"})


def register(spark: SparkSession) -> None:
    """Make the format known to a session."""
    provide(spark)
    with active(spark):
        spark.dataSource.register(ArchiveSource)


@dataclass
class Slice(InputPartition):
    """Rows of a run, read by one task."""

    source: Source
    rows: Rows


@dataclass
class ArchiveReader(DataSourceReader):
    """See the module. ``read`` runs in tasks, the rest at the driver."""

    root: str
    wish: Wish
    schema: StructType
    layout: Layout
    key: Any = None
    where: Where = field(default_factory=Where)

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802 - Spark's name
        """Take in the conditions of a query; those returned are of no use here."""
        self.where = Where.of(filters, self.layout, self.schema)
        used = {id(condition) for condition in self.where.used}
        return [condition for condition in filters if id(condition) not in used]

    def partitions(self) -> Sequence[InputPartition]:
        now = _latest(self.wish.now, self.where.alive)
        held = pin(self.root, self.wish.version, now)
        _keep(held)
        chosen_columns(held.manifest, tuple(self.schema.names))  # somebody may have given a schema
        since = _latest(self.wish.since, self.where.since)
        until = _earliest(self.wish.until, self.where.until)
        return [
            Slice(source, part)
            for source in held.sources(since, until)
            for part in _slices(source, self._rows(source))
        ]

    def _rows(self, source: Source) -> Rows:
        directory = Run(disk_at(self.root), self.layout, source.run).directory
        total = source.run.rows
        return in_both(rows_of(directory, self.key, total), self.where.rows(directory, total))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        freeze_imports()
        if not isinstance(partition, Slice):  # Spark's way of saying that there are none
            return
        try:
            run = Run(disk_at(self.root), self.layout, partition.source.run)
            entries = run.entries
        except DamagedError as error:
            raise self._vacuumed() or error from error
        names = self.schema.fieldNames()
        given = self.layout.reader_schema({})
        schema, target = pa.schema([given.field(n) for n in names]), arrow_schema(self.schema)
        only = partition.source.only
        if len(partition.rows) > 1:
            for batch in entries.take(positions(partition.rows), schema, only):
                for start in range(0, batch.num_rows, AT_ONCE.value):
                    yield cast(batch.slice(start, AT_ONCE.value), target)
            return
        for start, stop in partition.rows:
            for low in range(start, stop, AT_ONCE.value):
                for batch in entries.rows(low, min(low + AT_ONCE.value, stop), schema, only):
                    yield cast(batch, target)

    def _vacuumed(self) -> ArchiveError | None:
        """What to say of a missing file if its version is gone too."""
        if self.wish.version in Versions(disk_at(self.root)).numbers():
            return None
        return ArchiveError(
            where=self.root,
            expected=f"version {self.wish.version}, which this query reads",
            found="vacuum removed it before a task read it",
            remedy="load it again, or read it with windrow.spark.archive.read, which holds it",
        )


class ArchiveSource(DataSource):
    """What the format ``windrow`` has in Python."""

    def __init__(self, options: Any) -> None:
        super().__init__(options)
        self.root = root_of(options)
        held = pin(self.root, version_of(options))
        _keep(held)
        self.wish = Wish.of(options, held.manifest)
        if self.wish.now is None:  # "now" is that of this moment, whatever days come later
            self.wish = replace(self.wish, now=held.now)
        else:
            held = pin(self.root, self.wish.version, self.wish.now)
            _keep(held)
        self.layout = held.manifest.layout
        self.key = key_of(options, self.layout)
        columns = chosen_columns(held.manifest, self.wish.columns)
        given = self.layout.reader_schema({})
        self._schema = spark_schema(given.field(name) for name in columns)
        runs = whole_runs(self.root, held, self.wish) if self.key is None else []
        if runs:
            self._schema[0].metadata = {
                "windrow": {
                    "schema": whole_schema(held, self.wish).json(),
                    "runs": [{"files": list(r.files), "where": r.where} for r in runs],
                }
            }

    @classmethod
    def name(cls) -> str:
        return SOURCE

    def schema(self) -> StructType:
        """With the Parquet runs of a whole scan in the metadata of a column, for the JVM."""
        return self._schema

    def reader(self, schema: StructType) -> ArchiveReader:
        return ArchiveReader(self.root, self.wish, schema, self.layout, self.key)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        raise _only_read("windrow.spark.archive.append(frame, path, day)")

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802
        raise _only_read("windrow.spark.archive.write_stream(frame, path, timestamp=...)")


def _only_read(remedy: str) -> ArchiveError:
    """The writer's lease has to be one of the driver's own process."""
    return ArchiveError(
        where="format windrow", expected="to be read", found="a DataFrame to write", remedy=remedy
    )


def _keep(held: Pin) -> None:
    _held.append(held)
    while len(_held) > HELD.value:
        _held.pop(0).close()


def _latest(one: int | None, other: int | None) -> int | None:
    return max((day for day in (one, other) if day is not None), default=None)


def _earliest(one: int | None, other: int | None) -> int | None:
    return min((day for day in (one, other) if day is not None), default=None)


def _slices(source: Source, rows: Rows) -> Iterator[Rows]:
    """Rows of a run in parts for tasks: a long range is cut, short ones stay together."""
    run = source.run
    size = run.entries.size * (3 if run.format == "parquet" else 1)
    step = AT_ONCE.value
    most = max(step, run.rows * SLICE.value // max(size, 1) // step * step)
    together: Rows = []
    for start, stop in rows:
        if stop - start <= most:
            together.append((start, stop))
            if sum(b - a for a, b in together) >= most:
                yield together
                together = []
            continue
        for low in range(start, stop, most):
            yield [(low, min(low + most, stop))]
    if together:
        yield together
