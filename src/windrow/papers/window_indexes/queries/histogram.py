"""Windowed histogram: the values of a window in order, and how often each occurs.

With an index: the L-INDEX is the answer, the T-INDEX is walked in order, the H-INDEX's buckets
are merged (Golab et al. 2004, 6.2): O(D). Without one the window is sorted, or the sorted AGGR
basic windows are merged: O(N log N).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from windrow.papers.window_indexes.indexed_window import IndexedWindow, UnanswerableError
from windrow.papers.window_indexes.storage.basic_contents import BasicContents
from windrow.papers.window_indexes.storage.group_storage import GroupStorage
from windrow.papers.window_indexes.values.group_index import GroupIndex, Groups
from windrow.windows.index_nodes import EACH_ONCE

Int64s = npt.NDArray[np.int64]
Range = tuple[int | None, int | None, int]
"""First value, first value after, count; None where a range has no bound."""


def histogram(window: IndexedWindow) -> tuple[Int64s, Int64s]:
    """Values and counts, in order of value.

    >>> import numpy as np
    >>> from windrow.windows import CountBased, IndexedWindow, ListStorage, histogram, t_index
    >>> window = IndexedWindow(CountBased(1, 4), ListStorage(), t_index())
    >>> window.append(np.array([3, 1, 3, 3]))
    1
    >>> histogram(window)
    (array([1, 3]), array([1, 3]))
    """
    index = window.index
    if index is None:
        if isinstance(window.storage, GroupStorage):
            raise UnanswerableError("histogram", "values", "GROUP", "range_histogram")
        return recount([part.contents for part in window.basic])
    if isinstance(index, GroupIndex):
        raise UnanswerableError("histogram", "an index of values", index.name, "range_histogram")
    nodes = index.by_value()
    counts = index.counts(nodes, window.number)
    held = counts > 0
    return index.values(nodes[held]), counts[held]


def recount(parts: Sequence[BasicContents]) -> tuple[Int64s, Int64s]:
    """The histogram from scratch, of basic windows that hold values."""
    values = np.concatenate([EACH_ONCE, *(p.pointers for p in parts)])
    if any(len(p.counts) for p in parts):
        distinct, place = np.unique(values, return_inverse=True)
        counts = np.zeros(len(distinct), np.int64)
        np.add.at(counts, place, np.concatenate([p.counts for p in parts]))
        return distinct, counts
    values, how_many = np.unique(values, return_counts=True)
    return values, how_many.astype(np.int64)


def range_histogram(window: IndexedWindow) -> list[Range]:
    """Ranges of values that occur and how many tuples fall into each, by G-INDEX or GROUP.

    >>> import numpy as np
    >>> from windrow.windows import CountBased, GroupIndex, Groups
    >>> from windrow.windows import IndexedWindow, ListStorage, range_histogram
    >>> halves = Groups(np.array([50]))
    >>> window = IndexedWindow(CountBased(1, 3), ListStorage(), GroupIndex(halves))
    >>> window.append(np.array([12, 99, 7]))
    1
    >>> range_histogram(window)
    [(None, 50, 2), (50, None, 1)]
    """
    counts, groups = _range_counts(window)
    found = np.flatnonzero(counts > 0)
    return [(*groups.label(int(g)), int(counts[g])) for g in found]


def _range_counts(window: IndexedWindow) -> tuple[Int64s, Groups]:
    index = window.index
    if isinstance(index, GroupIndex):
        return index.counts(index.by_value(), window.number), index.groups
    if not isinstance(window.storage, GroupStorage):
        found = window.storage.name if index is None else index.name
        raise UnanswerableError("range_histogram", "G-INDEX or GROUP", found, "histogram")
    counts = np.zeros(len(window.storage.groups), np.int64)
    for part in window.basic:
        counts += part.contents.counts
    return counts, window.storage.groups
