"""T-INDEXes for many groups at once: ranked trees over one array of nodes.

There is a node per group and value, with how often the group holds the value, and each node knows
the weight of its subtree (``windrow.windows.avl``). A value that comes or goes costs
O(log D) for D different values in its group, and so does reading the k-th one.

Nodes whose count falls to zero stay until they are the most, because values come back (Golab et
al. 2004, 4.4); then all of them are purged, which the departures since have paid for.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from windrow.columns.arrays import Int64s
from windrow.columns.growable import fresh, grow
from windrow.columns.kernels import grid, grid_out, inline, ints, ints_out, kernel, void
from windrow.core.thresholds import Threshold
from windrow.windows.avl import PARENT, WIDTH, climb, locate, unlink
from windrow.windows.index_nodes import PENDING, USED, Nodes

WORTH_PURGING = Threshold(1024)
"""Fewer unused nodes than this are not worth a purge."""


@inline
def change(value, tree, sign, links, counts, state, roots, occupied):  # type: ignore[no-untyped-def]
    """Let a value come to a tree (``sign`` 1) or go (-1)."""
    n, _ = locate(value, tree, links, counts, state, roots)
    before = counts[n, 0]
    climb(n, sign, links, counts)
    if before == 0:
        occupied[0] += 1
    elif counts[n, 0] == 0:
        occupied[0] -= 1


@kernel(void, grid_out, grid, ints_out, ints_out)
def _purge(links, counts, state, roots):  # type: ignore[no-untyped-def]
    for n in range(state[USED]):
        if links[n, PENDING] == 0 and counts[n, 0] == 0:
            unlink(n, links, counts, state, roots)


@kernel(void, ints, grid_out)
def _name_roots(roots, links):  # type: ignore[no-untyped-def]
    for tree in range(len(roots)):
        if roots[tree] >= 0:
            links[roots[tree], PARENT] = ~tree


class Forest:
    """A T-INDEX per group. Kernels take ``arrays()`` and use ``change`` and ``nth`` on them."""

    def __init__(self) -> None:
        self._nodes = Nodes(WIDTH, 1)
        self._occupied = np.zeros(1, np.int64)
        self._roots = fresh(-1)

    def __len__(self) -> int:
        """How many nodes there are, unused ones included."""
        return len(self._nodes)

    def arrays(self) -> tuple[npt.NDArray[np.int64], ...]:
        """Links, counts, state, roots and the number of nodes in use, as kernels take them."""
        nodes = self._nodes
        return nodes.links, nodes.counts, nodes.state, self._roots, self._occupied

    def reserve(self, trees: int, changes: int) -> None:
        """Make room for so many trees, and for the nodes that so many changes can make."""
        self._roots = grow(self._roots, trees, -1)
        self._nodes.reserve(changes)

    def purge(self) -> None:
        """Take unused nodes out, once they are the most."""
        used = int(self._occupied[0])
        if len(self._nodes) > 2 * used + WORTH_PURGING.value:
            self._purge()

    def _purge(self) -> None:
        nodes = self._nodes
        _purge(nodes.links, nodes.counts, nodes.state, self._roots)

    def renumber(self, trees: Int64s, remap: Int64s) -> None:
        """The trees get other numbers, ``remap[old]``; those not among ``trees`` are empty.

        Unused nodes go first: those of an empty tree would name it, and its number becomes
        another's.
        """
        self._purge()
        roots = np.full(len(self._roots), -1, np.int64)
        roots[remap[trees]] = self._roots[trees]
        self._roots = roots
        _name_roots(roots, self._nodes.links)
