"""Set-valued indexes with a node per value: L-INDEX, T-INDEX and H-INDEX (Golab et al. 2004, 4).

An index is a directory (sorted list, balanced tree or hash of sorted lists) over nodes that hold
a value and how often each window has it. Pointers to nodes are made while a basic window fills;
counts change only when it is attached, so queries never see what is still filling.

Values are 64-bit integers; ``windrow.columns.arrays.order_keys`` turns other numbers and times
into integers of the same order.

Cost per pointer: L-INDEX O(D), T-INDEX O(log D), H-INDEX O(D/h); per count O(1) (T-INDEX with
``ranked``: O(log D)). Unused nodes stay until they are purged (4.4), because a value that has
just left often comes back, and a tree need not be balanced twice for it.
"""

from __future__ import annotations

from enum import Enum
from typing import Protocol

import numpy as np

from windrow.columns.arrays import Int64s
from windrow.papers.window_indexes.balanced_tree import BalancedTree
from windrow.papers.window_indexes.sorted_lists import SortedLists
from windrow.papers.window_indexes.step_counts import Steps
from windrow.windows.index_nodes import EACH_ONCE, Nodes


class NodeDirectory(Protocol):
    """Values to nodes: ``SortedLists`` or ``Tree``."""

    nodes: Nodes

    def like(self) -> NodeDirectory:
        """An empty one of the same kind, for one window."""
        ...

    def locate(self, values: Int64s) -> tuple[Int64s, int]:
        """The node of each value, made where it is missing, and the steps that it took."""
        ...

    def find(self, values: Int64s) -> Int64s:
        """The node of each value, -1 where there is none."""
        ...

    def by_value(self) -> Int64s:
        """All nodes by value."""
        ...

    def unlink(self, nodes: Int64s) -> None:
        """Take nodes out; their numbers will be given to others."""
        ...

    def clear(self) -> None:
        """Forget every node."""
        ...


class Purging(Enum):
    """How nodes without tuples are found when it is time to purge them (4.4).

    >>> from windrow.windows import Purging, t_index
    >>> t_index(purging=Purging.ZERO_NODES).name
    'T-INDEX'
    """

    SCAN = "scan"
    """The whole index is looked through."""
    ZERO_NODES = "zero nodes"
    """Nodes whose count fell to zero have been noted."""


class ValueIndex:
    """A node per value; made by ``l_index``, ``t_index`` and ``h_index``.

    >>> import numpy as np
    >>> from windrow.windows import h_index
    >>> index = h_index()
    >>> len(index), index.find(np.array([5]))
    (0, array([-1]))
    """

    def __init__(
        self, name: str, directory: NodeDirectory, purging: Purging = Purging.SCAN
    ) -> None:
        self.name, self.directory, self.purging = name, directory, purging
        self.windows = directory.nodes.counts.shape[1]
        self._zeros: list[Int64s] = []

    def __len__(self) -> int:
        """How many nodes there are, unused ones included."""
        return len(self.directory.nodes)

    @property
    def node_limit(self) -> int:
        """Node numbers are below it."""
        return self.directory.nodes.node_limit

    def like(self) -> ValueIndex:
        """An empty one of the same kind, for one window."""
        return ValueIndex(self.name, self.directory.like())

    def clear(self) -> None:
        self.directory.clear()

    def locate(self, values: Int64s, steps: Steps) -> Int64s:
        """Nodes for tuples of a basic window that is filling, one pointer per value."""
        nodes, taken = self.directory.locate(values)
        steps.locate += taken
        return nodes

    def attach(
        self, nodes: Int64s, steps: Steps, how_many: Int64s = EACH_ONCE, window: int = 0
    ) -> None:
        """Count the pointers of a basic window that is full."""
        steps.attach += self.directory.nodes.attach(nodes, how_many, window)

    def expire(
        self, nodes: Int64s, steps: Steps, how_many: Int64s = EACH_ONCE, window: int = 0
    ) -> None:
        """Take the counts of a basic window back that leaves the window."""
        emptied, taken = self.directory.nodes.expire(nodes, how_many, window)
        steps.expire += taken
        if self.purging is Purging.ZERO_NODES and len(emptied):
            self._zeros.append(emptied)

    def purge(self, steps: Steps) -> Int64s:
        """Remove the nodes that nothing points to; which they were."""
        nodes = self.directory.nodes
        if self.purging is Purging.SCAN:
            looked_at = np.arange(nodes.node_limit)
        else:
            looked_at = np.unique(np.concatenate([EACH_ONCE, *self._zeros]))
            self._zeros = []
        steps.purge += len(looked_at)
        found = looked_at[nodes.find_unused(looked_at)]
        self.directory.unlink(found)
        return found

    def find(self, values: Int64s) -> Int64s:
        """The node of each value, -1 where no tuple of any window has had it lately."""
        return self.directory.find(values)

    def values(self, nodes: Int64s) -> Int64s:
        return self.directory.nodes.values(nodes)

    def counts(self, nodes: Int64s, window: int = 0) -> Int64s:
        found: Int64s = self.directory.nodes.counts[nodes, window]
        return found

    def by_value(self) -> Int64s:
        """All nodes by value, unused ones included."""
        return self.directory.by_value()


def l_index(windows: int = 1, purging: Purging = Purging.SCAN) -> ValueIndex:
    """A sorted linked list of values (4.1).

    >>> l_index().name
    'L-INDEX'
    """
    return ValueIndex("L-INDEX", SortedLists(1, windows), purging)


def t_index(windows: int = 1, ranked: bool = False, purging: Purging = Purging.SCAN) -> ValueIndex:
    """A balanced search tree of values (4.2); ``ranked`` for quantiles in O(log D).

    >>> t_index(ranked=True).name
    'T-INDEX'
    """
    return ValueIndex("T-INDEX", BalancedTree(windows, ranked), purging)


def h_index(
    buckets: int | None = None, windows: int = 1, purging: Purging = Purging.SCAN
) -> ValueIndex:
    """A hash table of values (4.2), of so many buckets, or growing with the values.

    >>> h_index(buckets=100).name
    'H-INDEX'
    """
    return ValueIndex("H-INDEX", SortedLists(buckets, windows), purging)
