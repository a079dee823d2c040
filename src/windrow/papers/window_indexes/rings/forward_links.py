"""Rings linked from old to new: walking them, and taking expired tuples out of them.

Both the plain ring and AUX are linked in this direction. The oldest tuple of a ring is the one
that the index points at. To take it out, its ring is followed all the way back to the index,
which is the only place where the pointer to it can be changed: N/D steps per expired tuple
(Golab et al. 2004, 5.1).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from windrow.columns.growable import Growable, fresh, grow
from windrow.columns.kernels import int64, ints, ints_out, kernel, void
from windrow.papers.window_indexes.rings.ring import ABREAST, PositionRange

Int64s = npt.NDArray[np.int64]


@kernel(int64, int64, int64, int64, ints, ints_out, ints_out, ints_out)
def _expire(start, stop, base, links, starts, ends, nodes):  # type: ignore[no-untyped-def]
    """Advance the starts of the rings past the tuples from ``start`` up to ``stop``."""
    steps = 0
    for p in range(start, stop):
        q = p
        while links[q - base] >= 0:
            q = links[q - base]
            steps += 1
        steps += 1
        n = ~links[q - base]
        starts[n] = links[p - base] if q != p else -1
        if ends[n] == p:
            ends[n] = -1
        nodes[p - start] = n
    return steps


@kernel(void, ints, ints, ints, ints, int64, ints, ints_out)
def _walk(nodes, starts, ends, links, base, places, out):  # type: ignore[no-untyped-def]
    """Put each ring at its place, up to its end-of-ring pointer; several rings at a time."""
    at, place = np.empty(ABREAST, np.int64), np.empty(ABREAST, np.int64)
    for first in range(0, len(nodes), ABREAST):
        rings = min(ABREAST, len(nodes) - first)
        for k in range(rings):
            n = nodes[first + k]
            at[k], place[k] = starts[n] if ends[n] >= 0 else -1, places[first + k]
        going = True
        while going:
            going = False
            for k in range(rings):
                p = at[k]
                if p >= 0:
                    out[place[k]] = p
                    place[k] += 1
                    at[k] = links[p - base] if p != ends[nodes[first + k]] else -1
                    going = True


class ForwardLinks:
    """A link per tuple, and for each node the oldest tuple and the newest that is in the window."""

    def __init__(self, nodes: int) -> None:
        self.links = Growable(np.int64)
        self.starts, self.ends = fresh(-1), fresh(-1)
        self.reserve(nodes, 0)

    def reserve(self, nodes: int, more: int) -> None:
        """Make room for so many nodes, and for more tuples."""
        self.starts, self.ends = grow(self.starts, nodes, -1), grow(self.ends, nodes, -1)
        self.links.extend(more, -1)

    def expire(self, oldest: PositionRange) -> tuple[Int64s, int]:
        """Take a basic window out; the node of each of its tuples, and the steps."""
        nodes, links = np.empty(oldest.stop - oldest.start, np.int64), self.links
        steps = _expire(
            oldest.start, oldest.stop, links.base, links.view, self.starts, self.ends, nodes
        )
        links.drop_before(oldest.stop)
        return nodes, steps

    def forget(self, nodes: Int64s) -> None:
        self.starts[nodes] = self.ends[nodes] = -1

    def walk(self, nodes: Int64s, counts: Int64s) -> Int64s:
        """The tuples of the nodes that are in the window, of which each has so many."""
        stops = np.cumsum(counts)
        out = np.empty(int(stops[-1]) if len(stops) else 0, np.int64)
        links = self.links
        _walk(nodes, self.starts, self.ends, links.view, links.base, stops - counts, out)
        return out
