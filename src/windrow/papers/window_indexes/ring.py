"""What the ring indexes have in common (Golab et al. 2004, 5), and their auxiliary index.

The auxiliary index is over the basic window that is filling (5.2). It has a node for each value
that this basic window has seen, with the newest tuple of that value and the number of the value's
node in the main index. So the main index is searched once per distinct value instead of once per
tuple, and end-of-ring pointers are at hand when the basic window is full. It is of the same kind as
the main index, and used again for the next one.

Cost per tuple: d + (d/b)(1 + D) for lists, and accordingly for the other structures.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from windrow.columns.arrays import Int64s
from windrow.columns.growable import fresh, grow
from windrow.columns.kernels import int64, ints, ints_out, kernel
from windrow.papers.window_indexes.group_index import GroupIndex
from windrow.papers.window_indexes.step_counts import Steps
from windrow.papers.window_indexes.value_index import ValueIndex

ABREAST = 8
"""Rings that a walk follows at the same time: a step along one waits for memory, the others not."""


@dataclass(frozen=True)
class PositionRange:
    """The positions of a basic window's tuples: from ``start`` up to ``stop``."""

    start: int
    stop: int


class Ring(Protocol):
    """All tuples with the same value (or the same group) form a ring that begins in the index.

    A tuple is linked when it comes, but *end-of-ring pointers* bound what a query may see to the
    basic windows that are full. A pointer from a ring back to node n is the number ``~n``.
    """

    name: str
    index: ValueIndex | GroupIndex

    def insert(self, values: Int64s, first: int, steps: Steps) -> None:
        """Link the tuples at the positions from ``first`` on."""
        ...

    def attach(self, steps: Steps) -> None:
        """Let queries see what has been linked."""
        ...

    def expire(self, oldest: PositionRange, steps: Steps) -> None:
        """Forget the oldest basic window, after the newest was attached."""
        ...

    def forget(self, nodes: Int64s) -> None:
        """Nodes were purged; their numbers may come again for other values."""
        ...

    def tuples(self, nodes: Int64s) -> Int64s:
        """The positions of the tuples of these nodes, node after node, oldest first."""
        ...


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
