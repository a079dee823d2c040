"""Set-valued queries over indexed windows (Golab et al. 2004, 3.2 and 6.2).

*Histogram*: the values of a window in order, and how often each occurs. The L-INDEX is the answer,
the T-INDEX is walked in order, the H-INDEX's buckets are merged: O(D). Without an index the window
is sorted, or the sorted AGGR basic windows are merged: O(N log N).

*Intersection* of two windows that share an index: each node counts the tuples of both; a value is
in the answer while both counts are above zero. So the answer costs one pass over the index, O(D),
instead of one over both windows. With a G-INDEX it is approximate: ranges of values.

*Quantiles* become incremental once there is a histogram: a ranked T-INDEX finds one in O(log D),
any other index in one pass over its nodes. They are interpolated between neighbours, as SQL's
PERCENTILE_CONT is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from windrow.columns.arrays import Int64s
from windrow.core.errors import WindrowError
from windrow.papers.window_indexes.balanced_tree import BalancedTree
from windrow.papers.window_indexes.basic_storage import BasicContents, GroupStorage
from windrow.papers.window_indexes.group_index import GroupIndex, Groups
from windrow.papers.window_indexes.indexed_window import IndexedWindow, UnanswerableError
from windrow.papers.window_indexes.value_index import ValueIndex
from windrow.windows.index_nodes import EACH_ONCE

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


def intersection(index: ValueIndex) -> Int64s:
    """The values that both windows hold, in order.

    >>> import numpy as np
    >>> from windrow.windows import CountBased, IndexedWindow, ListStorage, h_index, intersection
    >>> shared = h_index(windows=2)
    >>> left = IndexedWindow(CountBased(1, 3), ListStorage(), shared, number=0)
    >>> right = IndexedWindow(CountBased(1, 3), ListStorage(), shared, number=1)
    >>> left.append(np.array([5, 1, 8])), right.append(np.array([8, 3, 1]))
    (1, 1)
    >>> intersection(shared)
    array([1, 8])
    """
    _check("intersection", index)
    return index.values(_common(index))


def range_intersection(index: GroupIndex) -> list[tuple[int | None, int | None]]:
    """The ranges of which both windows hold a value: first value, and first value after.

    >>> import numpy as np
    >>> from windrow.windows import CountBased, GroupIndex, Groups
    >>> from windrow.windows import IndexedWindow, ListStorage, range_intersection
    >>> shared = GroupIndex(Groups(np.array([10, 20])), windows=2)
    >>> left = IndexedWindow(CountBased(1, 2), ListStorage(), shared, number=0)
    >>> right = IndexedWindow(CountBased(1, 2), ListStorage(), shared, number=1)
    >>> left.append(np.array([5, 15])), right.append(np.array([12, 25]))
    (1, 1)
    >>> range_intersection(shared)
    [(10, 20)]
    """
    _check("range_intersection", index)
    return [index.groups.label(int(g)) for g in _common(index)]


def _common(index: ValueIndex | GroupIndex) -> Int64s:
    nodes = index.by_value()
    return nodes[(index.counts(nodes, 0) > 0) & (index.counts(nodes, 1) > 0)]


def _check(query: str, index: ValueIndex | GroupIndex) -> None:
    if index.windows != 2:
        needed, found = "an index that two windows share", f"an index for {index.windows}"
        raise UnanswerableError(query, needed, found, "create the index with windows=2")


def quantile(window: IndexedWindow, fraction: float) -> float | None:
    """The value below which this fraction of the window lies; None if it is empty.

    >>> import numpy as np
    >>> from windrow.windows import CountBased, IndexedWindow, ListStorage, quantile, t_index
    >>> window = IndexedWindow(CountBased(1, 5), ListStorage(), t_index(ranked=True))
    >>> window.append(np.array([10, 20, 30, 40, 50]))
    1
    >>> quantile(window, 0.75)
    40.0
    """
    if not 0 <= fraction <= 1:
        raise WindrowError(
            where="quantile", expected="a fraction from 0 to 1", found=str(fraction),
            remedy="one half gives the median",
        )  # fmt: skip
    tree = _nth_values(window)
    if tree is None:
        values, counts = histogram(window)
        upto = np.cumsum(counts)
        size = int(upto[-1]) if len(upto) else 0
    else:
        size = tree.weight()
    if not size:
        return None
    place = fraction * (size - 1)
    low = math.floor(place)
    ranks = np.array([low, min(low + 1, size - 1)])
    if tree is None:
        found = values[np.searchsorted(upto, ranks, side="right")]
    else:
        found = tree.nodes.values(tree.nth(ranks))
    a, b = float(found[0]), float(found[1])
    return a + (b - a) * (place - low)


def median(window: IndexedWindow) -> float | None:
    """The quantile of one half.

    >>> import numpy as np
    >>> from windrow.windows import CountBased, IndexedWindow, ListStorage, median, t_index
    >>> window = IndexedWindow(CountBased(1, 4), ListStorage(), t_index(ranked=True))
    >>> window.append(np.array([10, 20, 30, 90]))
    1
    >>> median(window)
    25.0
    """
    return quantile(window, 0.5)


def distinct_count(window: IndexedWindow) -> int:
    """How many different values the window holds: the nodes with a count, O(D).

    >>> import numpy as np
    >>> from windrow.windows import CountBased, IndexedWindow, ListStorage, distinct_count, h_index
    >>> window = IndexedWindow(CountBased(1, 4), ListStorage(), h_index())
    >>> window.append(np.array([10, 20, 10, 10]))
    1
    >>> distinct_count(window)
    2
    """
    index = window.index
    if isinstance(index, ValueIndex):
        return int((index.directory.nodes.counts[: index.node_limit, window.number] > 0).sum())
    return len(histogram(window)[0])


def _nth_values(window: IndexedWindow) -> BalancedTree | None:
    index = window.index
    directory = index.directory if isinstance(index, ValueIndex) else None
    return directory if isinstance(directory, BalancedTree) and directory.ranked else None
