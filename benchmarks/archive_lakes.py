"""Days as Parquet files in folders, and as a Delta table: what data lakes have.

Each day is sorted by key before it is written, so that statistics leave one or two row groups of a
file to be read; metadata is cached and statements are prepared.
"""

from __future__ import annotations

import importlib
import os
import shutil
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.archive_days import KEY
from benchmarks.archive_stores import BY_KEY, TOTALS, PythonRows, Rows, Totals, totals_of

DEFAULT_GROUP, SMALL_GROUP = 122_880, 8_192
"""Rows of a row group: what DuckDB writes if nothing is said, and what suits look-ups."""


class ParquetByDay(Rows):
    """A file for each day, sorted by key, written by pyarrow and read by DuckDB."""

    def __init__(self, path: Path, window: int, group: int) -> None:
        self.name = f"Parquet by day, groups of {group:,}"
        self.path, self.share, self._window, self._group = path, 0.1, window, group
        self._connection: duckdb.DuckDBPyConnection | None = None

    def load(self, day: int, records: pa.Table) -> None:
        folder = self.path / f"day={day}"
        folder.mkdir(parents=True)
        with (folder / "records.parquet").open("wb") as file:
            write_plain(records, file, self._group)
            os.fsync(file.fileno())

    def loaded(self, last: int) -> None: ...

    def advance(self, day: int, records: pa.Table) -> None:
        self.load(day, records)
        shutil.rmtree(self.path / f"day={day - self._window}")

    def open(self) -> None:
        self._connection = duckdb.connect()
        self._connection.execute("SET parquet_metadata_cache = true")
        self._source = f"read_parquet('{self.path}/*/*.parquet', hive_partitioning = true)"
        self._connection.execute(f"PREPARE probe AS {BY_KEY.format(self._source)} $1")

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    @property
    def connection(self) -> duckdb.DuckDBPyConnection:
        assert self._connection is not None
        return self._connection

    def rows(self, key: str) -> PythonRows:
        return self.connection.execute(f"EXECUTE probe('{key}')").fetchall()

    def arrow(self, key: str) -> pa.Table:
        return self.connection.sql(f"EXECUTE probe('{key}')").to_arrow_table()

    def use_threads(self, count: int) -> None:
        self.connection.execute(f"SET threads = {count}")

    def totals(self) -> Totals:
        return totals_of(self.connection.execute(TOTALS.format(self._source)).fetchall())


class ParquetClustered(ParquetByDay):
    """The whole window in one file, sorted by key: each day writes all of it again."""

    def __init__(self, path: Path, window: int) -> None:
        super().__init__(path, window, SMALL_GROUP)
        self.name = f"Parquet sorted by key, groups of {SMALL_GROUP:,}"
        self._waiting: list[pa.Table] = []

    def load(self, day: int, records: pa.Table) -> None:
        self._waiting.append(_stamp(day, records))

    def loaded(self, last: int) -> None:
        whole, self._waiting = pa.concat_tables(self._waiting).sort_by(KEY), []
        self._write(whole)

    def _write(self, whole: pa.Table) -> None:
        folder = self.path / "all"
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "new").open("wb") as file:
            write_plain(whole, file, self._group)
            os.fsync(file.fileno())
        (folder / "new").rename(folder / "records.parquet")

    def advance(self, day: int, records: pa.Table) -> None:
        before = pq.read_table(self.path / "all" / "records.parquet", partitioning=None)
        kept = before.filter(pc.field("day") > day - self._window)
        self._write(pa.concat_tables([kept, _stamp(day, records)]).sort_by(KEY))


def _stamp(day: int, records: pa.Table) -> pa.Table:
    days = pa.array([day], pa.int32()).take(pa.array([0] * len(records)))
    return records.append_column("day", days)


def write_plain(records: pa.Table, file: Any, group: int = DEFAULT_GROUP) -> None:
    pq.write_table(records, file, compression="zstd", row_group_size=group)


class Delta:
    """A Delta table partitioned by day, days sorted by key, asked through delta-rs's DataFusion.

    That is several times faster than its pyarrow dataset, and skips files and row groups alike.
    """

    name = "Delta by day"
    wants_sorted = True
    _partition: str | None = "day"

    def __init__(self, path: Path, window: int) -> None:
        self.path, self.share, self._window = path, 0.1, window
        self._package = importlib.import_module("deltalake")
        self._builder: Any = None

    def load(self, day: int, records: pa.Table) -> None:
        properties = self._package.WriterProperties(
            compression="ZSTD", max_row_group_size=SMALL_GROUP
        )
        self._package.write_deltalake(
            self.path,
            _stamp(day, records),
            mode="append",
            partition_by=self._partition,
            writer_properties=properties,
            target_file_size=1 << 30,
        )

    def loaded(self, last: int) -> None: ...

    def advance(self, day: int, records: pa.Table) -> None:
        self.load(day, records)
        self._package.DeltaTable(self.path).delete(f"day = {day - self._window}")

    def reclaim(self) -> None:
        self._package.DeltaTable(self.path).vacuum(
            retention_hours=0, dry_run=False, enforce_retention_duration=False
        )

    def open(self) -> None:
        whole = self._package.DeltaTable(self.path)
        self._builder = self._package.QueryBuilder().register("flows", whole)

    def close(self) -> None:
        self._builder = None

    def probe(self, key: str) -> Any:
        return self._builder.execute(f"{BY_KEY.format('flows')} '{key}'").read_all()

    def arrow(self, key: str) -> pa.Table:
        return pa.table(self.probe(key))

    def rows(self, key: str) -> PythonRows:
        return self.unpack(self.probe(key))

    def unpack(self, answer: Any) -> PythonRows:
        return list(zip(*(c.to_pylist() for c in pa.table(answer).columns), strict=True))

    def use_threads(self, count: int) -> None: ...

    def totals(self) -> Totals:
        found = pa.table(self._builder.execute(TOTALS.format("flows")).read_all())
        return totals_of(list(zip(*(c.to_pylist() for c in found.columns), strict=True)))


class DeltaClustered(Delta):
    """A Delta table in the order of the key: ``OPTIMIZE ZORDER`` after loading and after each day.

    Of one column the z-order is its own order.
    """

    name = "Delta, z-order by key"
    _partition = None

    def loaded(self, last: int) -> None:
        properties = self._package.WriterProperties(
            compression="ZSTD", max_row_group_size=SMALL_GROUP
        )
        table = self._package.DeltaTable(self.path)
        table.optimize.z_order([KEY], target_size=1 << 30, writer_properties=properties)

    def advance(self, day: int, records: pa.Table) -> None:
        super().advance(day, records)
        self.loaded(day)
