"""The ways to answer a windowed query that ``window_indexes`` compares.

Those without an index keep the window as one array in the order of arrival, so that a
re-evaluation is one call of a compiled sort: nothing has to be gathered from basic windows first.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from benchmarks.window_indexes_laps import Shape, other
from windrow.columns.growable import Growable
from windrow.papers.window_indexes.backward_rings import BackwardRing, DirtyBitRing
from windrow.papers.window_indexes.basic_storage import (
    GroupStorage,
    ListStorage,
    aggr_storage,
    hash_storage,
)
from windrow.papers.window_indexes.forward_rings import AuxRing, PlainRing
from windrow.papers.window_indexes.group_index import GroupIndex, Groups
from windrow.papers.window_indexes.indexed_window import IndexedWindow
from windrow.papers.window_indexes.ring import PositionRange, Ring
from windrow.papers.window_indexes.ring_window import RingWindow, sorted_rows
from windrow.papers.window_indexes.set_queries import (
    histogram,
    intersection,
    range_histogram,
    range_intersection,
)
from windrow.papers.window_indexes.step_counts import Steps
from windrow.papers.window_indexes.value_index import ValueIndex, h_index, l_index, t_index

BUCKETS, SMALL_BUCKETS = 100, 5
"""Of the H-INDEX and of HASH (Golab et al. 2004, 6.1)."""
STORAGES: dict[str, Callable[[], Any]] = {
    "LIST": ListStorage,
    "AGGR": aggr_storage,
    "HASH": lambda: hash_storage(SMALL_BUCKETS),
}
INDEXES: dict[str, Callable[[int], ValueIndex]] = {
    "L": l_index,
    "T": t_index,
    "H": lambda windows: h_index(BUCKETS, windows),
    "H, growing": lambda windows: h_index(None, windows),
}
RINGS: dict[str, Callable[[ValueIndex], Ring]] = {
    "ring": PlainRing,
    "AUX": AuxRing,
    "BW": BackwardRing,
    "DB": DirtyBitRing,
}
ROWS = pa.schema([("first", pa.int64()), ("second", pa.int64())])
Arrays = tuple[np.ndarray, ...]


class Indexed:
    """A windowed histogram by an index, or by none over what basic windows keep."""

    def __init__(self, shape: Shape, storage: str, index: str | None) -> None:
        made = None if index is None else INDEXES[index](1)
        self.window = IndexedWindow(shape.spec, STORAGES[storage](), made)
        self.feed = self.window.feed

    def ask(self) -> Any:
        return histogram(self.window)

    def plain(self, answer: Any) -> Arrays:
        return tuple(answer)


class Ranges:
    """The histogram of ranges, by G-INDEX over GROUP."""

    def __init__(self, shape: Shape, groups: int) -> None:
        ranges = Groups.even(0, shape.values, groups)
        self.window = IndexedWindow(shape.spec, GroupStorage(ranges), GroupIndex(ranges))
        self.feed = self.window.feed

    def ask(self) -> Any:
        return range_histogram(self.window)

    def plain(self, answer: Any) -> Arrays:
        return np.array([low or 0 for low, _, _ in answer]), np.array([c for *_, c in answer])


class Kept:
    """A window as one array, to be evaluated again at every turn."""

    def __init__(self, shape: Shape) -> None:
        self.spec, self._kept = shape.spec, Growable(np.int64)

    @property
    def held(self) -> np.ndarray:
        return self._kept.view

    @property
    def base(self) -> int:
        """How many tuples came before those that are held."""
        return self._kept.base

    def feed(self, values: np.ndarray) -> Iterator[int]:
        """Turn as the other windows do; to be called with whole basic windows."""
        room = self.spec.tuples
        for start in range(0, len(values), room):
            self._kept.append(values[start : start + room])
            self._kept.drop_before(self._kept.next - room * self.spec.basic_windows)
            yield self._kept.next // room

    def plain(self, answer: Any) -> Arrays:
        return tuple(answer)


class Sorted(Kept):
    """The histogram by sorting the window: the rival of the last line."""

    def ask(self) -> Any:
        return np.unique(self.held, return_counts=True)


class SortedByPolars(Kept):
    """The same by the sort of another library, on one thread."""

    def ask(self) -> Any:
        ordered = pl.Series(self.held).sort(multithreaded=False).to_numpy()
        starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
        return ordered[starts], np.diff(np.append(starts, len(ordered)))


class Tallied(Kept):
    """The histogram by an array with a place for every possible value, which must be small."""

    def ask(self) -> Any:
        counts = np.bincount(self.held)
        found = np.flatnonzero(counts)
        return found, counts[found]


class Intersected:
    """The values that two windows share, by one index with two counts per node."""

    def __init__(self, shape: Shape, storage: str, index: str) -> None:
        self.values, self.index = shape.values, INDEXES[index](2)
        self.windows = [
            IndexedWindow(shape.spec, STORAGES[storage](), self.index, n) for n in (0, 1)
        ]

    def feed(self, values: np.ndarray) -> Iterator[int]:
        return both(self.windows, values, other(values, self.values))

    def ask(self) -> Any:
        return intersection(self.index)

    def plain(self, answer: Any) -> Arrays:
        return (answer,)


class IntersectedRanges:
    """The ranges that two windows share, by G-INDEX over GROUP."""

    def __init__(self, shape: Shape, groups: int) -> None:
        ranges = Groups.even(0, shape.values, groups)
        self.values, self.index = shape.values, GroupIndex(ranges, 2)
        self.windows = [
            IndexedWindow(shape.spec, GroupStorage(ranges), self.index, n) for n in (0, 1)
        ]

    def feed(self, values: np.ndarray) -> Iterator[int]:
        return both(self.windows, values, other(values, self.values))

    def ask(self) -> Any:
        return range_intersection(self.index)

    def plain(self, answer: Any) -> Arrays:
        return (np.array([low or 0 for low, _ in answer]),)


class IntersectedAgain:
    """Both windows are looked through at every turn."""

    def __init__(self, shape: Shape) -> None:
        self.values, self.windows = shape.values, [Kept(shape), Kept(shape)]

    def feed(self, values: np.ndarray) -> Iterator[int]:
        return both(self.windows, values, other(values, self.values))

    def ask(self) -> Any:
        left, right = (np.unique(w.held) for w in self.windows)
        return np.intersect1d(left, right, assume_unique=True)

    def plain(self, answer: Any) -> Arrays:
        return (answer,)


def both(windows: list[Any], left: np.ndarray, right: np.ndarray) -> Iterator[int]:
    """Feed two windows, turn by turn."""
    for turn, _ in zip(windows[0].feed(left), windows[1].feed(right), strict=True):
        yield turn


class Deletions:
    """A ring whose deletions are timed by themselves."""

    def __init__(self, ring: Ring) -> None:
        self.ring, self.name, self.index = ring, ring.name, ring.index
        self.insert, self.attach, self.forget = ring.insert, ring.attach, ring.forget
        self.tuples = ring.tuples
        self.seconds = 0.0

    def expire(self, oldest: PositionRange, steps: Steps) -> None:
        began = time.process_time()
        self.ring.expire(oldest, steps)
        self.seconds += time.process_time() - began


class Ringed:
    """The second attribute in the order of the first, by following rings.

    The second attribute is the tuple's number, so that an answer shows the whole order.
    """

    def __init__(self, shape: Shape, ring: str, index: str) -> None:
        self._deletions = Deletions(RINGS[ring](INDEXES[index](1)))
        self.window = RingWindow(shape.spec, self._deletions, ROWS, "first")

    @property
    def deletion_seconds(self) -> float:
        return self._deletions.seconds

    def feed(self, values: np.ndarray) -> Iterator[int]:
        numbers = np.arange(self.window.next, self.window.next + len(values))
        return self.window.feed_rows(pa.record_batch([values, numbers], schema=ROWS))

    def ask(self) -> Any:
        return sorted_rows(self.window).column("second")

    def plain(self, answer: Any) -> Arrays:
        return (answer.to_numpy(),)


class SortedRows(Kept):
    """The same by sorting the window; being a number, the second attribute need not be stored."""

    def ask(self) -> Any:
        return np.argsort(self.held, kind="stable") + self.base

    def plain(self, answer: Any) -> Arrays:
        return (answer,)
