"""Who is at work: a file ``<version>-<token>`` in ``leases/`` for each reader and writer.

It is locked for as long as its process lives, and what it pins stays. A process that dies lets go
of its lock, so nobody has to guess from a clock whether it is still there.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field

from windrow.archive.format.disk import Disk
from windrow.archive.versions.manifest import Manifest

LEASES = "leases"
_NAME = re.compile(r"([0-9]{20})-(\w+)", re.ASCII)


@dataclass
class Lease:
    """A hold on a version. ``token`` is new for each lease."""

    disk: Disk
    manifest: Manifest
    token: str
    handle: int | None
    owner: int = field(default_factory=os.getpid)

    def release(self) -> None:
        """Let go."""
        if self.handle is not None and self.owner == os.getpid():  # a fork has only a copy
            self.disk.let_go(lease_file(self.manifest.version, self.token), self.handle)
        self.handle = None


def leases(disk: Disk) -> list[tuple[int, str]]:
    """(version, token) of everybody at work; what the dead left behind is removed.

    Files of any other name are nobody's leases, and are left alone.
    """
    found = []
    for name in disk.names(LEASES):
        parts = _NAME.fullmatch(name)
        if parts and not disk.clear_abandoned(f"{LEASES}/{name}"):
            found.append((int(parts[1]), parts[2]))
    return found


def lease_file(version: int, token: str) -> str:
    return f"{LEASES}/{version:020d}-{token}"
