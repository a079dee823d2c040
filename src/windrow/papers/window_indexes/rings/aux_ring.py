"""AUX: rings linked from old to new, filled through an auxiliary index (Golab et al. 2004, 5.2).

The first tuple of a value in a basic window is put behind the newest one in the window, which the
end-of-ring pointer names; the paper follows the ring to find it. Later ones are put behind the
newest that the auxiliary index knows. Taking tuples out is as dear as in the plain ring.

Cost per tuple: d + (d/b)(1 + D + N/D) at most to insert, N/D to delete; space: 3d numbers more.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from windrow.columns.kernels import int64, ints, ints_out, kernel, void
from windrow.papers.window_indexes.rings.filling_index import FillingIndex
from windrow.papers.window_indexes.rings.forward_links import ForwardLinks
from windrow.papers.window_indexes.rings.ring import PositionRange
from windrow.papers.window_indexes.step_counts import Steps
from windrow.papers.window_indexes.values.group_index import GroupIndex
from windrow.papers.window_indexes.values.value_index import ValueIndex

Int64s = npt.NDArray[np.int64]


@kernel(void, ints, ints, int64, int64, ints_out, ints_out, ints_out)
def _link(codes, nodes, first, base, links, starts, newest):  # type: ignore[no-untyped-def]
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
        _link(
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
