"""Reading an index of variable lifetimes: probes and scans of what is alive.

Runs that have died wholly are not opened; of the others each bucket is ordered by expiry, so a
probe finds its living by binary search and copies nothing. A scan does the same for every bucket
of an Arrow run, whose living are slices where they are mapped; where buckets are short, or a file
is decoded anyway, sieving the rows costs less than a slice for each bucket.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa

from windrow.archive.errors import LifetimeError
from windrow.archive.format.kernel_use import Kernels
from windrow.archive.format.layout import EXPIRY
from windrow.archive.format.run_ref import RunRef
from windrow.archive.lifetimes.index_contents import Contents
from windrow.archive.runs.run import ALL, Only, Run
from windrow.archive.versions.pinned_reader import PinnedReader, Schemas
from windrow.archive.versions.versions import Lease
from windrow.columns.arrays import Int64s
from windrow.core.thresholds import Threshold

WORTH_A_SLICE = Threshold(128 << 10)
"""Bytes of a bucket from which a slice costs less than a copy (some microseconds)."""
_kernels = Kernels("windrow.archive.runs.entry_kernels")
_ONLY_EXPIRY = pa.schema([pa.field(EXPIRY, pa.int64())])


class LifetimeReader(PinnedReader):
    """One version as seen at one instant; ``t1`` and ``t2`` are periods of insertion.

    Cost of a probe: a binary search in the directory of each run, and one in its bucket.

    >>> import tempfile
    >>> from windrow.archive import LifetimeIndex
    >>> directory, schema = tempfile.TemporaryDirectory(), pa.schema({"k": pa.int64()})
    >>> index = LifetimeIndex.create(directory.name, schema, "k", longest=4, interval=1)
    >>> update = index.insert(1, pa.table({"k": [5, 5]}), [2, 4])
    >>> with index.reader(now=3) as reader:
    ...     reader.probe(5).num_rows
    1
    """

    def __init__(
        self, lease: Lease, opened: Callable[[RunRef], Run], schemas: Schemas, now: int | None
    ) -> None:
        updated: int | None = lease.manifest.body["now"]  # taking all of it apart takes longer
        if now is not None and updated is not None and now < updated:
            label = Contents.of(lease.manifest).periods.label
            raise LifetimeError(
                where=f"reading at {label(now)}",
                expected=f"the instant of the last update, {label(updated)}, or a later one",
                found=label(now),
                remedy="read at that instant or later: expired records may be gone",
            )
        super().__init__(lease, opened, schemas, updated if now is None else now)

    def sources(self, t1: int | None = None, t2: int | None = None) -> list[tuple[RunRef, Only]]:
        """The runs that a probe or scan reads, and which of their entries count."""
        return list(self.choose_runs(t1, t2))

    def choose_runs(self, t1: int | None, t2: int | None) -> Iterator[tuple[RunRef, Only]]:
        for run in self._lease.manifest.runs:
            only = self._only(run, t1, t2)
            if only is not None:
                yield run, only

    def _rows(self, run: Run, schema: pa.Schema, only: Only) -> Iterator[pa.RecordBatch]:
        if only.after is not None and only.days is None:
            yield from live_batches(run, schema, only.after)
        else:
            yield from super()._rows(run, schema, only)

    def _only(self, run: RunRef, t1: int | None, t2: int | None) -> Only | None:
        assert run.expiries is not None, "an index of lifetimes keeps expiries"
        assert self.now is not None, "there are no runs before the first update"
        if run.expiries[1] <= self.now:
            return None
        inserted = [day for day, _ in run.days]
        wanted = tuple(
            day for day in inserted if (t1 is None or t1 <= day) and (t2 is None or day <= t2)
        )
        days = None if len(wanted) == len(inserted) else wanted
        after = None if run.expiries[0] > self.now else self.now + 1
        if days == ():
            return None
        return ALL if days is None and after is None else Only(days, after)


def live_batches(run: Run, schema: pa.Schema, after: int) -> list[pa.RecordBatch]:
    """All entries that expire at ``after`` or later."""
    directory, rows = run.directory, run.ref.rows
    worth = run.ref.entries.size >= WORTH_A_SLICE.value * max(1, len(directory))
    if run.ref.format != "arrow" or not worth or run.layout.list_key is not None:
        return run.entries.rows(0, rows, schema, Only(after=after))
    found: list[pa.RecordBatch] = []
    directory.check()
    edges = np.append(directory.starts, directory.end)
    starts, stops = live_ranges(edges, _expiries(run), after)
    for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
        found += run.entries.rows(start, stop, schema, ALL)
    return found + run.entries.rows(directory.end, rows, schema, Only(after=after))


def live_ranges(edges: Int64s, expiries: Int64s, after: int) -> tuple[Int64s, Int64s]:
    """The rows [start, stop) that live, in order; buckets that live wholly are joined.

    ``edges`` are the starts of buckets and the end of the last; ``expiries`` ascend in each.
    """
    starts, stops = np.empty(len(edges), np.int64), np.empty(len(edges), np.int64)
    count = _kernels.live_ranges(edges, expiries, after, starts, stops)
    return starts[:count], stops[:count]


def _expiries(run: Run) -> Int64s:
    parts = run.entries.rows(0, run.directory.end, _ONLY_EXPIRY, ALL)
    arrays = [part.column(0).to_numpy() for part in parts]
    return arrays[0] if len(arrays) == 1 else np.concatenate([np.empty(0, np.int64), *arrays])
