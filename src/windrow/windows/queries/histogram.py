"""Windowed histogram: the values of a window in order, and how often each occurs.

With an index: the L-INDEX is the answer, the T-INDEX is walked in order, the H-INDEX's buckets
are merged (Golab et al. 2004, 6.2): O(D). Without one the window is sorted, or the sorted AGGR
basic windows are merged: O(N log N).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from windrow.windows.indexed import IndexedWindow
from windrow.windows.queries.unanswerable import UnanswerableError
from windrow.windows.storage.contents import Contents
from windrow.windows.storage.grouped import Grouped
from windrow.windows.values.groups import GroupIndex, Groups
from windrow.windows.values.nodes import EACH_ONCE

Int64s = npt.NDArray[np.int64]
Range = tuple[int | None, int | None, int]
"""First value, first value after, count; None where a range has no bound."""


def histogram(window: IndexedWindow) -> tuple[Int64s, Int64s]:
    """Values and counts, in order of value."""
    index = window.index
    if index is None:
        if isinstance(window.storage, Grouped):
            raise UnanswerableError("histogram", "values", "GROUP", "range_histogram")
        return re_evaluated([part.contents for part in window.basic])
    if isinstance(index, GroupIndex):
        raise UnanswerableError("histogram", "an index of values", index.name, "range_histogram")
    nodes = index.ordered()
    counts = index.counts(nodes, window.number)
    held = counts > 0
    return index.values(nodes[held]), counts[held]


def re_evaluated(parts: Sequence[Contents]) -> tuple[Int64s, Int64s]:
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
    """Ranges of values that occur and how many tuples fall into each, by G-INDEX or GROUP."""
    counts, groups = _range_counts(window)
    found = np.flatnonzero(counts > 0)
    return [(*groups.label(int(g)), int(counts[g])) for g in found]


def _range_counts(window: IndexedWindow) -> tuple[Int64s, Groups]:
    index = window.index
    if isinstance(index, GroupIndex):
        return index.counts(index.ordered(), window.number), index.groups
    if not isinstance(window.storage, Grouped):
        found = window.storage.name if index is None else index.name
        raise UnanswerableError("range_histogram", "G-INDEX or GROUP", found, "histogram")
    counts = np.zeros(len(window.storage.groups), np.int64)
    for part in window.basic:
        counts += part.contents.counts
    return counts, window.storage.groups
