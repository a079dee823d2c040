"""Intersection of two windows that share an index (Golab et al. 2004, 3.2 and 6.2).

Each node counts the tuples of both windows; a value is in the answer while both counts are above
zero. So the answer costs one pass over the index, O(D), instead of one over both windows. With a
G-INDEX it is approximate: the ranges of values that occur in both windows.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from windrow.papers.window_indexes.indexed_window import UnanswerableError
from windrow.papers.window_indexes.values.group_index import GroupIndex
from windrow.papers.window_indexes.values.value_index import ValueIndex

Int64s = npt.NDArray[np.int64]


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
        raise UnanswerableError(query, needed, found, "windows=2 when the index is made")
