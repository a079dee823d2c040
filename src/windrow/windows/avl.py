"""AVL trees in arrays: many trees over one array of nodes, with the weight of every subtree.

Columns of ``links`` after VALUE and PENDING: LEFT, RIGHT, PARENT, HEIGHT, WEIGHT. A root's PARENT
is ``~t`` for tree number t, so that a node leads to its tree. HEIGHT of a leaf is 1.

WEIGHT is the sum of the counts in a subtree. It is kept by ``climb``, which changes a count and the
weights on the way to the root; a tree whose counts are changed otherwise has no weights. New and
unlinked nodes have a count of zero, so they change nobody's weight; rotations carry weights along.

A `Forest` has T-INDEXes for many groups at once. There is a node per group and value, with how
often the group holds the value. A value that comes or goes costs O(log D) for D different values in
its group, and so does reading the k-th one.

Nodes whose count falls to zero stay until they are the most, because values come back (Golab et al.
2004, 4.4); then all of them are purged, which the departures since have paid for.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import types

from windrow.columns.arrays import Int64s
from windrow.columns.growable import fresh, grow
from windrow.columns.kernels import grid, grid_out, inline, int64, ints, ints_out, kernel, void
from windrow.core.thresholds import Threshold
from windrow.windows.index_nodes import PENDING, USED, VALUE, Nodes, free_node, new_node

LEFT, RIGHT, PARENT, HEIGHT, WEIGHT = 2, 3, 4, 5, 6
WIDTH = 8
"""A power of two, so that no node lies across two cache lines."""
DEEPEST = 96
"""More than the height of an AVL tree of 2**63 nodes."""


@inline
def height(n, links):  # type: ignore[no-untyped-def]
    return links[n, HEIGHT] if n >= 0 else 0


@inline
def weight(n, links):  # type: ignore[no-untyped-def]
    return links[n, WEIGHT] if n >= 0 else 0


@inline
def refresh(n, links, counts):  # type: ignore[no-untyped-def]
    """Height and weight of a node from its children's."""
    left, right = links[n, LEFT], links[n, RIGHT]
    links[n, HEIGHT] = 1 + max(height(left, links), height(right, links))
    links[n, WEIGHT] = counts[n, 0] + weight(left, links) + weight(right, links)


@inline
def replace(old, new, links, roots):  # type: ignore[no-untyped-def]
    """Let the parent of ``old`` lead to ``new`` (or to nothing, -1) instead."""
    parent = links[old, PARENT]
    if parent < 0:
        roots[~parent] = new
    elif links[parent, LEFT] == old:
        links[parent, LEFT] = new
    else:
        links[parent, RIGHT] = new
    if new >= 0:
        links[new, PARENT] = parent


@kernel(int64, int64, int64, grid_out, grid, ints_out)
def rotate(n, side, links, counts, roots):  # type: ignore[no-untyped-def]
    """Lift the child of ``n`` that is not on ``side`` above it; that child."""
    other = LEFT + RIGHT - side
    child = links[n, other]
    replace(n, child, links, roots)
    inner = links[child, side]
    links[n, other] = inner
    if inner >= 0:
        links[inner, PARENT] = n
    links[child, side] = n
    links[n, PARENT] = child
    refresh(n, links, counts)
    refresh(child, links, counts)
    return child


@kernel(void, int64, int64, grid_out, grid, ints_out)
def rebalance(n, whole, links, counts, roots):  # type: ignore[no-untyped-def]
    """Restore heights and balance from ``n`` upwards: to the root if ``whole``, else as far as
    heights change."""
    while n >= 0:
        before = links[n, HEIGHT]
        refresh(n, links, counts)
        left, right = links[n, LEFT], links[n, RIGHT]
        lean = height(left, links) - height(right, links)
        if lean > 1:
            if height(links[left, LEFT], links) < height(links[left, RIGHT], links):
                rotate(left, LEFT, links, counts, roots)
            n = rotate(n, RIGHT, links, counts, roots)
        elif lean < -1:
            if height(links[right, RIGHT], links) < height(links[right, LEFT], links):
                rotate(right, RIGHT, links, counts, roots)
            n = rotate(n, LEFT, links, counts, roots)
        if whole == 0 and links[n, HEIGHT] == before:
            return
        n = links[n, PARENT]


