"""Opening what is in a directory, whichever kind of index it is."""

from __future__ import annotations

from pathlib import Path

from windrow.archive.archive import Archive
from windrow.archive.errors import ArchiveError
from windrow.archive.format.disk import Disk
from windrow.archive.lifetimes.index_contents import KIND as LIFETIMES
from windrow.archive.lifetimes.lifetime_index import LifetimeIndex
from windrow.archive.versions.versions import Versions
from windrow.archive.wave.wave import KIND as WAVE


def open_any(path: str | Path | Disk) -> Archive | LifetimeIndex:
    """The archive of days, or the index of lifetimes, that its newest manifest says it is."""
    disk = path if isinstance(path, Disk) else Disk(Path(path))
    manifest = Versions(disk).newest()
    if manifest.kind == WAVE:
        return Archive(disk, manifest)
    if manifest.kind == LIFETIMES:
        return LifetimeIndex(disk, manifest)
    raise ArchiveError(
        where=str(disk.root),
        expected=f"an archive of the kind {WAVE} or {LIFETIMES}",
        found=manifest.kind,
        remedy="open it with a newer Windrow",
    )
