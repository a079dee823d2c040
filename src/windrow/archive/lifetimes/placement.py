"""Where the entries of an index belong in another grid, and packed runs of them there.

What another grid would do with the runs that there are is decided without touching a file: a run
whose entries all belong into one sub-index of the new grid can be merged there, or stay as it is;
the entries of others have to be dealt out one by one. What came in the newest period is left aside:
more may come in it while the index is being rebuilt.

Runs whose entries are dealt out are read in stretches, their living entries sorted out and written
as pieces; the pieces of a sub-index are merged in the end. So each entry is written once if all of
them fit into ``AT_ONCE`` bytes of memory, and twice otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from windrow.archive.format.disk import Disk
from windrow.archive.format.layout import DAY, EXPIRY, Layout
from windrow.archive.format.run_ref import Format, RunRef
from windrow.archive.lifetimes.index_contents import (
    Contents,
    Histogram,
    RunState,
    histogram,
    sum_histograms,
)
from windrow.archive.lifetimes.partition_grid import Grid, GridTechnique, Periods
from windrow.archive.lifetimes.update import by_subindex
from windrow.archive.runs.encoding import encode_columns
from windrow.archive.runs.merge import merge
from windrow.archive.runs.run import ALL, Only, Run
from windrow.archive.runs.write import write_day
from windrow.columns.arrays import Int64s
from windrow.core.thresholds import Threshold


@dataclass(frozen=True)
class HeldRun:
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

    def wants(self, held: HeldRun, over: int) -> bool:
        """Whether a run may stay as it is where it belongs: nothing dead, in the right format."""
        return held.run.live(over) == held.run.total and held.ref.format == self.format

    def has(self, contents: Contents) -> bool:
        """Whether all runs of an index lie where, and are as, this layout wants them."""
        if contents.draining or contents.state is None:
            return not contents.runs
        over, rebuilt = contents.state.over, self.grid.technique is GridTechnique.REBUILD
        for number, runs in enumerate(contents.state.subindices):
            if rebuilt and (len(runs) > 1 or any(run.live(over) < run.total for run in runs)):
                return False
            for run in runs:
                ref = contents.runs[run.number]
                if self.place(run, ref, over) != number or ref.format != self.format:
                    return False
        return len(contents.state.subindices) == self.grid.size


@dataclass(frozen=True)
class Placement:
    """``whole`` runs by the sub-index that they go to, and runs whose entries are ``scattered``."""

    whole: dict[int, list[HeldRun]]
    scattered: list[HeldRun]


def deal(contents: Contents, now: int, cells: Cells) -> Placement:
    """Where the runs of an index go that is rebuilt at ``now``."""
    newest, over = contents.periods.of(now), contents.periods.over(now)
    dealt = Placement({}, [])
    for part in contents.partitions:
        for run in (run for runs in part.state.subindices for run in runs):
            ref = contents.runs[run.number]
            held = HeldRun(run, ref, tuple(day for day, _ in ref.days if day < newest))
            place = cells.place(run, ref, over)
            if place is not None and len(held.days) == len(ref.days):
                dealt.whole.setdefault(place, []).append(held)
            elif held.days:
                dealt.scattered.append(held)
    return dealt


AT_ONCE = Threshold(256 << 20, least=600)
ROWS = Threshold(1_000_000, least=1)


class Spread:
    """Writes runs for the sub-indices of a layout; ``encodings`` widen as they are written."""

    def __init__(
        self,
        disk: Disk,
        layout: Layout,
        cells: Cells,
        encodings: Mapping[str, str],
        name: Callable[[], str],
    ) -> None:
        self.encodings = dict(encodings)
        self._disk, self._layout, self._cells, self._name = disk, layout, cells, name
        self._batches: list[pa.RecordBatch] = []
        self._pieces: dict[int, list[tuple[RunRef, Histogram]]] = {}

    def add(self, run: Run, only: Only) -> None:
        """Take in the entries of a run that count."""
        run.read_whole()
        schema, rows = self._layout.reader_schema({}), run.ref.rows
        step = max(1, min(ROWS.value, AT_ONCE.value // 4 * rows // max(1, run.ref.entries.size)))
        for start in range(0, rows, step):
            self._batches += run.entries.rows(start, min(start + step, rows), schema, only)
            if sum(batch.nbytes for batch in self._batches) >= AT_ONCE.value:
                self.flush()

    def flush(self) -> None:
        """Write what is held in memory."""
        if not self._batches:
            return
        entries, self._batches = stamp_entries(self._layout, self._batches), []
        ends = self._cells.periods.of_each(entries.column(EXPIRY).to_numpy())
        days = entries.column(DAY).cast(pa.int32()).to_numpy().astype(np.int64)
        places = _places(self._cells, days, ends)
        for number, part in by_subindex(entries, places).items():
            found, counts = np.unique(ends[places == number], return_counts=True)
            expiries = histogram(dict(zip(found.tolist(), counts.tolist(), strict=True)))
            ref, self.encodings = write_day(
                self._disk, self._layout, self.encodings, part, self._name(), self._cells.format
            )
            self._pieces.setdefault(number, []).append((ref, expiries))

    def reaches(self, number: int) -> bool:
        """Whether a sub-index has been given anything."""
        return number in self._pieces

    def pack(
        self, number: int, held: Sequence[HeldRun], opened: Callable[[RunRef], Run], over: int
    ) -> tuple[RunRef, Histogram] | None:
        """One run of old runs and all that was added for a sub-index; None if that is nothing."""
        pieces = self._pieces.pop(number, [])
        if len(pieces) == 1 and not held:
            return pieces[0]
        alive = Only(after=self._cells.periods.last(over) + 1)
        inputs = [(opened(one.ref), alive) for one in held]
        inputs += [(Run(self._disk, self._layout, ref), ALL) for ref, _ in pieces]
        if not inputs:
            return None
        merged, self.encodings = merge(
            self._disk, self._layout, self.encodings, inputs, self._name(), self._cells.format
        )
        for ref, _ in pieces:
            for file, _ in ref.files:
                self._disk.delete(file)
        assert merged is not None, "the state has no run that is wholly dead"
        parts = [one.run.expiries for one in held] + [expiries for _, expiries in pieces]
        return merged, sum_histograms(parts, over)


def stamp_entries(layout: Layout, batches: Sequence[pa.RecordBatch]) -> pa.Table:
    """Entries that were read with all their columns, in the form in which they are written."""
    table = pa.Table.from_batches(batches, layout.reader_schema({})).combine_chunks()
    return encode_columns(table, layout.stored_schema({})).combine_chunks()


def _places(cells: Cells, days: Int64s, ends: Int64s) -> Int64s:
    """The sub-index of each entry; the grid is asked once for each pair of periods."""
    low, width = int(ends.min()), int(ends.max() - ends.min()) + 1
    pairs, position = np.unique(days * width + (ends - low), return_inverse=True)
    numbers = [
        cells.grid.subindex(pair // width, pair % width + low, cells.periods)
        for pair in pairs.tolist()
    ]
    return np.array(numbers, np.int64)[position]
