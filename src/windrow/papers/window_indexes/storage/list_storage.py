"""LIST: a basic window as its tuples, in the order in which they came (Golab et al. 2004, 2.2)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from windrow.papers.window_indexes.step_counts import Steps
from windrow.papers.window_indexes.storage.basic_contents import BasicContents
from windrow.windows.index_nodes import EACH_ONCE

Int64s = npt.NDArray[np.int64]


class ListStorage:
    """Cost: O(1) per tuple; space: a pointer per tuple.

    >>> import numpy as np
    >>> from windrow.windows import CountBased, IndexedWindow, ListStorage, h_index
    >>> window = IndexedWindow(CountBased(2, 3), ListStorage(), h_index())
    >>> window.storage.name
    'LIST'
    """

    name = "LIST"
    indexed_by = frozenset({"L-INDEX", "T-INDEX", "H-INDEX", "G-INDEX"})

    def __init__(self) -> None:
        self._parts: list[Int64s] = []

    def insert(self, values: Int64s, steps: Steps) -> Int64s:
        steps.store += len(values)
        return values

    def point(self, pointers: Int64s) -> None:
        self._parts.append(pointers)

    def close(self) -> BasicContents:
        parts, self._parts = self._parts, []
        if len(parts) == 1:
            return BasicContents(parts[0], EACH_ONCE)
        return BasicContents(np.concatenate([EACH_ONCE, *parts]), EACH_ONCE)
