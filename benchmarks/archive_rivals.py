"""The stores that others have made. One whose package is not installed is left out."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path

from benchmarks.archive_lakes import DEFAULT_GROUP, SMALL_GROUP, Delta, ParquetByDay
from benchmarks.archive_stores import Store
from benchmarks.archive_tables import DuckTable, SqliteTable

PLAIN, SMALL = (f"Parquet by day, groups of {rows:,}" for rows in (DEFAULT_GROUP, SMALL_GROUP))
DELTA = Delta.name
RIVALS: dict[str, Callable[[Path, int], Store]] = {
    PLAIN: lambda path, window: ParquetByDay(path, window, DEFAULT_GROUP),
    SMALL: lambda path, window: ParquetByDay(path, window, SMALL_GROUP),
    DELTA: Delta,
    DuckTable.name: DuckTable,
    SqliteTable.name: SqliteTable,
}


def installed() -> tuple[list[str], list[str]]:
    """Which rivals are there, and which packages are not."""
    missing = [] if importlib.util.find_spec("deltalake") else ["deltalake"]
    return [name for name in RIVALS if name != DELTA or not missing], missing
