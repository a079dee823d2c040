"""Median and other quantiles of a window, and how many distinct values it holds.

They become incremental once there is a histogram (Golab et al. 2004, 3.2): a ranked T-INDEX
finds a quantile in O(log D), any other index in one pass over its nodes, O(D).

A quantile is interpolated between neighbours, as SQL's PERCENTILE_CONT is.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from windrow.core.errors import WindrowError
from windrow.papers.window_indexes.indexed_window import IndexedWindow
from windrow.papers.window_indexes.queries.histogram import histogram
from windrow.papers.window_indexes.values.balanced_tree import BalancedTree
from windrow.papers.window_indexes.values.value_index import ValueIndex

Int64s = npt.NDArray[np.int64]


def quantile(window: IndexedWindow, fraction: float) -> float | None:
    """The value below which this fraction of the window lies; None if it is empty.

    >>> import numpy as np
    >>> from windrow.windows import CountBased, IndexedWindow, ListStorage, quantile, t_index
    >>> window = IndexedWindow(CountBased(1, 5), ListStorage(), t_index(ranked=True))
    >>> window.append(np.array([10, 20, 30, 40, 50]))
    1
    >>> quantile(window, 0.75)
    40.0
    """
    if not 0 <= fraction <= 1:
        raise WindrowError(
            where="quantile", expected="a fraction from 0 to 1", found=str(fraction),
            remedy="one half gives the median",
        )  # fmt: skip
    tree = _nth_values(window)
    if tree is None:
        values, counts = histogram(window)
        upto = np.cumsum(counts)
        size = int(upto[-1]) if len(upto) else 0
    else:
        size = tree.weight()
    if not size:
        return None
    place = fraction * (size - 1)
    low = math.floor(place)
    ranks = np.array([low, min(low + 1, size - 1)])
    if tree is None:
        found = values[np.searchsorted(upto, ranks, side="right")]
    else:
        found = tree.nodes.values(tree.nth(ranks))
    a, b = float(found[0]), float(found[1])
    return a + (b - a) * (place - low)


def median(window: IndexedWindow) -> float | None:
    """The quantile of one half.

    >>> import numpy as np
    >>> from windrow.windows import CountBased, IndexedWindow, ListStorage, median, t_index
    >>> window = IndexedWindow(CountBased(1, 4), ListStorage(), t_index(ranked=True))
    >>> window.append(np.array([10, 20, 30, 90]))
    1
    >>> median(window)
    25.0
    """
    return quantile(window, 0.5)


def distinct_count(window: IndexedWindow) -> int:
    """How many different values the window holds: the nodes with a count, O(D).

    >>> import numpy as np
    >>> from windrow.windows import CountBased, IndexedWindow, ListStorage, distinct_count, h_index
    >>> window = IndexedWindow(CountBased(1, 4), ListStorage(), h_index())
    >>> window.append(np.array([10, 20, 10, 10]))
    1
    >>> distinct_count(window)
    2
    """
    index = window.index
    if isinstance(index, ValueIndex):
        return int((index.directory.nodes.counts[: index.node_limit, window.number] > 0).sum())
    return len(histogram(window)[0])


def _nth_values(window: IndexedWindow) -> BalancedTree | None:
    index = window.index
    directory = index.directory if isinstance(index, ValueIndex) else None
    return directory if isinstance(directory, BalancedTree) and directory.ranked else None
