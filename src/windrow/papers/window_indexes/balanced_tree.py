"""The T-INDEX's balanced tree (Golab et al. 2004, 4.2): an AVL tree from value to node.

With ``ranked`` every node also knows the weight of its subtree, so that the k-th value of the
window, and with it any quantile, is one walk down. A change of a count then climbs to the root:
O(log D) instead of O(1), which is what finding the node costs anyway.

Cost: O(log D) per search, insertion and removal; O(D) for all values in order.
"""

from __future__ import annotations

import numpy as np

from windrow.columns.arrays import Int64s
from windrow.columns.kernels import grid, grid_out, int64, ints, ints_out, kernel, void
from windrow.core.errors import WindrowError
from windrow.windows.avl import WEIGHT, WIDTH, climb, find, in_order, locate, nth, point_at, unlink
from windrow.windows.index_nodes import EACH_ONCE, PENDING, Nodes


@kernel(int64, ints, grid_out, grid_out, ints_out, ints_out, ints_out)
def _locate(values, links, counts, state, roots, out):  # type: ignore[no-untyped-def]
    total = 0
    for i in range(len(values)):
        n, steps = locate(values[i], 0, links, counts, state, roots)
        point_at(n, links)
        out[i] = n
        total += steps
    return total


@kernel(void, ints, grid, ints, ints_out)
def _find(values, links, roots, out):  # type: ignore[no-untyped-def]
    for i in range(len(values)):
        out[i] = find(values[i], 0, links, roots)


@kernel(void, ints, grid_out, grid, ints_out, ints_out)
def _unlink(nodes, links, counts, state, roots):  # type: ignore[no-untyped-def]
    for i in range(len(nodes)):
        unlink(nodes[i], links, counts, state, roots)


@kernel(int64, ints, ints, int64, grid_out, grid_out, ints_out, ints_out)
def _climb(nodes, how_many, sign, links, counts, emptied, taken):  # type: ignore[no-untyped-def]
    """Change counts and weights, in ``taken`` steps; how many nodes reached zero, and which."""
    found = 0
    for i in range(len(nodes)):
        change = sign if len(how_many) == 0 else sign * how_many[i]
        taken[0] += climb(nodes[i], change, links, counts)
        if sign > 0:
            links[nodes[i], PENDING] -= 1
        elif counts[nodes[i], 0] == 0:
            emptied[found] = nodes[i]
            found += 1
    return found


@kernel(void, ints, ints, grid, grid, ints_out)
def _nth(ranks, roots, links, counts, out):  # type: ignore[no-untyped-def]
    for i in range(len(ranks)):
        out[i] = nth(ranks[i], roots[0], links, counts)


class _RankedNodes(Nodes):
    """Nodes whose counts are changed together with the weights above them."""

    def attach(self, nodes: Int64s, how_many: Int64s, window: int) -> int:
        taken = np.zeros(1, np.int64)
        _climb(nodes, how_many, 1, self.links, self.counts, EACH_ONCE, taken)
        return int(taken[0])

    def expire(self, nodes: Int64s, how_many: Int64s, window: int) -> tuple[Int64s, int]:
        emptied, taken = np.empty(len(nodes), np.int64), np.zeros(1, np.int64)
        found = _climb(nodes, how_many, -1, self.links, self.counts, emptied, taken)
        return emptied[:found], int(taken[0])


class BalancedTree:
    """Values to nodes in order. Only an index for one window can be ``ranked``."""

    def __init__(self, windows: int = 1, ranked: bool = False) -> None:
        if ranked and windows > 1:
            raise WindrowError(
                where="T-INDEX", expected="one window, if it is ranked", found=f"{windows}",
                remedy="keep a ranked index for each window",
            )  # fmt: skip
        self.ranked = ranked
        self.nodes = (_RankedNodes if ranked else Nodes)(WIDTH, windows)
        self._roots = np.full(1, -1, np.int64)

    def like(self) -> BalancedTree:
        """An empty one of the same kind, for one window."""
        return BalancedTree()

    def locate(self, values: Int64s) -> tuple[Int64s, int]:
        """The node of each value, made where it is missing, and the steps that it took."""
        nodes, out = self.nodes, np.empty(len(values), np.int64)
        nodes.reserve(len(values))
        steps = _locate(values, nodes.links, nodes.counts, nodes.state, self._roots, out)
        return out, steps

    def find(self, values: Int64s) -> Int64s:
        """The node of each value, -1 where there is none."""
        out = np.empty(len(values), np.int64)
        _find(values, self.nodes.links, self._roots, out)
        return out

    def by_value(self) -> Int64s:
        """All nodes by value; O(D)."""
        out = np.empty(len(self.nodes), np.int64)
        in_order(int(self._roots[0]), self.nodes.links, out)
        return out

    def weight(self) -> int:
        """How many tuples a ranked tree counts."""
        root = int(self._roots[0])
        return int(self.nodes.links[root, WEIGHT]) if root >= 0 else 0

    def nth(self, ranks: Int64s) -> Int64s:
        """The nodes of the values with these ranks (from 0) in a ranked tree; O(log D) each."""
        out = np.empty(len(ranks), np.int64)
        _nth(ranks, self._roots, self.nodes.links, self.nodes.counts, out)
        return out

    def unlink(self, nodes: Int64s) -> None:
        """Take nodes out; their numbers will be given to others."""
        _unlink(nodes, self.nodes.links, self.nodes.counts, self.nodes.state, self._roots)

    def clear(self) -> None:
        self.nodes.clear()
        self._roots[:] = -1
