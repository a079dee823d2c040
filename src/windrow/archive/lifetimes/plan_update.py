"""One update of an index of variable lifetimes, decided without touching a file.

Given what the index holds, the instant, and how many new records expire in which period, the
step says which sub-indices are touched, which runs are read, written and dropped (Golab et al.
2006b, Algorithm 1). ``update.py`` carries it out.

Rebuild rewrites all runs of a touched sub-index. NoRebuild writes what is new as a further run, and
keeps the number of runs and of dead records within bounds as it goes, where the paper leaves both
to a compaction that it does not measure (4.1):

- a new run takes in the youngest older ones for as long as those are less than twice as large
  as it has become, so that when it is written the next older one is at least twice as large,
  and the number of runs grows with the logarithm of the sub-index's size only;
- a run more than half of which is dead is rewritten, so files hold at most two records for
  each live one. Each rewriting is paid for by the dead that it removes.

Invariants
    1. A record is in the sub-index in the row of its insertion and the column of its expiry.
    2. An update at the end of the next period touches G + E - 1 sub-indices, no others change.
    3. After it no run is wholly dead; under Rebuild none holds a dead record, and each
       sub-index is one run at most.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from windrow.archive.errors import LifetimeError
from windrow.archive.lifetimes.index_contents import (
    Histogram,
    IndexState,
    RunState,
    histogram,
    sum_histograms,
)
from windrow.archive.lifetimes.partition_grid import Grid, GridTechnique, Periods


def runs_to_merge(
    technique: GridTechnique, runs: Sequence[RunState], fresh: int, over: int, dying: bool
) -> tuple[RunState, ...]:
    """The runs (oldest first) that give way to one new run, which holds their live records
    and ``fresh`` new ones. Without fresh records and with none to merge, nothing is written.

    ``dying`` says that records of this sub-index die in this update. Runs that are wholly dead
    are never merged: they are dropped by name.
    """
    alive = [run for run in runs if run.live(over)]
    if technique is GridTechnique.REBUILD:
        return tuple(alive) if fresh or dying else ()
    chosen = [run for run in alive if 2 * run.live(over) < run.total]
    size = fresh + sum(run.live(over) for run in chosen)
    for run in reversed([run for run in alive if run not in chosen]):
        if run.live(over) >= 2 * size:
            break
        chosen.append(run)
        size += run.live(over)
    return tuple(run for run in alive if run in chosen)


@dataclass(frozen=True)
class Write:
    """A run to be written: the live records of ``merged`` runs and ``fresh`` new ones."""

    subindex: int
    run: int
    merged: tuple[int, ...]
    fresh: int
    records: int


@dataclass(frozen=True)
class Step:
    """What an update does. ``inserted`` and ``expired`` are sub-indices, ``dropped`` runs."""

    inserted: tuple[int, ...]
    expired: tuple[int, ...]
    writes: tuple[Write, ...]
    dropped: tuple[int, ...]
    records_read: int

    @property
    def touched_subindices(self) -> tuple[int, ...]:
        return tuple(sorted({*self.inserted, *self.expired}))

    @property
    def records_written(self) -> int:
        return sum(write.records for write in self.writes)


def plan_update(
    grid: Grid, periods: Periods, state: IndexState, now: int, arrivals: Mapping[int, int]
) -> tuple[IndexState, Step]:
    """The state and the step at ``now``; ``arrivals`` counts new live records by expiry period.

    One update may end several periods (then it touches several columns) or none (an update
    between two boundaries, whose records join the row of the period that is under way).
    """
    over = periods.over(now)
    _require_possible(periods, state, now, arrivals)
    passed = range(state.over + 1, over + 1)
    expired = set(range(grid.size))
    if len(passed) <= periods.count:  # otherwise all that was there may be over
        expired = {number for period in passed for number in grid.column(period, periods)}
    inserted = grid.row(periods.of(now), periods) if arrivals else ()
    if arrivals and len(passed) == 1:
        assert len({*inserted, *expired}) == grid.touched_count, "a row and a column cross once"
    fresh: dict[int, dict[int, int]] = {number: {} for number in inserted}
    for period, records in arrivals.items():
        fresh[grid.subindex(periods.of(now), period, periods)][period] = records
    subindices, writes, dropped, read = list(state.subindices), [], [], 0
    run = state.next_run
    for number in sorted({*inserted, *expired}):
        runs = state.subindices[number]
        new = histogram(fresh.get(number, {}))
        kept, merged, lost = _decide(grid, runs, new, over, state.over)
        if merged or new:
            written = RunState(run, sum_histograms([r.expiries for r in merged] + [new], over))
            kept = (*kept, written)
            names = tuple(r.number for r in merged)
            writes.append(Write(number, run, names, _total(new), written.total))
            read += sum(r.total for r in merged)
            run += 1
        subindices[number] = kept
        dropped += lost
    step = Step(inserted, tuple(sorted(expired)), tuple(writes), tuple(dropped), read)
    return IndexState(over, run, tuple(subindices)), step


def _decide(
    grid: Grid, runs: tuple[RunState, ...], new: Histogram, over: int, before: int
) -> tuple[tuple[RunState, ...], tuple[RunState, ...], list[int]]:
    """Which runs stay, which are merged, which go without a successor."""
    dying = any(run.live(over) < run.live(before) for run in runs)
    merged = runs_to_merge(grid.technique, runs, _total(new), over, dying)
    kept = tuple(run for run in runs if run.live(over) and run not in merged)
    lost = [run.number for run in runs if not run.live(over)]
    return kept, merged, lost


def _require_possible(
    periods: Periods, state: IndexState, now: int, arrivals: Mapping[int, int]
) -> None:
    over = periods.over(now)
    if over < state.over:
        raise LifetimeError(
            where=f"update at {now}",
            expected=f"an instant from {periods.last(state.over)} on: time does not go back",
            found=str(now),
            remedy="pass the time of this update",
        )
    latest = periods.of(now) + periods.count
    outside = [period for period in arrivals if not over < period <= latest]
    if outside:
        raise LifetimeError(
            where=f"update at {now}",
            expected=f"expiries after {periods.last(over)} and up to {periods.last(latest)}",
            found=f"records that expire between {periods.first(outside[0])} and "
            f"{periods.last(outside[0])}",
            remedy="leave out expired records; a longer lifetime needs a new index",
        )


def _total(counts: Histogram) -> int:
    return sum(records for _, records in counts)
