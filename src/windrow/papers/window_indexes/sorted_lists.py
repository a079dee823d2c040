"""Sorted linked lists over nodes, one per bucket: the L-INDEX with one bucket, else the H-INDEX.

AGGR and HASH basic windows are the same structure on a smaller scale (Golab et al. 2004, 2.2
and 4.1-4.2). Lists are doubly linked, so that a node found on a list of zero counts is taken out
without a search.

Cost: a search walks half of its list on average: D/2 steps with one bucket, D/2h with h.
"""

from __future__ import annotations

import numpy as np

from windrow.columns.arrays import Int64s
from windrow.columns.hashing import mix
from windrow.columns.kernels import grid, grid_out, inline, int64, ints, ints_out, kernel, void
from windrow.windows.index_nodes import NEXT, PENDING, USED, VALUE, Nodes, free_node, new_node

PREVIOUS = 3
CROWDED = 2
"""Values per bucket above which a table without a fixed number of buckets grows."""


@inline
def bucket_of(value, buckets):  # type: ignore[no-untyped-def]
    """Values are mixed first: a plain remainder fails where they are skewed (6.2)."""
    return 0 if buckets == 1 else (mix(value) & np.int64(2**62 - 1)) % buckets


@kernel(int64, ints, grid_out, grid_out, ints_out, ints_out, ints_out)
def _locate(values, links, counts, state, heads, out):  # type: ignore[no-untyped-def]
    """The node of each value, made where it is missing; one more pointer to each is pending."""
    steps = 0
    for i in range(len(values)):
        value = values[i]
        bucket = bucket_of(value, len(heads))
        before, p = np.int64(-1), heads[bucket]
        while p >= 0 and links[p, VALUE] < value:
            before, p = p, links[p, NEXT]
            steps += 1
        steps += 1
        if p < 0 or links[p, VALUE] != value:
            n = new_node(value, links, counts, state)
            links[n, NEXT], links[n, PREVIOUS] = p, before
            if before >= 0:
                links[before, NEXT] = n
            else:
                heads[bucket] = n
            if p >= 0:
                links[p, PREVIOUS] = n
            p = n
        links[p, PENDING] += 1
        out[i] = p
    return steps


@kernel(int64, ints, grid, ints, ints_out)
def _find(values, links, heads, out):  # type: ignore[no-untyped-def]
    steps = 0
    for i in range(len(values)):
        p = heads[bucket_of(values[i], len(heads))]
        while p >= 0 and links[p, VALUE] < values[i]:
            p = links[p, NEXT]
            steps += 1
        steps += 1
        out[i] = p if p >= 0 and links[p, VALUE] == values[i] else -1
    return steps


@kernel(void, ints, grid_out, ints_out, ints_out)
def _unlink(nodes, links, state, heads):  # type: ignore[no-untyped-def]
    for i in range(len(nodes)):
        n = nodes[i]
        before, after = links[n, PREVIOUS], links[n, NEXT]
        if before >= 0:
            links[before, NEXT] = after
        else:
            heads[bucket_of(links[n, VALUE], len(heads))] = after
        if after >= 0:
            links[after, PREVIOUS] = before
        free_node(n, links, state)


@kernel(int64, ints, grid, ints_out)
def _walk(heads, links, out):  # type: ignore[no-untyped-def]
    count = 0
    for b in range(len(heads)):
        p = heads[b]
        while p >= 0:
            out[count] = p
            count += 1
            p = links[p, NEXT]
    return count


@kernel(void, grid_out, ints, ints_out)
def _rehash(links, state, heads):  # type: ignore[no-untyped-def]
    """Put every node into its new bucket's list, in order."""
    for n in range(state[USED]):
        if links[n, PENDING] < 0:
            continue
        bucket = bucket_of(links[n, VALUE], len(heads))
        before, p = np.int64(-1), heads[bucket]
        while p >= 0 and links[p, VALUE] < links[n, VALUE]:
            before, p = p, links[p, NEXT]
        links[n, NEXT], links[n, PREVIOUS] = p, before
        if before >= 0:
            links[before, NEXT] = n
        else:
            heads[bucket] = n
        if p >= 0:
            links[p, PREVIOUS] = n


class SortedLists:
    """Values to nodes; ``buckets`` lists, or as many as the values need if it is None."""

    def __init__(self, buckets: int | None = 1, windows: int = 1) -> None:
        self.buckets, self.windows = buckets, windows
        self.nodes = Nodes(4, windows)
        self._heads = np.full(buckets or 64, -1, np.int64)

    def like(self) -> SortedLists:
        """An empty one of the same kind, for one window."""
        return SortedLists(self.buckets)

    def locate(self, values: Int64s) -> tuple[Int64s, int]:
        """The node of each value, made where it is missing, and the steps that it took."""
        nodes, out = self.nodes, np.empty(len(values), np.int64)
        nodes.reserve(len(values))
        steps = _locate(values, nodes.links, nodes.counts, nodes.state, self._heads, out)
        if self.buckets is None and len(nodes) > CROWDED * len(self._heads):
            self._heads = np.full(2 * len(nodes), -1, np.int64)
            _rehash(nodes.links, nodes.state, self._heads)
        return out, steps

    def find(self, values: Int64s) -> Int64s:
        """The node of each value, -1 where there is none."""
        out = np.empty(len(values), np.int64)
        _find(values, self.nodes.links, self._heads, out)
        return out

    def by_value(self) -> Int64s:
        """All nodes by value; O(D), with several buckets O(D log D)."""
        out = np.empty(len(self.nodes), np.int64)
        _walk(self._heads, self.nodes.links, out)
        if len(self._heads) == 1:
            return out
        return out[np.argsort(self.nodes.values(out), kind="stable")]

    def unlink(self, nodes: Int64s) -> None:
        """Take nodes out; their numbers will be given to others."""
        _unlink(nodes, self.nodes.links, self.nodes.state, self._heads)

    def clear(self) -> None:
        self.nodes.clear()
        self._heads[:] = -1
