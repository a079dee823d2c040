"""Attribute-valued queries: the tuples with some values, and the window sorted by an attribute.

Both follow rings, so they cost what they give (Golab et al. 2004, 6.3); the T-INDEX and L-INDEX
know the order of values, the H-INDEX sorts them first, and under a G-INDEX the tuples of each
range are sorted when they are asked for.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.papers.window_indexes.ring_window import RingWindow
from windrow.papers.window_indexes.values.group_index import GroupIndex

Int64s = npt.NDArray[np.int64]


def look_up(window: RingWindow, values: Int64s) -> tuple[Int64s, Int64s]:
    """Positions of the tuples with these values, oldest first per value; and which value each has.

    The second array holds indexes into ``values``. This is how a join probes a window.

    >>> import numpy as np
    >>> from windrow.windows import CountBased, DirtyBitRing, RingWindow, h_index, look_up
    >>> window = RingWindow(CountBased(2, 2), DirtyBitRing(h_index()))
    >>> window.append(np.array([7, 3, 7, 5]))
    2
    >>> look_up(window, np.array([3, 7]))
    (array([1, 0, 2]), array([0, 1, 1]))
    """
    values = np.ascontiguousarray(values, np.int64)
    nodes = window.index.find(values)
    asked = np.flatnonzero(nodes >= 0)
    nodes = nodes[asked]
    lengths = window.index.counts(nodes)
    positions = window.ring.tuples(nodes)
    which = np.repeat(asked, lengths)
    if isinstance(window.index, GroupIndex):
        same = window.values_of(nodes, positions) == values[which]
        return positions[same], which[same]
    return positions, which


def sorted_positions(window: RingWindow) -> Int64s:
    """The window's tuples by value, oldest first among equal ones.

    >>> import numpy as np
    >>> from windrow.windows import CountBased, DirtyBitRing, RingWindow, sorted_positions, t_index
    >>> window = RingWindow(CountBased(2, 2), DirtyBitRing(t_index()))
    >>> window.append(np.array([7, 3, 7, 5]))
    2
    >>> sorted_positions(window)
    array([1, 3, 0, 2])
    """
    nodes = window.index.by_value()
    lengths = window.index.counts(nodes)
    held = lengths > 0
    positions = window.ring.tuples(nodes[held])
    if not isinstance(window.index, GroupIndex):
        return positions
    values = window.values_of(nodes, positions)
    return positions[np.lexsort((positions, values))]


def sorted_rows(window: RingWindow) -> pa.RecordBatch:
    """The window's rows in the order of the column that indexes them.

    >>> import pyarrow as pa
    >>> from windrow.windows import CountBased, DirtyBitRing, RingWindow, sorted_rows, t_index
    >>> calls = pa.schema([("caller", pa.int64()), ("seconds", pa.int64())])
    >>> window = RingWindow(CountBased(1, 3), DirtyBitRing(t_index()), calls, by="caller")
    >>> window.append_rows(pa.record_batch([[7, 3, 5], [60, 10, 25]], schema=calls))
    1
    >>> sorted_rows(window).column("seconds").to_pylist()
    [10, 25, 60]
    """
    return window.take(sorted_positions(window))
