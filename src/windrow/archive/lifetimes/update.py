"""An index takes an update in: arrivals are sorted out, the plan carried out on runs.

Entries that are dead when they come are left out; one that would live longer than the index
keeps records is refused with all the others, since its column would be emptied too early. New
records go to the present partitioning. Those that drain only forget; one that has nothing left
is no longer mentioned.

What is new and is merged with older runs goes through a run in memory first, so that it is
written to disk once. A run that is not merged costs its own writing only; what is dropped, or
expires without being rewritten, costs nothing here.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.archive.errors import LifetimeError
from windrow.archive.format.disk import Disk, Written
from windrow.archive.format.layout import EXPIRY, Layout
from windrow.archive.format.run_ref import Format, RunRef
from windrow.archive.lifetimes.index_contents import Contents, IndexState, Partition
from windrow.archive.lifetimes.partition_grid import Grid, Periods
from windrow.archive.lifetimes.plan_update import Step, Write, plan_update
from windrow.archive.progress_callback import Progress, Reached, nobody
from windrow.archive.runs.merge import merge
from windrow.archive.runs.run import ALL, Only, Run
from windrow.archive.runs.write import write_day
from windrow.columns.arrays import Int64s


@dataclass(frozen=True)
class Arrivals:
    """``counts`` by expiry period, ``entries`` by sub-index; ``dead`` were left out."""

    counts: dict[int, int]
    entries: dict[int, pa.Table]
    dead: int


NOTHING = Arrivals({}, {}, 0)


def sort_out(grid: Grid, periods: Periods, now: int, entries: pa.Table) -> Arrivals:
    """Linear in the entries, and one copy of them."""
    expiries = entries.column(EXPIRY).to_numpy()
    if len(expiries) and (latest := int(expiries.max())) > now + periods.longest:
        raise LifetimeError(
            where=f"insertion at {periods.label(now)}",
            expected=f"expiries up to {periods.label(now + periods.longest)}: lifetimes of at most "
            f"{periods.count} periods",
            found=periods.label(latest),
            remedy="shorten the lifetime, or create an index for longer ones",
        )
    live = expiries > now
    dead = len(expiries) - int(live.sum())
    if dead:
        entries, expiries = entries.filter(pa.array(live)), expiries[live]
    ends = periods.of_each(expiries)
    found, position, counts = np.unique(ends, return_inverse=True, return_counts=True)
    numbers = [grid.subindex(periods.of(now), period, periods) for period in found.tolist()]
    place = np.array(numbers, np.int64)[position]
    counted = dict(zip(found.tolist(), counts.tolist(), strict=True))
    return Arrivals(counted, by_subindex(entries, place), dead)


def in_ticks(
    expiries: pa.Array | pa.ChunkedArray | Sequence[Any], periods: Periods, now: int
) -> pa.Array:
    """Expiries as whole numbers: times of whatever unit in microseconds, numbers as they are."""
    if not isinstance(expiries, pa.Array | pa.ChunkedArray):
        expiries = pa.array(expiries)
    kind = expiries.type
    if pa.types.is_integer(kind) or pa.types.is_null(kind):
        wanted = pa.int64()
    elif periods.timestamps and (pa.types.is_timestamp(kind) or pa.types.is_date(kind)):
        wanted = pa.timestamp("us", kind.tz if pa.types.is_timestamp(kind) else None)
    else:
        wanted = None
    try:
        if wanted is not None:
            return expiries.cast(wanted).cast(pa.int64())
    except pa.ArrowInvalid:  # of a finer unit, or out of range
        pass
    raise LifetimeError(
        where=f"insertion at {now}",
        expected="expiries that are times in whole microseconds, or 64-bit integers"
        if periods.timestamps
        else "expiries that are 64-bit integers, in ticks as instants are here",
        found=str(kind),
        remedy="cast them first",
    )


def by_subindex(entries: pa.Table, place: Int64s) -> dict[int, pa.Table]:
    """Entries by the number of their sub-index; not copied if there is but one."""
    numbers = np.unique(place).tolist()
    return {
        number: entries if len(numbers) == 1 else entries.filter(pa.array(place == number))
        for number in numbers
    }


class _Memory(Disk):
    """Files that last as long as this object."""

    summed = False

    def __init__(self) -> None:
        super().__init__(Path("memory"))
        self._files: dict[str, pa.Buffer] = {}

    def write(self, name: str, fill: Callable[[Any], object]) -> Written:
        stream = pa.BufferOutputStream()
        fill(stream)
        data = stream.getvalue()
        pages = mmap.mmap(-1, data.size)
        pages.write(data)
        self._files[name] = pa.py_buffer(pages)
        return Written(data.size, 0)

    def sum(self, name: str) -> Written:
        """Nobody doubts memory."""
        return Written(self._files[name].size, 0)

    def sync(self, name: str) -> None:
        """Nothing to do: memory is as durable as it gets."""

    def map(self, name: str) -> pa.Buffer:
        return self._files[name]


@dataclass(frozen=True)
class Carrier:
    """Where and how runs are written. ``name`` makes a file name of a run's number.

    ``progress`` is told how many runs of a step have been written.
    """

    disk: Disk
    layout: Layout
    kind: Format
    name: Callable[[int], str]
    progress: Progress = nobody

    def carry_out(
        self,
        step: Step,
        runs: Callable[[int], Run],
        fresh: Mapping[int, pa.Table],
        encodings: Mapping[str, str],
        alive_from: int,
    ) -> tuple[dict[int, RunRef], dict[str, str]]:
        """The runs that the step writes, by number, and the encodings from now on.

        ``fresh`` are the new entries by sub-index; entries of merged runs that expire before
        ``alive_from`` are left behind.
        """
        after = dict(encodings)
        written = {}
        for done, write in enumerate(step.writes, start=1):
            table = fresh[write.subindex] if write.fresh else None
            written[write.run], after = self._write(write, runs, table, after, alive_from)
            size = sum(ref.bytes for ref in written.values())
            self.progress(Reached("runs", done, len(step.writes), size))
        return written, after

    def _write(
        self,
        write: Write,
        runs: Callable[[int], Run],
        fresh: pa.Table | None,
        encodings: dict[str, str],
        alive_from: int,
    ) -> tuple[RunRef, dict[str, str]]:
        name = self.name(write.run)
        if fresh is not None and not write.merged:
            return write_day(self.disk, self.layout, encodings, fresh, name, self.kind)
        inputs = [(run, _live_entries(run, alive_from)) for run in map(runs, write.merged)]
        if fresh is not None:
            memory = _Memory()
            ref, wider = write_day(memory, self.layout, encodings, fresh, name, "arrow")
            inputs.append((Run(memory, self.layout, ref), ALL))
            encodings = wider if self.kind == "arrow" else encodings
        merged, after = merge(self.disk, self.layout, encodings, inputs, name, self.kind)
        assert merged is not None, "a planned run has records"
        return merged, after


def _live_entries(run: Run, alive_from: int) -> Only:
    """All of a run, without looking at its expiries, if none can be over."""
    assert run.ref.expiries is not None, "an index of lifetimes keeps expiries"
    return ALL if run.ref.expiries[0] >= alive_from else Only(after=alive_from)


@dataclass(frozen=True)
class UpdateResult:
    """What an update makes of an index. ``step`` is that of the present partitioning."""

    contents: Contents
    encodings: Mapping[str, str]
    step: Step
    bytes_written: int


def take(
    before: Contents,
    now: int,
    arrivals: Arrivals,
    carrier: Carrier,
    opened: Callable[[RunRef], Run],
    encodings: Mapping[str, str],
) -> UpdateResult:
    """The index after an update at ``now``, its runs written but nothing published."""
    empty = IndexState.empty(before.grid.size, before.periods.over(now))
    present = Partition(before.grid, before.periods, before.state or empty)
    after, number, counts = [], before.next_run, arrivals.counts
    runs, steps, size = dict(before.runs), [], 0
    for held in (present, *before.draining):
        state, step = plan_update(
            held.grid, held.periods, replace(held.state, next_run=number), now, counts
        )
        part = replace(held, state=state)
        alive_from = part.periods.last(part.state.over) + 1
        written, encodings = carrier.carry_out(
            step, lambda n: opened(runs[n]), arrivals.entries, encodings, alive_from
        )
        runs.update(written)
        size += sum(ref.bytes for ref in written.values())
        number, counts = part.state.next_run, {}
        after.append(part)
        steps.append(step)
    present, *others = after
    draining = tuple(part for part in others if part.live)
    kept = {n for part in after for n in part.state.run_numbers()}
    contents = replace(
        before,
        now=now,
        # Numbers that a draining partitioning has used up are used up for all.
        state=replace(present.state, next_run=number),
        runs={n: ref for n, ref in runs.items() if n in kept},
        draining=draining,
    )
    return UpdateResult(contents, encodings, steps[0], size)
