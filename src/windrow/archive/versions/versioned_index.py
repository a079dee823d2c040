"""An index in a directory, whatever kind it is of: opened, pinned by readers, vacuumed, migrated.

A migration prepares its files while others read and publish. What it has made is then published
as the successor of the newest version; if somebody else was faster, it catches up with what that
version has taken in and tries again. Its lease keeps all versions since it began, and the files
that they name, from being reclaimed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, Self, TypeVar

from windrow.archive.errors import ArchiveError, ConflictError
from windrow.archive.format.disk import Disk
from windrow.archive.progress_callback import Progress, nobody
from windrow.archive.versions.manifest import Manifest
from windrow.archive.versions.vacuum import VacuumResult, vacuum
from windrow.archive.versions.versions import Lease, Versions
from windrow.core.paths import is_object_url, object_url

if TYPE_CHECKING:
    from windrow.archive.runs.run import OpenRuns
    from windrow.archive.versions.pinned_reader import PinnedReader, Schemas

R = TypeVar("R", bound="PinnedReader")


class VersionedIndex:
    """What the two kinds of index have in common. Holds nothing open.

    ``KIND`` is what the manifest says, ``DESCRIPTION`` what people say.
    """

    KIND: ClassVar[str]
    DESCRIPTION: ClassVar[str]

    def __init__(self, disk: Disk, manifest: Manifest) -> None:
        self.disk, self.layout, self._versions = disk, manifest.layout, Versions(disk)
        self._schemas: Schemas = {}

    @classmethod
    def open(cls, path: str | Path | Disk) -> Self:
        disk = disk_at(path)
        manifest = Versions(disk).newest()
        if manifest.kind != cls.KIND:
            raise ArchiveError(
                where=disk.where(),
                expected=cls.DESCRIPTION,
                found=f"an archive of the kind {manifest.kind}",
                remedy="open it with windrow.archive.open, which opens either kind",
            )
        return cls(disk, manifest)

    def vacuum(self, progress: Progress = nobody) -> VacuumResult:
        """Remove files that nobody needs: of past versions, and of writers that came to nothing."""
        return vacuum(self.disk, progress)

    @cached_property
    def _opened(self) -> OpenRuns:
        """The runs that readers of this index share."""
        return self._open_runs()

    def _open_runs(self) -> OpenRuns:
        """For a writer, who forgets with it what was merged."""
        from windrow.archive.runs.run import OpenRuns  # noqa: PLC0415 - not for what is not read

        return OpenRuns(self.disk, self.layout)

    def _pin(self, reader_of: Callable[[Lease], R]) -> R:
        """A reader of the newest version, which is let go if there can be none."""
        lease = self._versions.pin()
        try:
            self._opened.keep(lease.manifest.runs)
            return reader_of(lease)
        except BaseException:
            lease.release()
            raise


def disk_at(path: str | Path | Disk, *, patient: bool = True) -> Disk:
    """The disk of an archive: a directory, or a place in an object store.

    Whether the holder of a lease in a store is dead takes a minute to find out; without
    ``patient`` nobody waits for that, and it counts as alive meanwhile.
    """
    if isinstance(path, Disk):
        return path
    if is_object_url(path):
        from windrow.archive.format.bucket_disk import BucketDisk  # noqa: PLC0415 - seldom needed

        return BucketDisk(object_url(path), patient=patient)
    return Disk(Path(path))


How = Literal["rebuild", "drain"]
ATTEMPTS = 1000
"""Versions that a migration catches up with before it says that it cannot."""


@dataclass(frozen=True)
class Estimate:
    """What a migration will cost: bytes that are written at once, and days until it is through.

    A day of an index of lifetimes is a period.
    """

    bytes_written: int
    days: int
    searches: int
    """Runs that a probe looks into right after the switch, at most."""


def switch_over(disk: Disk, lease: Lease, made: Callable[[Manifest], Manifest]) -> int:
    """Publish what ``made`` makes of the leased version, or of the newest if that has moved on.

    ``made`` is called once for each attempt and may remember what it did; it raises
    ``ConflictError`` if what it is given cannot be caught up with. Returns the version.
    """
    base, versions = lease.manifest, Versions(disk)
    for _ in range(ATTEMPTS):
        manifest = made(base)
        try:
            versions.publish(manifest)
        except ConflictError:
            base = versions.read(versions.numbers()[-1])
        else:
            return manifest.version
    raise ConflictError(
        f"{ATTEMPTS} versions were published in the meantime",
        where=disk.where(),
        remedy="migrate while less is being appended",
    )


def two_migrations(disk: Disk) -> ConflictError:
    """The layout that a migration began with is not the one that it finds."""
    return ConflictError(
        "another migration finished first",
        where=disk.where(),
        expected="the layout that was there when this migration began",
        remedy="nothing was changed; check the current layout, then migrate again",
    )
