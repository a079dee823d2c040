"""Another grid, assignment, technique, longest lifetime or run format for an index in use.

The paper names two ways and leaves them to others (Golab et al. 2006b, 5 and 6). *Rebuilding*
discards the old index when a new one has been built: every sub-index is packed then. *Draining*
maintains both: new records go to the new partitioning, the old one answers beside it and is
forgotten with its last record. A run that lies where the new grid wants it is not written again;
so going from Rebuild to NoRebuild, or to a longer lifetime under round robin, writes nothing.

Insertions go on. A period may still be inserted into for as long as it is the newest, so what
was taken in before the newest period is rebuilt first, and the periods from that one on are taken
from where the other writers have put them, again for as long as they are faster.

Cost: ``estimate``. Draining costs a probe a search in each of the old runs, for a lifetime at most.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypedDict

from windrow.archive.format.disk import Disk
from windrow.archive.format.formats import check_format
from windrow.archive.format.run_ref import Format, RunRef
from windrow.archive.lifetimes.dealing import Cells, deal
from windrow.archive.lifetimes.index_contents import Contents
from windrow.archive.lifetimes.moving import Moving
from windrow.archive.lifetimes.partition_grid import Grid, Technique
from windrow.archive.lifetimes.periods import LifetimeError
from windrow.archive.lifetimes.spread import AT_ONCE
from windrow.archive.progress import Progress, nobody
from windrow.archive.runs.run import Run
from windrow.archive.versions.leases import Lease
from windrow.archive.versions.manifest import Manifest
from windrow.archive.versions.switch_over import Estimate, How, switch_over


class Changes(TypedDict, total=False):
    """What can be changed of an index of lifetimes; what is not named stays as it is.

    The update interval is not among it: entries are stamped with the number of their period.
    """

    grid: Grid
    longest: int
    format: Format


def target_of(manifest: Manifest, changes: Changes) -> Cells:
    """The layout that a version would have with some changes."""
    old = Contents.of(manifest)
    longest = changes.get("longest", old.periods.longest)
    if longest < old.periods.longest:
        raise LifetimeError(
            where="longest lifetime",
            expected=f"{old.periods.longest}, as it is, or more",
            found=str(longest),
            remedy="records that live longer may be there; make another index for shorter lives",
        )
    periods, grid = replace(old.periods, longest=longest), changes.get("grid", old.grid)
    Contents(periods, grid).require_room()
    return Cells(grid, periods, check_format(changes.get("format", manifest.format)))


def estimate(manifest: Manifest, cells: Cells, how: How) -> Estimate:
    """The cost of a migration, without doing any of it."""
    contents, runs = Contents.of(manifest), manifest.runs
    if contents.now is None or cells.has(contents):
        return Estimate(0, 0, len(runs))
    over = contents.periods.over(contents.now)
    if how == "drain":
        ends = (contents.periods.of(run.expiries[1]) for run in runs if run.expiries)
        return Estimate(0, max(ends, default=over) - over, len(runs) + cells.grid.size)
    dealt = deal(contents, contents.now, cells)
    scattered = sum(held.live_bytes(over) for held in dealt.scattered)
    written = 2 * scattered if scattered > AT_ONCE.value else scattered
    for found in dealt.whole.values():
        if scattered or len(found) > 1 or not cells.wants(found[0], over):
            written += sum(one.live_bytes(over) for one in found)
    # The newest period comes in as an update, into a row of packed runs.
    held = [*dealt.scattered, *(one for found in dealt.whole.values() for one in found)]
    row = sum(one.live_bytes(over) for one in held) // cells.grid.insertions
    newest = _newest_bytes(contents, contents.now)
    rebuilt = cells.grid.technique is Technique.REBUILD or row < 2 * newest
    beside = 0 if rebuilt else cells.grid.expiries
    return Estimate(written + newest + row * rebuilt, 0, cells.grid.size + beside)


def _newest_bytes(contents: Contents, now: int) -> int:
    """What the entries take that came in the newest period."""
    newest = contents.periods.of(now)
    return sum(
        run.bytes * rows // run.rows
        for run in contents.runs.values()
        for day, rows in run.days
        if day == newest
    )


def migrate(
    disk: Disk,
    lease: Lease,
    opened: Callable[[RunRef], Run],
    cells: Cells,
    how: How,
    progress: Progress = nobody,
) -> int:
    """Bring the version that the lease holds, and all that come meanwhile, to the new layout."""
    return switch_over(disk, lease, Moving(disk, lease, opened, cells, how, progress).onto)
