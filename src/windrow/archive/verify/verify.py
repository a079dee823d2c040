"""Checking an archive against what its manifest says: every byte, the order, the invariants.

What a manifest promises beyond its runs is known to the kind of index that it is of
(``wave/invariants.py``, ``lifetimes/invariants.py``), which is called when all runs have been read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from windrow.archive.format.disk import Disk
from windrow.archive.progress_callback import Progress, Reached, nobody
from windrow.archive.verify.problem import Problem, problem
from windrow.archive.verify.run_checks import ExpiryPeriods, Tally, check_run
from windrow.archive.versions.manifest import Manifest, unreadable_is_damaged

Invariants = Callable[[Mapping[str, Tally]], Iterable[Problem]]
"""What is wrong with an index, given what was found in those of its runs that could be read."""


def verify(
    disk: Disk,
    manifest: Manifest,
    invariants: Invariants,
    progress: Progress = nobody,
    *,
    expiry_periods: ExpiryPeriods | None = None,
) -> list[Problem]:
    """Everything that is wrong. Reads all files, a million entries of one at a time.

    ``expiry_periods`` is given for a kind of index whose entries have lifetimes. ``progress`` is
    told how many runs have been read, and how many bytes they have.
    """
    if manifest.layout.lifetimes != (expiry_periods is not None):
        expected = "no expiries" if expiry_periods is None else "expiries"
        found = "a layout with them" if expiry_periods is None else "a layout without them"
        return [problem("layout", expected=f"{expected} in {manifest.kind} entries", found=found)]
    problems: list[Problem] = []
    tallies: dict[str, Tally] = {}
    size = 0
    for done, ref in enumerate(manifest.runs):
        progress(Reached("runs", done, len(manifest.runs), size))
        tally, bad = check_run(disk, manifest.layout, ref, expiry_periods)
        problems += bad
        if tally is not None:
            tallies[ref.name] = tally
        size += ref.bytes
    progress(Reached("runs", len(manifest.runs), len(manifest.runs), size))
    with unreadable_is_damaged(f"version {manifest.version}"):
        problems += invariants(tallies)
    return problems
