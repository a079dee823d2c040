"""A version of an archive, held while Spark reads it, and the runs in it that matter.

Parquet runs that are read whole are left to Spark's own reader: its speed, its choice of columns.
Days that do not count any more, and entries that have expired, are left out by a condition where a
run has any; runs with the same condition are read together. A key is looked up, not read for. The
footers of the files are compared with their sums here; Spark's reader compares pages with the
checksums that they have themselves (``CHECKED``).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pyspark.sql.types import StructType

from windrow.archive.format.layout import DAY, EXPIRY
from windrow.archive.format.run_ref import RunRef
from windrow.archive.lifetimes.index_contents import KIND as LIFETIMES
from windrow.archive.lifetimes.reader import LifetimeReader
from windrow.archive.runs.run import ALL, Only, Run
from windrow.archive.versions.manifest import Manifest
from windrow.archive.versions.versioned_index import disk_at
from windrow.archive.versions.versions import Versions
from windrow.archive.wave.reader import Reader
from windrow.archive.wave.wave import Wave
from windrow.core.paths import is_object_url
from windrow.spark.archive.options import Moment, Wish, chosen_columns, instant
from windrow.spark.archive.spark_types import is_native, spark_schema

CHECKED = "parquet.page.verify-checksum.enabled"
"""The option of Spark's reader that has it compare pages with their checksums."""


@dataclass(frozen=True)
class Source:
    """A run, and which of its entries count."""

    run: RunRef
    only: Only


@dataclass
class Pin:
    """A lease on one version as seen at one moment; ``close`` lets go of it."""

    manifest: Manifest
    reader: Reader | LifetimeReader

    @property
    def now(self) -> int | None:
        return self.reader.now

    def sources(self, since: int | None, until: int | None) -> list[Source]:
        """The runs with entries of the days ``since`` to ``until`` that are in the window."""
        if isinstance(self.reader, LifetimeReader):
            return [Source(run, only) for run, only in self.reader.sources(since, until)]
        return [
            Source(run, ALL if len(days) == len(run.days) else Only(days))
            for run, days in self.reader.sources(since, until)
        ]

    def close(self) -> None:
        self.reader.close()


def pin(root: str, version: int | None = None, now: Moment | None = None) -> Pin:
    """Hold a version, the newest if none is named, as seen at ``now``."""
    disk = disk_at(root)
    lease = Versions(disk).pin(version)
    manifest = lease.manifest

    def open_run(run: RunRef) -> Run:
        return Run(disk, manifest.layout, run)

    try:
        at = instant(now, manifest, "now")
        if manifest.kind == LIFETIMES:
            return Pin(manifest, LifetimeReader(lease, open_run, {}, at))
        return Pin(manifest, Reader(lease, Wave.of(manifest), open_run, {}, at, soft=False))
    except BaseException:
        lease.release()
        raise


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
