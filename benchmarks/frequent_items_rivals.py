"""Other ways to the sources over a threshold in a sliding window, for ``frequent_items``.

Each takes in a window and one sub-window more, and is asked once, as Algorithm 6 is when it first
answers. Sources are small numbers here, so that exact counters can be an array; texts would cost
them a hash table.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from time import process_time
from typing import NamedTuple

import datasketches as ds
import numpy as np
import numpy.typing as npt

from windrow.synopses import Frequent

Int64s = npt.NDArray[np.int64]
OURS, EXACT = "FREQUENT (Algorithm 6)", "exact counters per sub-window"
UNION = 11
"""Size of the sketch into which those of all sub-windows are merged: 1,536 items."""


class Lap(NamedTuple):
    """``found`` are the sources that are over the threshold for sure; space is in pairs."""

    seconds: float
    answer: float
    pairs: int
    found: set[int]
    delta: int
    wanted: int = 0


def frequent(rows: Int64s, window: int, b: int, k: int, _delta: int | None) -> Lap:
    before = process_time()
    one = Frequent.over_rows(window, b, k)
    one.append(rows)
    fed = process_time()
    answer = one.answer()
    done = process_time()
    found = {item for item, _ in answer.items}
    return Lap(fed - before, done - fed, one.size(), found, answer.delta)


def exact_counters(rows: Int64s, window: int, b: int, _k: int, delta: int | None) -> Lap:
    """6.1: a basic interval synopsis of counters, and global ones beside it."""
    assert delta is not None
    before = process_time()
    counters = np.zeros(int(rows.max()) + 1, np.int64)
    intervals: deque[tuple[Int64s, Int64s]] = deque()
    for start in range(0, len(rows), b):
        items, counts = np.unique(rows[start : start + b], return_counts=True)
        counters[items] += counts
        intervals.append((items, counts))
        if len(intervals) > window // b:
            items, counts = intervals.popleft()
            counters[items] -= counts
    fed = process_time()
    found = set(np.flatnonzero(counters > delta).tolist())
    done = process_time()
    pairs = sum(len(items) for items, _ in intervals) + int(np.count_nonzero(counters))
    return Lap(fed - before, done - fed, pairs, found, delta)


def all_tuples(rows: Int64s, window: int, b: int, _k: int, delta: int | None) -> Lap:
    """The window itself in a ring, counted for each answer."""
    assert delta is not None
    before = process_time()
    ring = np.empty(window, np.int64)
    for start in range(0, len(rows), b):
        part = rows[start : start + b]
        at = start % window
        ring[at : at + len(part)] = part
    fed = process_time()
    found = set(np.flatnonzero(np.bincount(ring) > delta).tolist())
    done = process_time()
    return Lap(fed - before, done - fed, window, found, delta)


def sketches(lg_size: int) -> Callable[[Int64s, int, int, int, int | None], Lap]:
    """A frequent items sketch per sub-window, merged for each answer."""

    def run(rows: Int64s, window: int, b: int, _k: int, delta: int | None) -> Lap:
        assert delta is not None
        before = process_time()
        intervals: deque[ds.frequent_items_sketch] = deque()
        for start in range(0, len(rows), b):
            sketch = ds.frequent_items_sketch(lg_size)
            items, counts = np.unique(rows[start : start + b], return_counts=True)
            for item, count in zip(items.tolist(), counts.tolist(), strict=True):
                sketch.update(item, count)
            intervals.append(sketch)
            if len(intervals) > window // b:
                intervals.popleft()
        fed = process_time()
        union = ds.frequent_items_sketch(UNION)
        for sketch in intervals:
            union.merge(sketch)
        listed = union.get_frequent_items(ds.frequent_items_error_type.NO_FALSE_NEGATIVES)
        found = {item for item, _, lower, _ in listed if lower > delta}
        done = process_time()
        pairs = sum(sketch.num_active_items for sketch in intervals) + union.num_active_items
        return Lap(fed - before, done - fed, pairs, found, delta)

    return run


WAYS: dict[str, Callable[[Int64s, int, int, int, int | None], Lap]] = {
    OURS: frequent,
    EXACT: exact_counters,
    "all tuples, counted again": all_tuples,
    "frequent items sketches of 6": sketches(3),
    "frequent items sketches of 12": sketches(4),
    "frequent items sketches of 24": sketches(5),
}
