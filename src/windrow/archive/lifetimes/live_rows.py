"""The living entries of a run that has dead ones, without copying the living.

Buckets are ordered by expiry, so what lives of each is its end: one binary search per bucket
gives the rows, and an Arrow run has them as slices where they are mapped. Where buckets are
short, or a file is decoded anyway, sieving the rows costs less than a slice for each bucket.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from windrow.archive.format.kernel_use import Kernels
from windrow.archive.format.layout import EXPIRY
from windrow.archive.runs.run import ALL, Only, Run
from windrow.columns.arrays import Int64s
from windrow.core.thresholds import Threshold

WORTH_A_SLICE = Threshold(128 << 10)
"""Bytes of a bucket from which a slice costs less than a copy (some microseconds)."""

_kernels = Kernels("windrow.archive.runs.kernels.sort_kernels")
_ONLY_EXPIRY = pa.schema([pa.field(EXPIRY, pa.int64())])


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
