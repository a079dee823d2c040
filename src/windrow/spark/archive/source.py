"""The format ``windrow``: entries of an archive as a DataFrame.

    spark.read.format("windrow").option("since", "2026-03-01").option("keys", '["a"]').load(path)

Options: ``now``, ``since`` and ``until`` (days, as numbers or dates), ``keys`` (a JSON list; a
composite key is a list, and may be cut short) or ``least`` and ``greatest``, ``columns`` (names
with commas between), ``version``. The version and the moment are those of ``load``. Keys and days
are looked up in the manifest and the directories at the driver, so a task is only started for rows
that are wanted; what it reads goes to Spark as record batches. Spark tells a Python source nothing
of the columns that it needs, and nothing of filters that could be relied upon (see ``keys``).

Spark calls the parts of a source in processes of its own, so the lease on the version is one of
theirs and ends with them, a minute after they were last used at the earliest. For a query that may
wait longer than that before it starts, ``windrow.spark.archive.read`` has a lease that lasts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamWriter,
    DataSourceWriter,
    InputPartition,
)
from pyspark.sql.types import StructType

from windrow.archive.errors import ArchiveError, DamagedError
from windrow.archive.files import Disk
from windrow.archive.layout import Layout
from windrow.archive.runs.open import Run
from windrow.archive.versions import Versions
from windrow.spark.activity import active
from windrow.spark.archive.keys import Rows, key_of, rows_of
from windrow.spark.archive.options import Wish, chosen_columns, root_of, version_of
from windrow.spark.archive.pins import Pin, Source, pin
from windrow.spark.archive.types import arrow_schema, cast, spark_schema

FORMAT = "windrow"
SLICE = 96 << 20
"""Bytes of a run that a task reads, about; a run of Parquet counts three times."""
AT_ONCE = 65_536
"""Rows of a record batch at most."""
HELD = 64
"""Leases that a process of Spark's own keeps; a busy one would otherwise keep all for ever."""
_held: list[Pin] = []


def register(spark: SparkSession) -> None:
    """Make the format known to a session."""
    with active(spark):
        spark.dataSource.register(ArchiveSource)


@dataclass
class Slice(InputPartition):
    """Rows of a run, read by one task."""

    layout: Layout
    source: Source
    rows: Rows


@dataclass
class ArchiveReader(DataSourceReader):
    """See the module. ``read`` runs in tasks, the rest at the driver."""

    root: str
    wish: Wish
    schema: StructType
    key: Any = None

    def partitions(self) -> Sequence[InputPartition]:
        held = pin(self.root, self.wish.version, self.wish.now)
        _keep(held)
        chosen_columns(held.manifest, tuple(self.schema.names))  # somebody may have given a schema
        layout = held.manifest.layout
        found: list[InputPartition] = []
        for source in held.sources(self.wish.since, self.wish.until):
            rows = self._rows(layout, source)
            found += [Slice(layout, source, part) for part in _slices(source, rows)]
        return found

    def _rows(self, layout: Layout, source: Source) -> Rows:
        run = Run(Disk(Path(self.root)), layout, source.run)
        return rows_of(run.directory, self.key, source.run.rows)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if not isinstance(partition, Slice):  # Spark's way of saying that there are none
            return
        try:
            run = Run(Disk(Path(self.root)), partition.layout, partition.source.run)
            entries = run.entries
        except DamagedError as error:
            raise self._vacuumed() or error from error
        names = self.schema.fieldNames()
        given = partition.layout.given({})
        schema, target = pa.schema([given.field(n) for n in names]), arrow_schema(self.schema)
        only = partition.source.only
        if len(partition.rows) > 1:
            for batch in entries.gather(partition.rows, schema, only):
                for start in range(0, batch.num_rows, AT_ONCE):
                    yield cast(batch.slice(start, AT_ONCE), target)
            return
        for start, stop in partition.rows:
            for low in range(start, stop, AT_ONCE):
                for batch in entries.rows(low, min(low + AT_ONCE, stop), schema, only):
                    yield cast(batch, target)

    def _vacuumed(self) -> ArchiveError | None:
        """What to say of a missing file if its version is gone too."""
        if self.wish.version in Versions(Disk(Path(self.root))).numbers():
            return None
        return ArchiveError(
            where=self.root,
            expected=f"version {self.wish.version}, which this query reads",
            found="that vacuum removed it before a task came to it",
            remedy="load it again, or read it with windrow.spark.archive.read, which holds it",
        )


class ArchiveSource(DataSource):
    """What Spark knows as the format ``windrow``."""

    def __init__(self, options: Any) -> None:
        super().__init__(options)
        self.root = root_of(options)
        held = pin(self.root, version_of(options))
        _keep(held)
        self.wish = Wish.of(options, held.manifest)
        if self.wish.now is None:  # "now" is that of this moment, whatever days come later
            self.wish = replace(self.wish, now=held.now)
        self.key = key_of(options, held.manifest.layout)
        columns = chosen_columns(held.manifest, self.wish.columns)
        given = held.manifest.layout.given({})
        self._schema = spark_schema(given.field(name) for name in columns)

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> StructType:
        return self._schema

    def reader(self, schema: StructType) -> ArchiveReader:
        return ArchiveReader(self.root, self.wish, schema, self.key)

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
    while len(_held) > HELD:
        _held.pop(0).close()


def _slices(source: Source, rows: Rows) -> Iterator[Rows]:
    """Rows of a run in parts for tasks: a long range is cut, short ones stay together."""
    run = source.run
    size = run.entries.size * (3 if run.format == "parquet" else 1)
    most = max(AT_ONCE, run.rows * SLICE // max(size, 1) // AT_ONCE * AT_ONCE)
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
