"""Parquet runs as a whole, for Spark's own reader: its speed, its choice of columns.

Days that do not count any more, and entries that have expired, are left out by a condition where a
run has any; runs with the same condition are read together. A key is looked up, not read for.

The footers of the files are compared with their sums here; Spark's reader compares pages with the
checksums that they have themselves (``CHECKED``).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pyspark.sql.types import StructType

from windrow.archive.format.layout import DAY, EXPIRY
from windrow.archive.runs.run import Only, Run
from windrow.archive.versions.versioned_index import disk_at
from windrow.core.paths import is_object_url
from windrow.spark.archive.options import Wish, chosen_columns
from windrow.spark.archive.pins import Pin
from windrow.spark.archive.spark_types import is_native, spark_schema

CHECKED = "parquet.page.verify-checksum.enabled"
"""The option of Spark's reader that has it compare pages with their checksums."""


@dataclass(frozen=True)
class Whole:
    """Files, and which of their rows count, in SQL."""

    files: tuple[str, ...]
    where: str


def whole_runs(root: str, held: Pin, wish: Wish) -> list[Whole]:
    """What a scan reads; nothing if Spark's reader would not do for all of it."""
    sources = held.sources(wish.since, wish.until)
    given = held.manifest.layout.reader_schema({})
    names = chosen_columns(held.manifest, wish.columns)
    if is_object_url(root):  # its own files are no business of Spark's: a task reads them
        return []
    if not all(source.run.format == "parquet" for source in sources) or not all(
        is_native(given.field(name).type) for name in names
    ):
        return []
    groups: dict[str, list[str]] = {}
    disk, layout = disk_at(root), held.manifest.layout
    for source in sources:
        Run(disk, layout, source.run).check_footer()
        groups.setdefault(_where(source.only), []).append(str(Path(root) / source.run.entries_file))
    return [Whole(tuple(files), where) for where, files in groups.items()]


def whole_schema(held: Pin, wish: Wish) -> StructType:
    """The columns that are wanted, and those that conditions may be about."""
    wanted = (*chosen_columns(held.manifest, wish.columns), DAY, EXPIRY)
    return spark_schema(f for f in held.manifest.layout.reader_schema({}) if f.name in wanted)


def _where(only: Only) -> str:
    days = [] if only.days is None else [f"{DAY} IN ({', '.join(map(str, only.days))})"]
    after = [] if only.after is None else [f"{EXPIRY} >= {only.after}"]
    return " AND ".join(days + after) or "TRUE"
