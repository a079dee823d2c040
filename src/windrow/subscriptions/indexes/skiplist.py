"""Interval skip lists (Hanson, Johnson 1996): the direct index that the paper compares with.

The ends of the intervals are the nodes of a skip list. An *edge* of level i leads from a node to
the next one that is at least i + 1 tall, and stands for the points from the one up to, but not
including, the other. An interval puts its id as a *marker* on the fewest edges that make it up. A
point walks down from the head; on each level exactly one edge stands over it, and the markers of
these edges are its intervals. Edges that are half-open, as the intervals are, need no markers on
nodes.

Where the markers are depends on the nodes alone, so a change that adds or removes nodes lifts the
markers of the intervals on the edges that it splits or joins, and lays them again afterwards.

Cost: a search is O(log n + matches), an insertion or removal O(log n) markers for each interval
that is touched; O(n log n) bytes. The heights are pseudo-random with a fixed seed.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from windrow.columns.arrays import Bools, Int64s
from windrow.core.thresholds import Threshold
from windrow.subscriptions.indexes import skiplist_walks as walks
from windrow.subscriptions.indexes.idlists import IdLists, Int32s, checked_entries
from windrow.subscriptions.indexes.interval_index import MIN, IntervalEnds, contiguous, pairs

TALLEST = 24
TALLER = 0.25
WORTH_BUILDING = Threshold(1024)
"""Edges beyond four per node that are not worth building the list anew."""
"""The share of the nodes of a level that reach the next one; 1/2 takes more bytes and more time."""
SEED = 20041
NIL = -1


class SkipList:
    """Those intervals of ``bounds`` that were added here.

    A node is known by the number of its lowest edge; its others follow. Node 0 is the head, which
    stands at the least integer. ``edges`` has the key of the node that an edge leads to, and the
    node itself or NIL.
    """

    def __init__(self, bounds: IntervalEnds) -> None:
        self._bounds = bounds
        self._members: Bools = np.zeros(0, np.bool_)
        self._count = 0
        self._clear()

    def _clear(self) -> None:
        self._random = np.random.default_rng(SEED)
        self._edges = np.full((TALLEST, 2), walks.END, np.int64)
        self._edges[:, 1] = NIL
        self._heights = np.ones(TALLEST, np.int8)
        self._owners = np.zeros(TALLEST, np.int32)
        self._markers = IdLists(TALLEST)
        self._used = TALLEST
        self._levels = 1
        self._nodes = 0

    def __len__(self) -> int:
        return self._count

    @property
    def nbytes(self) -> int:
        arrays = (self._edges, self._heights, self._owners, self._members)
        return self._markers.nbytes + sum(a.nbytes for a in arrays)

    @property
    def markers(self) -> int:
        """Ids on edges."""
        return self._markers.entries

    def add(self, ids: Int64s) -> None:
        """Take in intervals whose ends are known to the bounds."""
        ids = ids[self._bounds.lo[ids] < self._bounds.hi[ids]]
        if len(ids) == 0:
            return
        if len(self._members) < len(self._bounds.live):
            more = len(self._bounds.live) - len(self._members)
            self._members = np.concatenate([self._members, np.zeros(more, np.bool_)])
        self._members[ids] = True
        self._count += len(ids)
        if 4 * len(ids) > self._count:
            self._build()
            return
        keys, owners = self._ends(ids)
        new = keys[walks.find(self._edges, self._levels, keys) < 0]
        heights = self._draw(len(new))
        lifted = self._lift(walks.split_edges(self._edges, self._levels, new, heights))
        self._link(new, heights)
        self._owners[walks.find(self._edges, self._levels, keys)] += owners
        self._lay(np.concatenate([lifted, ids]))

    def drop(self, ids: Int64s) -> None:
        """Give up intervals; their ends must still be known to the bounds."""
        ids = ids[self._bounds.lo[ids] < self._bounds.hi[ids]]
        if len(ids) == 0:
            return
        self._members[ids] = False
        self._count -= len(ids)
        # A node has 4/3 edges on average, which are not used again when it goes.
        if 4 * len(ids) > self._count or self._used > 4 * self._nodes + WORTH_BUILDING.value:
            self._build()
            return
        self._take_off(ids)
        keys, owners = self._ends(ids)
        nodes = walks.find(self._edges, self._levels, keys)
        self._owners[nodes] -= owners
        gone = (self._owners[nodes] == 0) & (nodes > 0)
        edges = walks.joined_edges(self._edges, self._levels, keys[gone])
        lifted = self._lift(edges)
        walks.unlink(self._edges, self._levels, keys[gone])
        self._nodes -= int(gone.sum())
        self._lay(lifted)

    def search(self, points: Int64s) -> tuple[Int64s, Int64s]:
        if self._count == 0:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        lists = self._markers
        collect = partial(walks.collect, lists.headers, lists.pool, self._edges, self._levels)
        return pairs(points, collect)

    def _ends(self, ids: Int64s) -> tuple[Int64s, Int64s]:
        """The keys of nodes that intervals end at, and how many do at each."""
        lo, hi = self._bounds.lo[ids], self._bounds.hi[ids]
        return np.unique(np.concatenate([lo[lo != MIN], hi[hi != walks.END]]), return_counts=True)

    def _draw(self, count: int) -> Int64s:
        return np.minimum(self._random.geometric(1 - TALLER, count), TALLEST).astype(np.int64)

    def _build(self) -> None:
        self._clear()
        ids = np.flatnonzero(self._members)
        keys, owners = self._ends(ids)
        self._link(keys, self._draw(len(keys)))
        self._owners[walks.find(self._edges, self._levels, keys)] += owners
        offsets, edges = self._paths(ids)
        self._markers.build(edges, np.repeat(ids.astype(np.int32), np.diff(offsets)))

    def _link(self, keys: Int64s, heights: Int64s) -> None:
        """Put in nodes that are not there yet."""
        if len(keys) == 0:
            return
        more = int(heights.sum())
        first = self._used
        self._reserve(first + more)
        # The head is as tall as the tallest node: a point starts there.
        self._levels = max(self._levels, int(heights.max()))
        self._heights[0] = self._levels
        walks.link(self._edges, self._levels, keys, heights, first, self._heights)
        self._used = first + more
        self._nodes += len(keys)

    def _reserve(self, size: int) -> None:
        if size > len(self._edges):
            size = max(size, 3 * len(self._edges) // 2)
            more = size - len(self._edges)
            self._edges = np.concatenate([self._edges, np.zeros((more, 2), np.int64)])
            self._heights = np.concatenate([self._heights, np.zeros(more, np.int8)])
            self._owners = np.concatenate([self._owners, np.zeros(more, np.int32)])
            self._markers.extend(more)

    def _paths(self, ids: Int64s) -> tuple[Int64s, Int32s]:
        """The edges that make up each interval."""
        lo, hi = self._bounds.lo[ids], self._bounds.hi[ids]
        starts = walks.find(self._edges, self._levels, lo)
        offsets = np.zeros(len(ids) + 1, np.int64)
        walks.path_sizes(self._edges, self._heights, starts, hi, offsets)
        np.cumsum(offsets, out=offsets)
        checked_entries(int(offsets[-1]))
        edges = np.empty(offsets[-1], np.int32)
        walks.paths(self._edges, self._heights, starts, hi, offsets, edges)
        return offsets, edges

    def _lift(self, edges: Int64s) -> Int64s:
        """Take the intervals that mark any of these edges off all of theirs; which they are."""
        ids = np.unique(self._markers.contents(edges)).astype(np.int64)
        self._take_off(ids)
        return ids

    def _take_off(self, ids: Int64s) -> None:
        live = self._bounds.live
        before = live[ids]
        live[ids] = False
        self._markers.drop(self._paths(ids)[1], live)
        live[ids] = before

    def _lay(self, ids: Int64s) -> None:
        offsets, edges = self._paths(ids)
        self._markers.push(edges, np.repeat(ids.astype(np.int32), np.diff(offsets)))


class IntervalSkipList:
    """IS-lists as an index of their own; there is no expected range."""

    def __init__(self) -> None:
        self._bounds = IntervalEnds()
        self._list = SkipList(self._bounds)

    def __len__(self) -> int:
        return self._bounds.count

    @property
    def nbytes(self) -> int:
        return self._bounds.nbytes + self._list.nbytes

    @property
    def entries(self) -> int:
        """Ids on edges."""
        return self._list.markers

    def insert(self, ids: Int64s, lo: Int64s, hi: Int64s) -> None:
        ids = contiguous(ids)
        self._bounds.add(ids, contiguous(lo), contiguous(hi))
        self._list.add(ids)

    def remove(self, ids: Int64s) -> None:
        ids = contiguous(ids)
        self._bounds.drop(ids)
        self._list.drop(ids)

    def search(self, points: Int64s) -> tuple[Int64s, Int64s]:
        return self._list.search(contiguous(points))
