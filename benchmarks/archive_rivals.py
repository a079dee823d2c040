"""The stores that others have made. One whose package is not installed is left out."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path

from benchmarks.archive_keyvalue import Lmdb, RocksDb
from benchmarks.archive_lakes import (
    DEFAULT_GROUP,
    SMALL_GROUP,
    Delta,
    DeltaClustered,
    ParquetByDay,
    ParquetClustered,
)
from benchmarks.archive_stores import Store
from benchmarks.archive_tables import DuckSorted, DuckTable, SqliteClustered, SqliteTable

PLAIN, SMALL = (f"Parquet by day, groups of {rows:,}" for rows in (DEFAULT_GROUP, SMALL_GROUP))
DELTA = Delta.name
RIVALS: dict[str, Callable[[Path, int], Store]] = {
    PLAIN: lambda path, window: ParquetByDay(path, window, DEFAULT_GROUP),
    SMALL: lambda path, window: ParquetByDay(path, window, SMALL_GROUP),
    f"Parquet sorted by key, groups of {SMALL_GROUP:,}": ParquetClustered,
    DELTA: Delta,
    DeltaClustered.name: DeltaClustered,
    DuckTable.name: DuckTable,
    DuckSorted.name: DuckSorted,
    SqliteTable.name: SqliteTable,
    SqliteClustered.name: SqliteClustered,
    RocksDb.name: RocksDb,
    Lmdb.name: Lmdb,
}
PACKAGES = {
    DELTA: "deltalake",
    DeltaClustered.name: "deltalake",
    Lmdb.name: "lmdb",
    RocksDb.name: "rocksdict",
}


def installed() -> tuple[list[str], list[str]]:
    """Which rivals are there, and which packages are not."""
    wanted = sorted(set(PACKAGES.values()))
    missing = [package for package in wanted if not importlib.util.find_spec(package)]
    return [name for name in RIVALS if PACKAGES.get(name) not in missing], missing
