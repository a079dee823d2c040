"""Removing files that no version needs: the only place that deletes anything published.

Order is everything here (see ``versions.py``): files are listed first, then who is at work, then
what the versions name. A file that was there when the list was made belongs to a version that is
read after it, to a writer that is still at work, or to nobody.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

from windrow.archive.errors import ConflictError
from windrow.archive.format.disk import Disk
from windrow.archive.format.run_ref import FOLDER as RUNS
from windrow.archive.progress_callback import Progress, Reached, nobody
from windrow.archive.versions.versions import LOCK, VERSIONS, Versions, leases, retired_file


@dataclass(frozen=True)
class VacuumResult:
    """What a vacuum did: files and bytes removed, versions retired, versions that readers hold."""

    files: int
    bytes: int
    versions: int
    held: tuple[int, ...]


def vacuum(disk: Disk, progress: Progress = nobody) -> VacuumResult:
    """Remove what no version that is the newest or is held by somebody needs.

    ``progress`` is told how many of the files that can go have gone.
    """
    lock = disk.try_hold(LOCK)
    if lock is None:
        raise ConflictError(
            "another vacuum is running",
            where=disk.where(),
            remedy="wait until it ends; nothing was removed",
        )
    try:
        return _vacuum(disk, progress)
    finally:
        disk.unlock(lock)


def _vacuum(disk: Disk, progress: Progress) -> VacuumResult:
    versions = Versions(disk)
    listed = disk.names(RUNS)
    hidden = [name for name in disk.names(VERSIONS) if name.startswith(".")]
    retired = versions.retire()
    at_work = leases(disk)
    held = {version for version, _ in at_work}
    working = tuple(token for _, token in at_work)
    needed: set[str] = set()
    for number in versions.numbers():
        needed |= {run.name for run in versions.read(number).runs}
    for manifest in retired:
        if manifest.version in held:
            needed |= {run.name for run in manifest.runs}
    stems = {name: name.rpartition(".")[0] for name in listed}
    unneeded = [n for n in listed if stems[n] not in needed and not stems[n].startswith(working)]
    files = size = gone = 0
    for done, name in enumerate(unneeded, start=1):
        with contextlib.suppress(FileNotFoundError):  # its writer has thought better of it
            size += disk.size(f"{RUNS}/{name}")
            disk.delete(f"{RUNS}/{name}")
            files += 1
        progress(Reached("files", done, len(unneeded), size))
    for name in hidden:
        if not name[1:].startswith(working):
            disk.delete(f"{VERSIONS}/{name}")
    for manifest in retired:  # last: it is the list of what there was to delete
        if manifest.version not in held:
            disk.delete(retired_file(manifest.version))
            gone += 1
    return VacuumResult(files, size, gone, tuple(sorted(held)))
