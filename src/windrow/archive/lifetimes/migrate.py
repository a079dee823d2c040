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
from itertools import count
from typing import TypedDict

import pyarrow as pa

from windrow.archive.errors import LifetimeError
from windrow.archive.format.disk import Disk
from windrow.archive.format.layout import DAY
from windrow.archive.format.run_ref import Format, RunRef, check_format, join_encodings
from windrow.archive.lifetimes.index_contents import Contents, IndexState, RunState
from windrow.archive.lifetimes.partition_grid import Grid, GridTechnique
from windrow.archive.lifetimes.placement import AT_ONCE, Cells, Spread, deal, stamp_entries
from windrow.archive.lifetimes.update import NOTHING, Carrier, sort_out, take
from windrow.archive.progress_callback import Progress, Reached, nobody
from windrow.archive.runs.run import Only, Run
from windrow.archive.versions.manifest import Manifest
from windrow.archive.versions.versioned_index import Estimate, How, switch_over, two_migrations
from windrow.archive.versions.versions import Lease


class _Mover:
    """What has been rebuilt so far, and how it becomes the version after any other.

    ``_done`` is the new index with all that was inserted before the period ``_newest``; runs that
    were written for it have numbers from ``_first`` on.
    """

    def __init__(
        self,
        disk: Disk,
        lease: Lease,
        opened: Callable[[RunRef], Run],
        cells: Cells,
        how: How,
        progress: Progress,
    ) -> None:
        self._disk, self._opened, self._cells, self._how = disk, opened, cells, how
        self._base, self._layout, self._token = lease.manifest, lease.manifest.layout, lease.token
        self._encodings = dict(lease.manifest.encodings)
        self._done: Contents | None = None
        self._newest = self._first = 0
        self._files, self._progress = count(1), progress

    def onto(self, base: Manifest) -> Manifest:
        """The version after ``base`` in the new layout."""
        began, later, cells = Contents.of(self._base), Contents.of(base), self._cells
        same = (later.grid, later.periods) == (began.grid, began.periods)
        if not same or base.format != self._base.format:
            raise two_migrations(self._disk)
        self._encodings = join_encodings(self._encodings, base.encodings)
        if later.now is None or cells.has(later):
            made = replace(later, grid=cells.grid, periods=cells.periods)
        elif self._how == "drain":
            made = _start_draining(later, later.now, cells)
        else:
            if self._done is None:
                self._done = self._rebuild(later, later.now)
            made = self._catch_up(self._done, later, later.now)
            made = _renumber(made, self._first, later.next_run)
        return made.manifest(
            base.version + 1, self._token, self._layout, cells.format, self._encodings
        )

    def _rebuild(self, contents: Contents, now: int) -> Contents:
        """The new index of what was inserted before the newest period."""
        cells, over = self._cells, contents.periods.over(now)
        dealt, alive_from = deal(contents, now, cells), contents.periods.last(over) + 1
        spread = Spread(self._disk, self._layout, cells, self._encodings, self._name)
        for done, held in enumerate(dealt.scattered, start=1):
            spread.add(self._opened(held.ref), Only(held.days, alive_from))
            self._progress(Reached("runs distributed", done, len(dealt.scattered)))
        spread.flush()
        self._first = number = contents.next_run
        runs = {}
        subindices: list[tuple[RunState, ...]] = []
        for place in range(cells.grid.size):
            self._progress(Reached("sub-indices", place, cells.grid.size))
            held_here = dealt.whole.get(place, [])
            alone = len(held_here) == 1 and not spread.reaches(place)
            if alone and cells.wants(held_here[0], over):
                run, ref = held_here[0].run, held_here[0].ref
            elif found := spread.pack(place, held_here, self._opened, over):
                run, ref = RunState(number, found[1]), found[0]
                number += 1
            else:
                subindices.append(())
                continue
            runs[run.number] = ref
            subindices.append((run,))
        self._progress(Reached("sub-indices", cells.grid.size, cells.grid.size))
        self._encodings, self._newest = spread.encodings, contents.periods.of(now)
        state = IndexState(over, number, tuple(subindices))
        return Contents(cells.periods, cells.grid, now, state, runs, contents.batches)

    def _catch_up(self, done: Contents, later: Contents, now: int) -> Contents:
        """The new index with what the old one has taken in from the newest period on."""
        newest, entries = later.periods.of(now), self._since(later, now)
        days = entries.column(DAY).cast(pa.int32()).to_numpy()
        for day in sorted(set(days.tolist()) - {newest}):  # closed: this is not done again
            part = entries.filter(pa.array(days == day))
            done = self._take(done, later.periods.last(day), part)
        self._done, self._newest = done, newest
        made = self._take(done, now, entries.filter(pa.array(days == newest)))
        return replace(made, batches=later.batches)

    def _since(self, contents: Contents, now: int) -> pa.Table:
        """What lives of all that was inserted in the newest period and later."""
        schema, found = self._layout.reader_schema({}), []
        for ref in contents.runs.values():
            days = tuple(day for day, _ in ref.days if day >= self._newest)
            if days:
                run, only = self._opened(ref), Only(days, now + 1)
                run.read_whole()
                found += run.entries.rows(0, ref.rows, schema, only)
        return stamp_entries(self._layout, found)

    def _take(self, contents: Contents, now: int, entries: pa.Table) -> Contents:
        cells, arrivals = self._cells, NOTHING
        if len(entries):
            arrivals = sort_out(cells.grid, cells.periods, now, entries)
        carrier = Carrier(self._disk, self._layout, cells.format, lambda _: self._name())
        taken = take(contents, now, arrivals, carrier, self._opened, self._encodings)
        self._encodings = dict(taken.encodings)
        return taken.contents

    def _name(self) -> str:
        """A run may be written again in another attempt, so its number does not name its file."""
        return f"{self._token}-{next(self._files)}"


def _start_draining(contents: Contents, now: int, cells: Cells) -> Contents:
    """The new layout, empty, beside what there is."""
    empty = IndexState(contents.periods.over(now), contents.next_run, ((),) * cells.grid.size)
    old = tuple(part.to_drain() for part in contents.partitions if part.live)
    return replace(contents, periods=cells.periods, grid=cells.grid, state=empty, draining=old)


def _renumber(made: Contents, first: int, free: int) -> Contents:
    """Runs that have numbers from ``first`` on get them from ``free`` on: those before it have
    been used by whoever was faster.
    """
    assert made.state is not None, "it has taken an update in"

    def new_number(number: int) -> int:
        return number if number < first else number - first + free

    subindices = tuple(
        tuple(replace(run, number=new_number(run.number)) for run in runs)
        for runs in made.state.subindices
    )
    state = IndexState(made.state.over, new_number(made.state.next_run), subindices)
    return replace(made, state=state, runs={new_number(n): ref for n, ref in made.runs.items()})


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
            remedy="longer-lived records may be stored; create a new index for shorter lifetimes",
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
    rebuilt = cells.grid.technique is GridTechnique.REBUILD or row < 2 * newest
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
    return switch_over(disk, lease, _Mover(disk, lease, opened, cells, how, progress).onto)
