"""Index nodes as rows of two arrays, numbered so that tuples may point to them.

This is the domain storage model (Golab et al. 2004, 4): a value is stored once, in its node, and
tuples hold node numbers. A number stays valid as long as the node has a count in some window or
is *pending*, that is, pointed at by a basic window that is still filling.

``links`` holds what a search reads (value, pending pointers, the structure's own pointers), and
``counts`` one count per window, so that two windows can share one index (6.2). Freed rows form a
list through their NEXT, marked by a pending count of -1, and are used again.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from windrow.columns.arrays import Int64s
from windrow.columns.growable import fresh
from windrow.columns.kernels import (
    grid_out,
    inline,
    int64,
    ints,
    ints_out,
    kernel,
    void,
)

VALUE, PENDING, NEXT = 0, 1, 2
"""Columns of ``links`` that every structure has; NEXT is also the tree's left child."""
USED, FREE, SIZE = 0, 1, 2
"""Places of ``state``: rows ever used, the first free row or -1, nodes in the index."""
EACH_ONCE = np.empty(0, np.int64)
"""Stands for a count of one for every pointer."""


@inline
def new_node(value, links, counts, state):  # type: ignore[no-untyped-def]
    """A row for a new value, with nothing but the value in it. There must be room."""
    n = state[FREE]
    if n >= 0:
        state[FREE] = links[n, NEXT]
    else:
        n = state[USED]
        state[USED] += 1
    state[SIZE] += 1
    links[n, VALUE] = value
    links[n, PENDING] = 0
    for w in range(counts.shape[1]):
        counts[n, w] = 0
    return n


@inline
def free_node(n, links, state):  # type: ignore[no-untyped-def]
    """Give a row back that the structure no longer leads to."""
    links[n, PENDING] = -1
    links[n, NEXT] = state[FREE]
    state[FREE] = n
    state[SIZE] -= 1


@kernel(void, ints, ints, int64, grid_out, grid_out)
def _attach(nodes, how_many, window, links, counts):  # type: ignore[no-untyped-def]
    each_once = len(how_many) == 0
    for i in range(len(nodes)):
        counts[nodes[i], window] += 1 if each_once else how_many[i]
        links[nodes[i], PENDING] -= 1


@kernel(int64, ints, ints, int64, grid_out, ints_out)
def _expire(nodes, how_many, window, counts, emptied):  # type: ignore[no-untyped-def]
    """Subtract; ``emptied`` gets the nodes whose count reached zero, and the answer is how many."""
    each_once = len(how_many) == 0
    count = 0
    for i in range(len(nodes)):
        n = nodes[i]
        counts[n, window] -= 1 if each_once else how_many[i]
        if counts[n, window] == 0:
            emptied[count] = n
            count += 1
    return count


class Nodes:
    """Rows for values, in arrays. ``width`` is the number of columns of ``links``."""

    def __init__(self, width: int, windows: int) -> None:
        self.links = fresh(0, width=width)
        self.counts = fresh(0, width=windows)
        self.state = np.array([0, -1, 0], np.int64)

    def __len__(self) -> int:
        return int(self.state[SIZE])

    @property
    def node_limit(self) -> int:
        """Rows ever used; node numbers are below it."""
        return int(self.state[USED])

    def reserve(self, more: int) -> None:
        """Make room for so many new nodes."""
        needed = self.node_limit + more
        if needed > len(self.links):
            links = np.empty((2 * needed, self.links.shape[1]), np.int64)
            counts = np.zeros((2 * needed, self.counts.shape[1]), np.int64)
            links[: self.node_limit], counts[: self.node_limit] = (
                self.links[: self.node_limit],
                self.counts[: self.node_limit],
            )
            self.links, self.counts = links, counts

    def clear(self) -> None:
        """Forget every node; numbers start from 0 again."""
        self.state[:] = (0, -1, 0)

    def values(self, nodes: Int64s) -> Int64s:
        found: Int64s = self.links[nodes, VALUE]
        return found

    def attach(self, nodes: Int64s, how_many: Int64s, window: int) -> int:
        """Count pointers that were pending, ``how_many`` per pointer or EACH_ONCE; the steps."""
        _attach(nodes, how_many, window, self.links, self.counts)
        return len(nodes)

    def expire(self, nodes: Int64s, how_many: Int64s, window: int) -> tuple[Int64s, int]:
        """Take counts back; the nodes that have none left in this window, and the steps."""
        emptied = np.empty(len(nodes), np.int64)
        found = _expire(nodes, how_many, window, self.counts, emptied)
        return emptied[:found], len(nodes)

    def find_unused(self, nodes: Int64s) -> npt.NDArray[np.bool_]:
        """Which of these rows are nodes that nothing points to."""
        none = (self.counts[nodes] == 0).all(axis=1)
        found: npt.NDArray[np.bool_] = none & (self.links[nodes, PENDING] == 0)
        return found
