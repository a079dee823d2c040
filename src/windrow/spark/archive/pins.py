"""A version of an archive, held while Spark reads it, and the runs in it that matter."""

from __future__ import annotations

from dataclasses import dataclass

from windrow.archive.format.run_ref import RunRef
from windrow.archive.lifetimes.index_contents import KIND as LIFETIMES
from windrow.archive.lifetimes.reader import LifetimeReader
from windrow.archive.runs.run import ALL, Only, Run
from windrow.archive.versions.manifest import Manifest
from windrow.archive.versions.versioned_index import disk_at
from windrow.archive.versions.versions import Versions
from windrow.archive.wave.reader import Reader
from windrow.archive.wave.wave import Wave
from windrow.spark.archive.options import Moment, instant


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
