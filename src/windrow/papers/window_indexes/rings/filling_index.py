"""The auxiliary index over the basic window that is filling (Golab et al. 2004, 5.2).

It has a node for each value that this basic window has seen, with the newest tuple of that value
and the number of the value's node in the main index. So the main index is searched once per
distinct value instead of once per tuple, and end-of-ring pointers are at hand when the basic
window is full. It is of the same kind as the main index, and used again for the next one.

Cost per tuple: d + (d/b)(1 + D) for lists, and accordingly for the other structures.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from windrow.columns.growable import fresh, grow
from windrow.columns.kernels import int64, ints, ints_out, kernel
from windrow.papers.window_indexes.step_counts import Steps
from windrow.papers.window_indexes.values.group_index import GroupIndex
from windrow.papers.window_indexes.values.value_index import ValueIndex

Int64s = npt.NDArray[np.int64]


@kernel(int64, ints, ints_out, ints_out, ints_out)
def _tally(nodes, counts, fresh, places):  # type: ignore[no-untyped-def]
    """Count tuples per node; ``fresh`` are the nodes never seen before, ``places`` where."""
    found = 0
    for i in range(len(nodes)):
        n = nodes[i]
        if counts[n] == 0:
            fresh[found], places[found] = n, i
            found += 1
        counts[n] += 1
    return found


class FillingIndex:
    """Arrays are by auxiliary node; ``newest`` is for the ring to fill."""

    def __init__(self, main: ValueIndex | GroupIndex) -> None:
        self.main = main
        self._local = main.like()
        self._counts = fresh(0)
        self._to_main = fresh(-1)
        self._order = np.empty(0, np.int64)
        self.newest = fresh(-1)

    def insert(self, values: Int64s, steps: Steps) -> tuple[Int64s, Int64s, Int64s]:
        """The auxiliary node of each value; the new ones among these, and their main nodes."""
        codes = self._local.locate(values, steps)
        self._counts = grow(self._counts, self._local.node_limit, 0)
        self._to_main = grow(self._to_main, self._local.node_limit, -1)
        self.newest = grow(self.newest, self._local.node_limit, -1)
        fresh, places = np.empty(len(codes), np.int64), np.empty(len(codes), np.int64)
        found = _tally(codes, self._counts, fresh, places)
        fresh = fresh[:found]
        nodes = self.main.locate(values[places[:found]], steps)
        self._to_main[fresh] = nodes
        self._order = np.concatenate([self._order, fresh])
        return codes, fresh, nodes

    def main_nodes(self, codes: Int64s) -> Int64s:
        return self._to_main[codes]

    def close(self) -> tuple[Int64s, Int64s, Int64s]:
        """Main nodes of the values seen, tuples of each, newest tuple of each; then start anew."""
        seen = self._order
        closed = self._to_main[seen], self._counts[seen], self.newest[seen]
        self._counts[seen] = 0
        self._order = np.empty(0, np.int64)
        self._local.clear()
        return closed
