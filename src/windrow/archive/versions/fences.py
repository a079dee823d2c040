"""Numbers of versions that are used up, where a lease can be lost.

A lock on a disk is held for as long as its process lives. A lease in an object store is taken for
abandoned by whoever waits long enough for a sign of life, and its holder may be alive: suspended,
or cut off. Its files go then, and it must not publish a version that names them.

A writer asks for its lease after it has chosen the number of its version, and before the
put-if-absent. Let the lease be there then, and be lost before the put. The number was at most one
more than the newest, so when the lease is gone and one more version has been published (a copy of
the newest, the *fence*), the number is taken. From there on a version up to the fence leaves its
name behind, empty, when it is retired: the number stays taken, and the put fails whenever it comes.
If the lease is lost before it is asked for, nothing is put. Clocks decide who has to start over,
and nothing else.

``lost/`` has a file for each lease that is gone and is not behind a fence yet, so that whoever
stops half-way is followed by somebody who goes on; ``fences/`` has one for each fence.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING

from windrow.archive.errors import ConflictError
from windrow.archive.format.bucket_disk import BucketDisk

if TYPE_CHECKING:
    from windrow.archive.versions.versions import Versions

LOST, FENCES = "lost", "fences"


def clear_lost(disk: BucketDisk, lease: str) -> bool:
    """Whether the holder of a lease is gone; if so the lease is removed, for ``put_fence``."""
    if not disk.is_abandoned(lease):
        return False
    disk.mark(f"{LOST}/{lease.rpartition('/')[2]}")
    disk.delete(lease)
    disk.discard_sign(lease)
    return True


def put_fence(disk: BucketDisk, versions: Versions) -> None:
    """Use up every number that holders of lost leases may be about to publish."""
    lost = disk.names(LOST)
    if not lost:
        return
    with versions.lease() as lease:
        fence = lease.manifest.version + 1
        with contextlib.suppress(ConflictError):  # somebody else has used it up
            versions.publish(replace(lease.manifest, version=fence, token=lease.token))
    disk.mark(f"{FENCES}/{fence:020d}")
    for name in lost:
        disk.delete(f"{LOST}/{name}")


def retire(disk: BucketDisk, name: str, new: str, version: int) -> None:
    """Rename a version's file; up to the last fence its name stays taken."""
    fences = disk.names(FENCES)
    if fences and version <= int(fences[-1]):
        disk.rename_and_use_up(name, new)
    else:
        disk.rename(name, new)
