"""What every migration does, whatever kind of index is given another layout: cost, then switch.

A migration prepares its files while others read and publish. What it has made is then published
as the successor of the newest version; if somebody else was faster, it catches up with what that
version has taken in and tries again. Its lease keeps all versions since it began, and the files
that they name, from being reclaimed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from windrow.archive.errors import ConflictError
from windrow.archive.format.disk import Disk
from windrow.archive.versions.manifest import Manifest
from windrow.archive.versions.versions import Lease, Versions

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
        where=str(disk.root),
        remedy="migrate while less is being appended",
    )


def two_migrations(disk: Disk) -> ConflictError:
    """The layout that a migration began with is not the one that it finds."""
    return ConflictError(
        "another migration was faster",
        where=str(disk.root),
        expected="the layout that was there when this migration began",
        remedy="nothing was changed; look at what there is now, then migrate again",
    )
