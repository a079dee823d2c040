"""How a basic window stores its tuples: LIST, AGGR, HASH and GROUP (Golab et al. 2004, 2.2).

While it fills, a basic window has the form that its storage method gives it. When it is full
nothing is inserted any more, so all that is left of it are its *pointers*, to index nodes or,
without domain storage, the values themselves, and a count for each.

LIST keeps tuples in the order in which they came. AGGR is a sorted linked list of values, HASH a
hash table of such lists: each value of a basic window points to the index once, so an index is
asked d times per basic window instead of b. GROUP counts per range of values.

Cost per tuple: O(1) for LIST, O(d) for AGGR, O(d/h) for HASH, O(g) for GROUP; space: a pointer per
tuple, two numbers per distinct value, a count per group.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from windrow.columns.arrays import Int64s
from windrow.columns.growable import Growable
from windrow.papers.window_indexes.group_index import Groups
from windrow.papers.window_indexes.sorted_lists import SortedLists
from windrow.papers.window_indexes.step_counts import Steps
from windrow.windows.index_nodes import EACH_ONCE


@dataclass(frozen=True)
class BasicContents:
    """A full basic window: pointers, and how many tuples each stands for.

    ``counts`` is ``EACH_ONCE`` for LIST. AGGR's and HASH's pointers are in order of value.
    """

    pointers: Int64s
    counts: Int64s

    def tuples(self) -> int:
        """How many tuples the basic window holds."""
        return int(self.counts.sum()) if len(self.counts) else len(self.pointers)


class Storage(Protocol):
    """A basic window that is filling.

    ``insert`` takes values in and answers with those that need a pointer to the index, which
    ``point`` then supplies; ``close`` hands the basic window over and begins a new one.

    >>> from windrow.windows import ListStorage, Storage, aggr_storage, hash_storage
    >>> storages: list[Storage] = [ListStorage(), aggr_storage(), hash_storage(buckets=5)]
    >>> [storage.name for storage in storages]
    ['LIST', 'AGGR', 'HASH']
    """

    name: str
    indexed_by: frozenset[str]
    """The indexes that can be kept over it (4.1-4.3)."""

    def insert(self, values: Int64s, steps: Steps) -> Int64s: ...

    def point(self, pointers: Int64s) -> None: ...

    def close(self) -> BasicContents: ...


class ListStorage:
    """Cost: O(1) per tuple; space: a pointer per tuple.

    >>> import numpy as np
    >>> from windrow.windows import CountBased, IndexedWindow, ListStorage, h_index
    >>> window = IndexedWindow(CountBased(2, 3), ListStorage(), h_index())
    >>> window.storage.name
    'LIST'
    """

    name = "LIST"
    indexed_by = frozenset({"L-INDEX", "T-INDEX", "H-INDEX", "G-INDEX"})

    def __init__(self) -> None:
        self._parts: list[Int64s] = []

    def insert(self, values: Int64s, steps: Steps) -> Int64s:
        steps.store += len(values)
        return values

    def point(self, pointers: Int64s) -> None:
        self._parts.append(pointers)

    def close(self) -> BasicContents:
        parts, self._parts = self._parts, []
        if len(parts) == 1:
            return BasicContents(parts[0], EACH_ONCE)
        return BasicContents(np.concatenate([EACH_ONCE, *parts]), EACH_ONCE)


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


class GroupStorage:
    """A full one has a count for every group, so its pointers are all groups.

    Cost: O(g) per tuple; space: g counts.

    >>> import numpy as np
    >>> from windrow.windows import CountBased, GroupIndex, GroupStorage
    >>> from windrow.windows import Groups, IndexedWindow, range_histogram
    >>> ports = Groups(np.array([1024, 49152]))
    >>> window = IndexedWindow(CountBased(2, 3), GroupStorage(ports), GroupIndex(ports))
    >>> window.append(np.array([80, 443, 50000, 22, 8080, 80]))
    2
    >>> range_histogram(window)
    [(None, 1024, 4), (1024, 49152, 1), (49152, None, 1)]
    """

    name = "GROUP"
    indexed_by = frozenset({"G-INDEX"})

    def __init__(self, groups: Groups) -> None:
        self.groups = groups
        self._counts = np.zeros(len(groups), np.int64)

    def insert(self, values: Int64s, steps: Steps) -> Int64s:
        groups, taken = self.groups.of(values)
        steps.store += taken
        self._counts += np.bincount(groups, minlength=len(self.groups))
        return EACH_ONCE

    def point(self, pointers: Int64s) -> None:
        """Groups are numbered alike everywhere, so no pointer is needed."""

    def close(self) -> BasicContents:
        contents = BasicContents(np.arange(len(self.groups)), self._counts)
        self._counts = np.zeros(len(self.groups), np.int64)
        return contents
