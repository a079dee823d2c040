"""AGGR and HASH: a basic window as a count per distinct value (Golab et al. 2004, 2.2).

AGGR is a sorted linked list of values, HASH a hash table of such lists. Each value of a basic
window points to the index once, so an index is asked d times per basic window instead of b.

Cost per tuple: O(d) for AGGR, O(d/h) for HASH; space: two numbers per distinct value.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from windrow.columns.growable import Growable
from windrow.windows.steps import Steps
from windrow.windows.storage.contents import Contents
from windrow.windows.values.nodes import EACH_ONCE
from windrow.windows.values.sorted_lists import SortedLists

Int64s = npt.NDArray[np.int64]


class Aggregated:
    """See the module; made by ``aggr`` and ``hashed``."""

    indexed_by = frozenset({"L-INDEX", "T-INDEX", "H-INDEX"})

    def __init__(self, name: str, buckets: int) -> None:
        self.name = name
        self._entries = SortedLists(buckets)
        self._pointers = Growable(np.int64)

    def insert(self, values: Int64s, steps: Steps) -> Int64s:
        nodes = self._entries.nodes
        known = nodes.used
        entries, taken = self._entries.locate(values)
        nodes.attach(entries, EACH_ONCE, 0)
        steps.store += taken
        return nodes.values(np.arange(known, nodes.used))

    def point(self, pointers: Int64s) -> None:
        self._pointers.append(pointers)

    def close(self) -> Contents:
        order = self._entries.ordered()
        contents = Contents(self._pointers.view[order], self._entries.nodes.counts[order, 0])
        self._entries.clear()
        self._pointers.clear()
        return contents


def aggr() -> Aggregated:
    """One sorted list of values and counts."""
    return Aggregated("AGGR", 1)


def hashed(buckets: int = 5) -> Aggregated:
    """``buckets`` sorted lists; a table per basic window, so few (5 in the paper's section 6)."""
    return Aggregated("HASH", buckets)
