"""Checking an archive against what its manifest says: every byte, the order, the invariants."""

from __future__ import annotations

from windrow.archive.format.disk import Disk
from windrow.archive.lifetimes.index_contents import KIND as LIFETIMES
from windrow.archive.lifetimes.index_contents import Contents
from windrow.archive.lifetimes.invariants import grid_problems
from windrow.archive.progress import Progress, Reached, nobody
from windrow.archive.verify.problem import Problem, problem
from windrow.archive.verify.run_checks import Tally, examined
from windrow.archive.versions.manifest import Manifest, understood
from windrow.archive.wave.invariants import window_problems
from windrow.archive.wave.wave import KIND as WAVE
from windrow.archive.wave.wave import Wave

__all__ = ["Problem", "verify"]


def verify(disk: Disk, manifest: Manifest, progress: Progress = nobody) -> list[Problem]:
    """Everything that is wrong. Reads all files, a million entries of one at a time.

    ``progress`` is told how many runs have been read, and how many bytes they have.
    """
    contents = Contents.of(manifest) if manifest.kind == LIFETIMES else None
    if manifest.layout.lifetimes != (contents is not None):
        expected = "no expiries" if contents is None else "expiries"
        found = "a layout with them" if contents is None else "a layout without them"
        return [problem("layout", expected=f"{expected} in {manifest.kind} entries", found=found)]
    periods = None if contents is None else contents.periods
    problems: list[Problem] = []
    tallies: dict[str, Tally] = {}
    size = 0
    for done, ref in enumerate(manifest.runs):
        progress(Reached("runs", done, len(manifest.runs), size))
        tally, bad = examined(disk, manifest.layout, ref, periods)
        problems += bad
        if tally is not None:
            tallies[ref.name] = tally
        size += ref.bytes
    progress(Reached("runs", len(manifest.runs), len(manifest.runs), size))
    with understood(f"version {manifest.version}"):
        if contents is not None:
            problems += grid_problems(manifest, contents, tallies)
        elif manifest.kind == WAVE:
            problems += window_problems(manifest, Wave.of(manifest))
    return problems
