"""Entries dealt out anew: packed runs for the sub-indices of another grid.

Runs are read in stretches, their living entries sorted out and written as pieces; the pieces of a
sub-index are merged in the end. So each entry is written once if all of them fit into ``AT_ONCE``
bytes of memory, and twice otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyarrow as pa

from windrow.archive.format.disk import Disk
from windrow.archive.format.layout import DAY, EXPIRY, Layout
from windrow.archive.format.run_ref import RunRef
from windrow.archive.lifetimes.arrivals import by_subindex, expiry_periods
from windrow.archive.lifetimes.dealing import Cells, Held
from windrow.archive.lifetimes.state import Histogram, added, histogram
from windrow.archive.runs.encoding import encoded
from windrow.archive.runs.merge import merge
from windrow.archive.runs.run import ALL, Only, Run
from windrow.archive.runs.write import write_day
from windrow.columns.arrays import Int64s
from windrow.core.thresholds import Threshold

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
        schema, rows = self._layout.given({}), run.ref.rows
        step = max(1, min(ROWS.value, AT_ONCE.value // 4 * rows // max(1, run.ref.entries.size)))
        for start in range(0, rows, step):
            self._batches += run.entries.rows(start, min(start + step, rows), schema, only)
            if sum(batch.nbytes for batch in self._batches) >= AT_ONCE.value:
                self.flush()

    def flush(self) -> None:
        """Write what is held in memory."""
        if not self._batches:
            return
        entries, self._batches = stamped(self._layout, self._batches), []
        ends = expiry_periods(self._cells.periods, entries.column(EXPIRY).to_numpy())
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

    def packed(
        self, number: int, held: Sequence[Held], opened: Callable[[RunRef], Run], over: int
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
        return merged, added(parts, over)


def stamped(layout: Layout, batches: Sequence[pa.RecordBatch]) -> pa.Table:
    """Entries that were read with all their columns, in the form in which they are written."""
    table = pa.Table.from_batches(batches, layout.given({})).combine_chunks()
    return encoded(table, layout.stored({})).combine_chunks()


def _places(cells: Cells, days: Int64s, ends: Int64s) -> Int64s:
    """The sub-index of each entry; the grid is asked once for each pair of periods."""
    low, width = int(ends.min()), int(ends.max() - ends.min()) + 1
    pairs, position = np.unique(days * width + (ends - low), return_inverse=True)
    numbers = [
        cells.grid.subindex(pair // width, pair % width + low, cells.periods)
        for pair in pairs.tolist()
    ]
    return np.array(numbers, np.int64)[position]
