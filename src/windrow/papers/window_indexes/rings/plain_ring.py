"""The ring index as it was before windows (Golab et al. 2004, 5.1): the baseline of section 5.

A new tuple is put behind the youngest of its ring, which is found by following the ring from the
index; after a turn the whole index is scanned for end-of-ring pointers.

Cost per tuple, with D for the index's own search: D + 2N/D + D/b.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from windrow.columns.kernels import int64, ints, ints_out, kernel
from windrow.papers.window_indexes.rings.forward_links import ForwardLinks
from windrow.papers.window_indexes.rings.ring import PositionRange
from windrow.papers.window_indexes.step_counts import Steps
from windrow.papers.window_indexes.values.group_index import GroupIndex
from windrow.papers.window_indexes.values.value_index import ValueIndex

Int64s = npt.NDArray[np.int64]


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
