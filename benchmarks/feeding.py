"""Our own engine under measurement: Arrow batches in, Arrow batches out, the clock beside it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from windrow.columns.delta import Delta
from windrow.engine.pipeline import Pipeline


@dataclass
class Feed:
    """Streams in order of their first column, ``ts``, and how far they have been read.

    ``take(rows)`` cuts the next intervals off: each has ``rows`` rows of the stream that is
    listed first, and whatever the others have up to the same instant.
    """

    streams: Mapping[str, pa.RecordBatch]
    _ts: dict[str, np.ndarray] = field(init=False)
    _at: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self._ts = {
            name: rows.column(0).cast(pa.int64()).to_numpy() for name, rows in self.streams.items()
        }
        self._at = dict.fromkeys(self.streams, 0)

    def take(self, rows: int) -> tuple[dict[str, Delta], int] | None:
        lead = next(iter(self.streams))
        stop = self._at[lead] + rows
        if stop > len(self._ts[lead]):
            return None
        now = int(self._ts[lead][stop - 1])
        inputs = {}
        for name, ts in self._ts.items():
            start, end = self._at[name], int(np.searchsorted(ts, now, side="right"))
            inputs[name] = Delta.insertions(
                ts[start:end], self.streams[name].slice(start, end - start)
            )
            self._at[name] = end
        return inputs, now


@dataclass(frozen=True)
class Lap:
    """What one stretch of a run took."""

    seconds: float
    work: float
    """Seconds of processor time: what the engine did, whoever else was at the machine."""
    tuples: int
    results: int

    @property
    def rate(self) -> float:
        return self.tuples / self.seconds


def lap(pipeline: Pipeline, feed: Feed, tuples: int, rows: int) -> Lap:
    """Process about ``tuples`` tuples of all streams, in intervals of ``rows`` rows of the first.

    Intervals are cut beforehand, so that only the engine is measured. Results are made as Arrow
    batches, counted and let go.
    """
    intervals = list(_intervals(feed, tuples, rows))
    results = 0
    began, worked = time.perf_counter(), time.process_time()
    for inputs, now in intervals:
        results += len(pipeline.process(inputs, now))
    seconds, work = time.perf_counter() - began, time.process_time() - worked
    read = sum(len(d) for inputs, _ in intervals for d in inputs.values())
    return Lap(seconds, work, read, results)


def _intervals(feed: Feed, tuples: int, rows: int) -> Iterator[tuple[dict[str, Delta], int]]:
    read = 0
    while read < tuples:
        interval = feed.take(rows)
        if interval is None:
            return
        read += sum(len(d) for d in interval[0].values())
        yield interval
