"""Windows indexed in memory: what the engine's operators stand on, and the door to the library.

The engine keeps two kinds of index, and there is no second implementation of either.

*H-INDEX with DB rings* is the default, wherever tuples are found by equality: joins, negation,
the direct DISTINCT. An ``Interner`` gives each value a small number by hashing (``row_index``
counts by such numbers: COUNT(DISTINCT), EXCEPT), ``chains`` links the tuples of each number from
new to old. A tuple costs one look-up and one link, whatever D and N are, where a tree would cost
log D; its expiry costs nothing at all, where AUX follows N/D links per tuple and BW per value.
What DB pays for it, a test at the end of each ring when a query walks it, is one comparison per
step. Where only the oldest tuple of a value is wanted, as by a negative tuple, ``queues`` links
from old to new instead.

*T-INDEX*, where order is needed: MEDIAN and QUANTILE. A ``Forest`` (``avl`` over ``index_nodes``)
keeps a tree of the values of each group, with the weight of every subtree, so that a change costs
O(log D) and a quantile as much; a hash would have to be sorted for every answer. D is the number of
different values, so repeated values share a node.

Where neither is needed, because the operator is incremental by itself (SUM, COUNT, selection),
there is no index; ``windrow.plan.physical.classification`` says which operator is which.

All indexes of Golab et al. 2004, over every storage of basic windows, are a library for whoever
wants a window and no query language (``docs/window-indexes.md``):

>>> import numpy as np
>>> from windrow.windows import CountBased, IndexedWindow, ListStorage, histogram, t_index
>>> window = IndexedWindow(CountBased(basic_windows=2, tuples=3), ListStorage(), t_index())
>>> window.append(np.array([5, 1, 5, 7, 1, 1]))
2
>>> [part.tolist() for part in histogram(window)]
[[1, 5, 7], [3, 2, 1]]

It is in ``windrow.papers``, and loaded by the first name that is asked for: who imports an index of
the engine's does not pay for the library.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.core.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from windrow.papers.window_indexes.backward_rings import BackwardRing, DirtyBitRing
    from windrow.papers.window_indexes.basic_storage import (
        GroupStorage,
        ListStorage,
        Storage,
        aggr_storage,
        hash_storage,
    )
    from windrow.papers.window_indexes.basic_windows import CountBased, TimeBased, WindowError
    from windrow.papers.window_indexes.forward_rings import AuxRing, PlainRing
    from windrow.papers.window_indexes.group_index import BoundsError, GroupIndex, Groups
    from windrow.papers.window_indexes.indexed_window import (
        IndexedWindow,
        UnanswerableError,
        UnsuitableIndexError,
    )
    from windrow.papers.window_indexes.ring_window import (
        RingWindow,
        look_up,
        sorted_positions,
        sorted_rows,
    )
    from windrow.papers.window_indexes.set_queries import (
        distinct_count,
        histogram,
        intersection,
        median,
        quantile,
        range_histogram,
        range_intersection,
    )
    from windrow.papers.window_indexes.step_counts import Steps
    from windrow.papers.window_indexes.value_index import (
        Purging,
        ValueIndex,
        h_index,
        l_index,
        t_index,
    )
else:
    _MODULES = {
        "basic_windows": "CountBased TimeBased WindowError",
        "indexed_window": "IndexedWindow UnanswerableError UnsuitableIndexError",
        "set_queries": "distinct_count histogram intersection median quantile"
        " range_histogram range_intersection",
        "ring_window": "RingWindow look_up sorted_positions sorted_rows",
        "forward_rings": "AuxRing PlainRing",
        "backward_rings": "BackwardRing DirtyBitRing",
        "step_counts": "Steps",
        "basic_storage": "GroupStorage ListStorage Storage aggr_storage hash_storage",
        "group_index": "BoundsError GroupIndex Groups",
        "value_index": "Purging ValueIndex h_index l_index t_index",
    }
    __getattr__ = lazy_exports(
        __name__,
        {
            name: f"windrow.papers.window_indexes.{module}"
            for module, names in _MODULES.items()
            for name in names.split()
        },
    )

__all__ = [
    "AuxRing",
    "BackwardRing",
    "BoundsError",
    "CountBased",
    "DirtyBitRing",
    "GroupIndex",
    "GroupStorage",
    "Groups",
    "IndexedWindow",
    "ListStorage",
    "PlainRing",
    "Purging",
    "RingWindow",
    "Steps",
    "Storage",
    "TimeBased",
    "UnanswerableError",
    "UnsuitableIndexError",
    "ValueIndex",
    "WindowError",
    "aggr_storage",
    "distinct_count",
    "h_index",
    "hash_storage",
    "histogram",
    "intersection",
    "l_index",
    "look_up",
    "median",
    "quantile",
    "range_histogram",
    "range_intersection",
    "sorted_positions",
    "sorted_rows",
    "t_index",
]