@kernel(types.UniTuple(int64, 2), int64, int64, grid_out, grid_out, ints_out, ints_out)
def locate(value, tree, links, counts, state, roots):  # type: ignore[no-untyped-def]
    """The node of a value in a tree, made if it is missing, and the nodes looked at."""
    above, p, steps = np.int64(~tree), roots[tree], 0
    side = LEFT
    while p >= 0:
        steps += 1
        if links[p, VALUE] == value:
            return p, steps
        above = p
        side = LEFT if value < links[p, VALUE] else RIGHT
        p = links[p, side]
    n = new_node(value, links, counts, state)
    links[n, LEFT] = links[n, RIGHT] = -1
    links[n, PARENT], links[n, HEIGHT], links[n, WEIGHT] = above, 1, 0
    if above < 0:
        roots[tree] = n
    else:
        links[above, side] = n
        rebalance(above, 0, links, counts, roots)
    return n, steps + 1


@kernel(int64, int64, int64, grid, ints)
def find(value, tree, links, roots):  # type: ignore[no-untyped-def]
    """The node of a value in a tree, or -1."""
    p = roots[tree]
    while p >= 0 and links[p, VALUE] != value:
        p = links[p, LEFT] if value < links[p, VALUE] else links[p, RIGHT]
    return p


@kernel(void, int64, grid_out, grid, ints_out, ints_out)
def unlink(n, links, counts, state, roots):  # type: ignore[no-untyped-def]
    """Take a node with a count of zero out of its tree."""
    left, right = links[n, LEFT], links[n, RIGHT]
    if left < 0 or right < 0:
        start = links[n, PARENT]
        replace(n, max(left, right), links, roots)
    else:
        heir = right
        while links[heir, LEFT] >= 0:
            heir = links[heir, LEFT]
        start = heir
        if heir != right:
            start = links[heir, PARENT]
            replace(heir, links[heir, RIGHT], links, roots)
            links[heir, RIGHT] = right
            links[right, PARENT] = heir
        links[heir, LEFT] = left
        links[left, PARENT] = heir
        replace(n, heir, links, roots)
    rebalance(start, 1, links, counts, roots)
    free_node(n, links, state)


@inline
def climb(n, change, links, counts):  # type: ignore[no-untyped-def]
    """Change the count of a node, and the weights from it to the root; how many those are."""
    counts[n, 0] += change
    p, steps = n, 0
    while p >= 0:
        links[p, WEIGHT] += change
        p = links[p, PARENT]
        steps += 1
    return steps


@inline
def nth(k, root, links, counts):  # type: ignore[no-untyped-def]
    """The node of the k-th smallest counted value (from 0) of a tree with weights."""
    p = root
    while True:
        left = links[p, LEFT]
        before = weight(left, links)
        if k < before:
            p = left
        elif k < before + counts[p, 0]:
            return p
        else:
            k -= before + counts[p, 0]
            p = links[p, RIGHT]


@kernel(int64, int64, grid, ints_out)
def in_order(root, links, out):  # type: ignore[no-untyped-def]
    """All nodes of a tree by value; how many."""
    waiting = np.empty(DEEPEST, np.int64)
    depth, count, p = 0, 0, root
    while p >= 0 or depth > 0:
        while p >= 0:
            waiting[depth] = p
            depth += 1
            p = links[p, LEFT]
        depth -= 1
        p = waiting[depth]
        out[count] = p
        count += 1
        p = links[p, RIGHT]
    return count


@inline
def point_at(n, links):  # type: ignore[no-untyped-def]
    """Note that one more pointer to the node is pending."""
    links[n, PENDING] += 1


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
        if len(self._nodes) > 2 * self.in_use + WORTH_PURGING.value:
            self._purge()

    @property
    def in_use(self) -> int:
        """How many nodes have a count."""
        return int(self._occupied[0])

    def purge_values(self) -> Int64s:
        """Take unused nodes out; the different values of those that are left, in order."""
        self._purge()
        nodes = self._nodes
        limit = nodes.node_limit
        return np.unique(nodes.links[:limit, VALUE][nodes.counts[:limit, 0] != 0])

    def replace_values(self, others: Int64s) -> None:
        """Give every node ``others[value]`` for its value; the order must be the same."""
        values = self._nodes.links[: self._nodes.node_limit, VALUE]
        if len(others):
            values[:] = np.take(others, values, mode="clip")  # rows that are free have any value

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
