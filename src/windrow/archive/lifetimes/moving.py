"""An index on its way to another layout, while others insert into it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count

import pyarrow as pa

from windrow.archive.format.disk import Disk
from windrow.archive.format.layout import DAY
from windrow.archive.format.run_ref import RunRef
from windrow.archive.lifetimes.arrivals import NOTHING, sort_out
from windrow.archive.lifetimes.carry import Carrier
from windrow.archive.lifetimes.dealing import Cells, deal
from windrow.archive.lifetimes.index_contents import Contents
from windrow.archive.lifetimes.spread import Spread, stamped
from windrow.archive.lifetimes.state import IndexState, RunState
from windrow.archive.lifetimes.taking import take
from windrow.archive.progress import Progress, Reached
from windrow.archive.runs.encoding import joined
from windrow.archive.runs.run import Only, Run
from windrow.archive.versions.leases import Lease
from windrow.archive.versions.manifest import Manifest
from windrow.archive.versions.switch_over import How, two_migrations


class Moving:
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
        self._encodings = joined(self._encodings, base.encodings)
        if later.now is None or cells.has(later):
            made = replace(later, grid=cells.grid, periods=cells.periods)
        elif self._how == "drain":
            made = _drained(later, later.now, cells)
        else:
            if self._done is None:
                self._done = self._rebuilt(later, later.now)
            made = self._caught_up(self._done, later, later.now)
            made = _renumbered(made, self._first, later.next_run)
        return made.manifest(
            base.version + 1, self._token, self._layout, cells.format, self._encodings
        )

    def _rebuilt(self, contents: Contents, now: int) -> Contents:
        """The new index of what was inserted before the newest period."""
        cells, over = self._cells, contents.periods.over(now)
        dealt, alive_from = deal(contents, now, cells), contents.periods.last(over) + 1
        spread = Spread(self._disk, self._layout, cells, self._encodings, self._name)
        for done, held in enumerate(dealt.scattered, start=1):
            spread.add(self._opened(held.ref), Only(held.days, alive_from))
            self._progress(Reached("runs dealt out", done, len(dealt.scattered)))
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
            elif found := spread.packed(place, held_here, self._opened, over):
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

    def _caught_up(self, done: Contents, later: Contents, now: int) -> Contents:
        """The new index with what the old one has taken in from the newest period on."""
        newest, entries = later.periods.of(now), self._since(later, now)
        days = entries.column(DAY).cast(pa.int32()).to_numpy()
        for day in sorted(set(days.tolist()) - {newest}):  # closed: this is not done again
            part = entries.filter(pa.array(days == day))
            done = self._taken(done, later.periods.last(day), part)
        self._done, self._newest = done, newest
        made = self._taken(done, now, entries.filter(pa.array(days == newest)))
        return replace(made, batches=later.batches)

    def _since(self, contents: Contents, now: int) -> pa.Table:
        """What lives of all that was inserted in the newest period and later."""
        schema, found = self._layout.given({}), []
        for ref in contents.runs.values():
            days = tuple(day for day, _ in ref.days if day >= self._newest)
            if days:
                run, only = self._opened(ref), Only(days, now + 1)
                run.read_whole()
                found += run.entries.rows(0, ref.rows, schema, only)
        return stamped(self._layout, found)

    def _taken(self, contents: Contents, now: int, entries: pa.Table) -> Contents:
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


def _drained(contents: Contents, now: int, cells: Cells) -> Contents:
    """The new layout, empty, beside what there is."""
    empty = IndexState(contents.periods.over(now), contents.next_run, ((),) * cells.grid.size)
    old = tuple(part.draining() for part in contents.partitions if part.live)
    return replace(contents, periods=cells.periods, grid=cells.grid, state=empty, draining=old)


def _renumbered(made: Contents, first: int, free: int) -> Contents:
    """Runs that have numbers from ``first`` on get them from ``free`` on: those before it have
    been used by whoever was faster.
    """
    assert made.state is not None, "it has taken an update in"

    def moved(number: int) -> int:
        return number if number < first else number - first + free

    subindices = tuple(
        tuple(replace(run, number=moved(run.number)) for run in runs)
        for runs in made.state.subindices
    )
    state = IndexState(made.state.over, moved(made.state.next_run), subindices)
    return replace(made, state=state, runs={moved(n): ref for n, ref in made.runs.items()})
