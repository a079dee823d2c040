"""What another grid would do with the runs that there are, decided without touching a file.

A run whose entries all belong into one sub-index of the new grid can be merged there, or stay as
it is; the entries of others have to be dealt out one by one. What came in the newest period is
left aside: more may come in it while the index is being rebuilt.
"""

from __future__ import annotations

from dataclasses import dataclass

from windrow.archive.format.run_ref import Format, RunRef
from windrow.archive.lifetimes.index_contents import Contents
from windrow.archive.lifetimes.partition_grid import Grid, Technique
from windrow.archive.lifetimes.periods import Periods
from windrow.archive.lifetimes.state import RunState


@dataclass(frozen=True)
class Held:
    """A run of the old index, and what of it was inserted in periods before the newest."""

    run: RunState
    ref: RunRef
    days: tuple[int, ...]

    def live_bytes(self, over: int) -> int:
        """What the living of those periods take, if all periods die alike."""
        days = set(self.days)
        older = sum(rows for day, rows in self.ref.days if day in days)
        return self.ref.bytes * self.run.live(over) * older // self.run.total**2


@dataclass(frozen=True)
class Cells:
    """The sub-indices of a layout that an index may be given."""

    grid: Grid
    periods: Periods
    format: Format

    def place(self, run: RunState, ref: RunRef, over: int) -> int | None:
        """The sub-index into which all living entries of a run belong, if it is one."""
        rows = {self.grid.row(day, self.periods) for day, _ in ref.days}
        columns = {self.grid.column(end, self.periods) for end, _ in run.expiries if end > over}
        if len(rows) != 1 or len(columns) != 1:
            return None
        return (set(rows.pop()) & set(columns.pop())).pop()

    def wants(self, held: Held, over: int) -> bool:
        """Whether a run may stay as it is where it belongs: nothing dead, in the right format."""
        return held.run.live(over) == held.run.total and held.ref.format == self.format

    def has(self, contents: Contents) -> bool:
        """Whether all runs of an index lie where, and are as, this layout wants them."""
        if contents.draining or contents.state is None:
            return not contents.runs
        over, rebuilt = contents.state.over, self.grid.technique is Technique.REBUILD
        for number, runs in enumerate(contents.state.subindices):
            if rebuilt and (len(runs) > 1 or any(run.live(over) < run.total for run in runs)):
                return False
            for run in runs:
                ref = contents.runs[run.number]
                if self.place(run, ref, over) != number or ref.format != self.format:
                    return False
        return len(contents.state.subindices) == self.grid.size


@dataclass(frozen=True)
class Dealt:
    """``whole`` runs by the sub-index that they go to, and runs whose entries are ``scattered``."""

    whole: dict[int, list[Held]]
    scattered: list[Held]


def deal(contents: Contents, now: int, cells: Cells) -> Dealt:
    """Where the runs of an index go that is rebuilt at ``now``."""
    newest, over = contents.periods.of(now), contents.periods.over(now)
    dealt = Dealt({}, [])
    for part in contents.partitions:
        for run in (run for runs in part.state.subindices for run in runs):
            ref = contents.runs[run.number]
            held = Held(run, ref, tuple(day for day, _ in ref.days if day < newest))
            place = cells.place(run, ref, over)
            if place is not None and len(held.days) == len(ref.days):
                dealt.whole.setdefault(place, []).append(held)
            elif held.days:
                dealt.scattered.append(held)
    return dealt
