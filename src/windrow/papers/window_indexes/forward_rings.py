"""Rings linked from old to new: the plain ring and AUX (Golab et al. 2004, 5.1 and 5.2).

The plain ring is the ring index as it was before windows, the baseline of section 5. A new tuple is
put behind the youngest of its ring, which is found by following the ring from the index; after a
turn the whole index is scanned for end-of-ring pointers. Cost per tuple, with D for the index's own
search: D + 2N/D + D/b.

AUX is filled through an auxiliary index. The first tuple of a value in a basic window is put behind
the newest one in the window, which the end-of-ring pointer names; the paper follows the ring to
find it. Later ones are put behind the newest that the auxiliary index knows. Taking tuples out is
as dear as in the plain ring. Cost per tuple: d + (d/b)(1 + D + N/D) at most to insert, N/D to
delete; space: 3d numbers more.
"""

from __future__ import annotations

import numpy as np

from windrow.columns.arrays import Int64s
from windrow.columns.growable import Growable, fresh, grow
from windrow.columns.kernels import int64, ints, ints_out, kernel, void
from windrow.papers.window_indexes.group_index import GroupIndex
from windrow.papers.window_indexes.ring import ABREAST, FillingIndex, PositionRange
from windrow.papers.window_indexes.step_counts import Steps
from windrow.papers.window_indexes.value_index import ValueIndex


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


@kernel(int64, ints, int64, int64, ints_out, ints_out)
def _link(nodes, first, base, links, starts):  # type: ignore[no-untyped-def]
    steps = 0
    for i in range(len(nodes)):
        n, p = nodes[i], first + i
        steps += 1
        if starts[n] < 0:
            starts[n] = p
        else:
            q = starts[n]
            while links[q - base] >= 0:
                q = links[q - base]
                steps += 1
            links[q - base] = p
        links[p - base] = ~n
    return steps


@kernel(int64, int64, int64, ints, ints, ints_out)
def _find_ends(used, base, links, starts, ends):  # type: ignore[no-untyped-def]
    steps = 0
    for n in range(used):
        steps += 1
        q = ends[n] if ends[n] >= 0 else starts[n]
        if q < 0:
            continue
        while links[q - base] >= 0:
            q = links[q - base]
            steps += 1
        ends[n] = q
    return steps


class PlainRing:
    """Follows its ring to put a tuple in and to take one out.

    >>> from windrow.windows import PlainRing, l_index
    >>> PlainRing(l_index()).name
    'ring'
    """

    name = "ring"

    def __init__(self, index: ValueIndex | GroupIndex) -> None:
        self.index = index
        self._forward = ForwardLinks(index.node_limit)
        self._linked: list[Int64s] = []

    def insert(self, values: Int64s, first: int, steps: Steps) -> None:
        nodes, forward = self.index.locate(values, steps), self._forward
        forward.reserve(self.index.node_limit, len(values))
        links = forward.links
        steps.link += _link(nodes, first, links.base, links.view, forward.starts)
        self._linked.append(nodes)

    def attach(self, steps: Steps) -> None:
        for nodes in self._linked:
            self.index.attach(nodes, steps)
        self._linked = []
        forward, links = self._forward, self._forward.links
        used = min(self.index.node_limit, len(forward.starts))
        steps.ends += _find_ends(used, links.base, links.view, forward.starts, forward.ends)

    def expire(self, oldest: PositionRange, steps: Steps) -> None:
        nodes, taken = self._forward.expire(oldest)
        steps.unlink += taken
        self.index.expire(nodes, steps)

    def forget(self, nodes: Int64s) -> None:
        self._forward.forget(nodes)

    def tuples(self, nodes: Int64s) -> Int64s:
        return self._forward.walk(nodes, self.index.counts(nodes))


@kernel(void, ints, ints, int64, int64, ints_out, ints_out, ints_out)
def _link_behind(codes, nodes, first, base, links, starts, newest):  # type: ignore[no-untyped-def]
    """``newest`` is, per auxiliary node, the tuple to be put behind, or -1 in an empty ring."""
    for i in range(len(codes)):
        p, last = first + i, newest[codes[i]]
        if last < 0:
            starts[nodes[i]] = p
        else:
            links[last - base] = p
        links[p - base] = ~nodes[i]
        newest[codes[i]] = p


class AuxRing:
    """A tuple is put behind the newest of its value, which an index of the filling window knows.

    >>> from windrow.windows import AuxRing, l_index
    >>> AuxRing(l_index()).name
    'AUX'
    """

    name = "AUX"

    def __init__(self, index: ValueIndex | GroupIndex) -> None:
        self.index = index
        self._forward, self._auxiliary = ForwardLinks(index.node_limit), FillingIndex(index)

    def insert(self, values: Int64s, first: int, steps: Steps) -> None:
        forward, auxiliary = self._forward, self._auxiliary
        codes, fresh, nodes = auxiliary.insert(values, steps)
        forward.reserve(self.index.node_limit, len(values))
        auxiliary.newest[fresh] = forward.ends[nodes]
        links = forward.links
        _link_behind(
            codes, auxiliary.main_nodes(codes), first, links.base, links.view,
            forward.starts, auxiliary.newest,
        )  # fmt: skip
        steps.link += len(fresh)

    def attach(self, steps: Steps) -> None:
        nodes, counts, newest = self._auxiliary.close()
        self.index.attach(nodes, steps, counts)
        self._forward.ends[nodes] = newest
        steps.ends += len(nodes)

    def expire(self, oldest: PositionRange, steps: Steps) -> None:
        nodes, taken = self._forward.expire(oldest)
        steps.unlink += taken
        self.index.expire(nodes, steps)

    def forget(self, nodes: Int64s) -> None:
        self._forward.forget(nodes)

    def tuples(self, nodes: Int64s) -> Int64s:
        return self._forward.walk(nodes, self.index.counts(nodes))
