"""Intersection of two windows that share an index (Golab et al. 2004, 3.2 and 6.2).

Each node counts the tuples of both windows; a value is in the answer while both counts are above
zero. So the answer costs one pass over the index, O(D), instead of one over both windows. With a
G-INDEX it is approximate: the ranges of values that occur in both windows.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from windrow.windows.queries.unanswerable import UnanswerableError
from windrow.windows.values.groups import GroupIndex
from windrow.windows.values.index import ValueIndex

Int64s = npt.NDArray[np.int64]


def intersection(index: ValueIndex) -> Int64s:
    """The values that both windows hold, in order."""
    _check("intersection", index)
    return index.values(_common(index))


def range_intersection(index: GroupIndex) -> list[tuple[int | None, int | None]]:
    """The ranges of which both windows hold a value: first value, and first value after."""
    _check("range_intersection", index)
    return [index.groups.label(int(g)) for g in _common(index)]


def _common(index: ValueIndex | GroupIndex) -> Int64s:
    nodes = index.ordered()
    return nodes[(index.counts(nodes, 0) > 0) & (index.counts(nodes, 1) > 0)]


def _check(query: str, index: ValueIndex | GroupIndex) -> None:
    if index.windows != 2:
        needed, found = "an index that two windows share", f"an index for {index.windows}"
        raise UnanswerableError(query, needed, found, "windows=2 when the index is made")
