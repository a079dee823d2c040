"""Rings linked from new to old: BW and DB (Golab et al. 2004, 5.3 and 5.4).

Under BW expired tuples are cut off together. The youngest tuple of the oldest basic window comes
first when that window is read backwards, and its ring leads through all others of its value there,
then to the index. So each ring is cut once per distinct value. The oldest tuple that stays has to
be found from the index, to let it point back there: the whole ring, but once per value instead of
once per tuple. Cost per tuple: d + (d/b)(1 + D + N/D) at most to insert, (d/b)(N/D) to delete.

Under DB expiry touches no ring. The last link of a ring may lead to a tuple that has expired; the
paper sets a dirty bit in the node when that happens and keeps the tuple. Here tuples are numbered
by arrival, so a walk sees by the number whether the tuple is still in the window
(``windrow.windows.chains``): the bit is computed when it is asked for, and the tuple need not be
kept. Cost per tuple: as BW to insert; O(1) to delete, which is the count that the index takes back.
Space: the number of its node with every tuple, which spares following the ring to it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from windrow.columns.arrays import Int64s
from windrow.columns.growable import Growable, fresh, grow
from windrow.columns.kernels import grid, grid_out, int64, ints, ints_out, kernel, void
from windrow.papers.window_indexes.group_index import GroupIndex
from windrow.papers.window_indexes.ring import ABREAST, FillingIndex, PositionRange
from windrow.papers.window_indexes.step_counts import Steps
from windrow.papers.window_indexes.value_index import ValueIndex
from windrow.windows.chains import link

CUT = -(2**62)
"""The link of an expired tuple that is no longer part of a ring."""


@kernel(int64, int64, int64, int64, grid_out, ints_out, ints_out, ints_out, ints_out)
def _expire(start, stop, base, links, ends, nodes, counts, taken):  # type: ignore[no-untyped-def]
    """Cut the tuples from ``start`` up to ``stop`` off their rings; how many rings that were."""
    found, steps = 0, 0
    for p in range(stop - 1, start - 1, -1):
        if links[p - base, 0] == CUT:
            continue
        q, count = p, 0
        while q >= 0:
            older = links[q - base, 0]
            links[q - base, 0] = CUT
            q = older
            count += 1
        n = ~q
        nodes[found], counts[found] = n, count
        found += 1
        steps += count
        if ends[n] < stop:
            ends[n] = -1
            continue
        q = ends[n]
        steps += 1
        while links[q - base, 0] >= stop:
            q = links[q - base, 0]
            steps += 1
        links[q - base, 0] = ~n
    taken[0] = steps
    return found


@kernel(void, ints, ints, int64, grid, ints, ints_out)
def _walk(nodes, ends, base, links, stops, out):  # type: ignore[no-untyped-def]
    """Put each ring before its stop, as far as it is in the window; several rings at a time."""
    at, place = np.empty(ABREAST, np.int64), np.empty(ABREAST, np.int64)
    for first in range(0, len(nodes), ABREAST):
        rings = min(ABREAST, len(nodes) - first)
        for k in range(rings):
            at[k], place[k] = ends[nodes[first + k]], stops[first + k]
        going = True
        while going:
            going = False
            for k in range(rings):
                p = at[k]
                if p >= base:
                    place[k] -= 1
                    out[place[k]] = p
                    at[k] = links[p - base, 0]
                    going = True


class BackwardLinks:
    """A link per tuple to the next older one, and per node the newest tuple in the window.

    What is filling hangs on the auxiliary index only, so no query meets it.
    """

    def __init__(self, index: ValueIndex | GroupIndex) -> None:
        self.index = index
        self.links = Growable(np.int64, width=1)
        self.ends = grow(fresh(-1), index.node_limit, -1)  # a G-INDEX has all nodes from the start
        self._auxiliary = FillingIndex(index)

    def insert(self, values: Int64s, first: int, steps: Steps) -> Int64s:
        """Link the tuples at the positions from ``first`` on; the index nodes of each."""
        auxiliary, links = self._auxiliary, self.links
        codes, fresh, nodes = auxiliary.insert(values, steps)
        self.ends = grow(self.ends, self.index.node_limit, -1)
        ends = self.ends[nodes]
        auxiliary.newest[fresh] = np.where(ends >= 0, ends, ~nodes)
        links.extend(len(values), -1)
        at = np.arange(first, first + len(values))
        link(codes, at, first, auxiliary.newest, 0, 0, links.view[first - links.base :])
        steps.link += len(fresh)
        return auxiliary.main_nodes(codes)

    def attach(self, steps: Steps) -> None:
        """Let queries see what is linked."""
        nodes, counts, newest = self._auxiliary.close()
        self.index.attach(nodes, steps, counts)
        self.ends[nodes] = newest
        steps.ends += len(nodes)

    def walk(self, nodes: Int64s) -> Int64s:
        """The tuples of the nodes, oldest first; a ring ends where it leaves the window."""
        stops = np.cumsum(self.index.counts(nodes))
        out = np.empty(int(stops[-1]) if len(stops) else 0, np.int64)
        _walk(nodes, self.ends, self.links.base, self.links.view, stops, out)
        return out


class BackwardRing:
    """Linked from new to old; what expires is cut off once per value and basic window.

    >>> from windrow.windows import BackwardRing, l_index
    >>> BackwardRing(l_index()).name
    'BW'
    """

    name = "BW"

    def __init__(self, index: ValueIndex | GroupIndex) -> None:
        self.index = index
        self._backward = BackwardLinks(index)

    def insert(self, values: Int64s, first: int, steps: Steps) -> None:
        self._backward.insert(values, first, steps)

    def attach(self, steps: Steps) -> None:
        self._backward.attach(steps)

    def expire(self, oldest: PositionRange, steps: Steps) -> None:
        backward = self._backward
        room, links = oldest.stop - oldest.start, backward.links
        nodes, counts, taken = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(1, int)
        found = _expire(
            oldest.start, oldest.stop, links.base, links.view, backward.ends, nodes, counts, taken
        )
        links.drop_before(oldest.stop)
        steps.unlink += int(taken[0])
        self.index.expire(nodes[:found], steps, counts[:found])

    def forget(self, nodes: Int64s) -> None:
        self._backward.ends[nodes] = -1

    def tuples(self, nodes: Int64s) -> Int64s:
        return self._backward.walk(nodes)


@kernel(void, ints, ints, int64, grid, ints_out)
def _tails(nodes, ends, base, links, tails):  # type: ignore[no-untyped-def]
    """Where each ring leads after its last tuple in the window: an expired one, or below zero."""
    for i in range(len(nodes)):
        p = ends[nodes[i]]
        while p >= base:
            p = links[p - base, 0]
        tails[i] = p


class DirtyBitRing:
    """Expiry touches no ring: a walk stops at the first tuple that is out of the window.

    >>> from windrow.windows import DirtyBitRing, h_index
    >>> DirtyBitRing(h_index()).name
    'DB'
    """

    name = "DB"

    def __init__(self, index: ValueIndex | GroupIndex) -> None:
        self.index = index
        self._backward = BackwardLinks(index)
        self._nodes = Growable(np.int64)

    def insert(self, values: Int64s, first: int, steps: Steps) -> None:
        self._nodes.append(self._backward.insert(values, first, steps))

    def attach(self, steps: Steps) -> None:
        self._backward.attach(steps)

    def expire(self, oldest: PositionRange, steps: Steps) -> None:
        gone = self._nodes.view[: oldest.stop - oldest.start]
        self.index.expire(gone, steps)
        self._nodes.drop_before(oldest.stop)
        self._backward.links.drop_before(oldest.stop)

    def dirty(self, nodes: Int64s) -> npt.NDArray[np.bool_]:
        """Whether the ring of each node ends in an expired tuple; costs a walk."""
        links, tails = self._backward.links, np.empty(len(nodes), np.int64)
        _tails(nodes, self._backward.ends, links.base, links.view, tails)
        return tails >= 0

    def forget(self, nodes: Int64s) -> None:
        self._backward.ends[nodes] = -1

    def tuples(self, nodes: Int64s) -> Int64s:
        return self._backward.walk(nodes)
