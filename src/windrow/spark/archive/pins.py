"""A version of an archive, held while Spark reads it, and the runs in it that matter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from windrow.archive.errors import ArchiveError
from windrow.archive.files import Disk
from windrow.archive.lifetimes.contents import KIND as LIFETIMES
from windrow.archive.lifetimes.contents import Contents
from windrow.archive.lifetimes.reader import LifetimeReader
from windrow.archive.manifest import Manifest
from windrow.archive.reader import Reader
from windrow.archive.runs.open import ALL, Only, Run
from windrow.archive.runs.ref import RunRef
from windrow.archive.versions import Versions
from windrow.archive.wave import Wave


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


def pin(root: str, version: int | None = None, now: int | None = None) -> Pin:
    """Hold a version, the newest if none is named, as seen at ``now``."""
    disk = Disk(Path(root))
    lease = Versions(disk).pin(version)
    manifest = lease.manifest

    def opened(run: RunRef) -> Run:
        return Run(disk, manifest.layout, run)

    try:
        if manifest.kind == LIFETIMES:
            return Pin(manifest, LifetimeReader(lease, Contents.of(manifest), opened, {}, now))
        return Pin(manifest, Reader(lease, Wave.of(manifest), opened, {}, now, soft=False))
    except BaseException:
        lease.release()
        raise


@dataclass(frozen=True)
class Wish:
    """What is to be read: options of the format, understood."""

    now: int | None = None
    since: int | None = None
    until: int | None = None
    columns: tuple[str, ...] | None = None
    version: int | None = None

    @classmethod
    def of(cls, options: Mapping[str, str], manifest: Manifest) -> Wish:
        """Days are numbers, or dates if the archive's calendar has them."""
        calendar = None
        if manifest.kind != LIFETIMES:
            calendar = Wave.of(manifest).settings.calendar

        def moment(name: str) -> int | None:
            text = options.get(name)
            if text is None:
                return None
            return int(text) if calendar is None else calendar.parse(text)

        columns = options.get("columns")
        names = None if columns is None else tuple(c.strip() for c in columns.split(","))
        return cls(moment("now"), moment("since"), moment("until"), names, manifest.version)


def chosen_columns(manifest: Manifest, names: tuple[str, ...] | None) -> tuple[str, ...]:
    """The columns of an answer: those named, or all, the archive's stamps too."""
    there = manifest.layout.given({}).names
    unknown = [name for name in names or () if name not in there]
    if unknown or names == ():
        raise ArchiveError(
            where="columns",
            expected=f"some of {', '.join(there)}",
            found=", ".join(unknown) or "none",
        )
    return tuple(there) if names is None else names
