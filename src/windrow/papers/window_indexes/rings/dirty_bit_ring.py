"""DB: rings from new to old that expiry does not touch (Golab et al. 2004, 5.4).

The last link of a ring may lead to a tuple that has expired; the paper sets a dirty bit in the
node when that happens and keeps the tuple. Here tuples are numbered by arrival, so a walk sees by
the number whether the tuple is still in the window (``windrow.windows.chains``): the bit is
computed when it is asked for, and the tuple need not be kept.

Cost per tuple: as BW to insert; O(1) to delete, which is the count that the index takes back.
Space: the number of its node with every tuple, which spares following the ring to it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from windrow.columns.growable import Growable
from windrow.columns.kernels import grid, int64, ints, ints_out, kernel, void
from windrow.papers.window_indexes.rings.backward_ring import BackwardLinks
from windrow.papers.window_indexes.rings.ring import PositionRange
from windrow.papers.window_indexes.step_counts import Steps
from windrow.papers.window_indexes.values.group_index import GroupIndex
from windrow.papers.window_indexes.values.value_index import ValueIndex

Int64s = npt.NDArray[np.int64]


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
