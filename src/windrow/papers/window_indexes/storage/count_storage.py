"""AGGR and HASH: a basic window as a count per distinct value (Golab et al. 2004, 2.2).

AGGR is a sorted linked list of values, HASH a hash table of such lists. Each value of a basic
window points to the index once, so an index is asked d times per basic window instead of b.

Cost per tuple: O(d) for AGGR, O(d/h) for HASH; space: two numbers per distinct value.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from windrow.columns.growable import Growable
from windrow.papers.window_indexes.step_counts import Steps
from windrow.papers.window_indexes.storage.basic_contents import BasicContents
from windrow.papers.window_indexes.values.sorted_lists import SortedLists
from windrow.windows.index_nodes import EACH_ONCE

Int64s = npt.NDArray[np.int64]


class CountStorage:
    """A count per value; made by ``aggr_storage`` and ``hash_storage``."""

    indexed_by = frozenset({"L-INDEX", "T-INDEX", "H-INDEX"})

    def __init__(self, name: str, buckets: int) -> None:
        self.name = name
        self._entries = SortedLists(buckets)
        self._pointers = Growable(np.int64)

    def insert(self, values: Int64s, steps: Steps) -> Int64s:
        nodes = self._entries.nodes
        known = nodes.node_limit
        entries, taken = self._entries.locate(values)
        nodes.attach(entries, EACH_ONCE, 0)
        steps.store += taken
        return nodes.values(np.arange(known, nodes.node_limit))

    def point(self, pointers: Int64s) -> None:
        self._pointers.append(pointers)

    def close(self) -> BasicContents:
        order = self._entries.by_value()
        contents = BasicContents(self._pointers.view[order], self._entries.nodes.counts[order, 0])
        self._entries.clear()
        self._pointers.clear()
        return contents


def aggr_storage() -> CountStorage:
    """One sorted list of values and counts.

    >>> import numpy as np
    >>> from windrow.windows import CountBased, IndexedWindow, aggr_storage, histogram, t_index
    >>> window = IndexedWindow(CountBased(1, 4), aggr_storage(), t_index())
    >>> window.append(np.array([3, 1, 3, 3]))
    1
    >>> histogram(window)
    (array([1, 3]), array([1, 3]))
    """
    return CountStorage("AGGR", 1)


def hash_storage(buckets: int = 5) -> CountStorage:
    """``buckets`` sorted lists; a table per basic window, so few (5 in the paper's section 6).

    >>> from windrow.windows import hash_storage
    >>> hash_storage(buckets=5).name
    'HASH'
    """
    return CountStorage("HASH", buckets)
