"""GROUP: a basic window as a count per range of values (Golab et al. 2004, 2.2)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from windrow.papers.window_indexes.step_counts import Steps
from windrow.papers.window_indexes.storage.basic_contents import BasicContents
from windrow.papers.window_indexes.values.group_index import Groups
from windrow.windows.index_nodes import EACH_ONCE

Int64s = npt.NDArray[np.int64]


class GroupStorage:
    """A full one has a count for every group, so its pointers are all groups.

    Cost: O(g) per tuple; space: g counts.

    >>> import numpy as np
    >>> from windrow.windows import CountBased, GroupIndex, GroupStorage
    >>> from windrow.windows import Groups, IndexedWindow, range_histogram
    >>> ports = Groups(np.array([1024, 49152]))
    >>> window = IndexedWindow(CountBased(2, 3), GroupStorage(ports), GroupIndex(ports))
    >>> window.append(np.array([80, 443, 50000, 22, 8080, 80]))
    2
    >>> range_histogram(window)
    [(None, 1024, 4), (1024, 49152, 1), (49152, None, 1)]
    """

    name = "GROUP"
    indexed_by = frozenset({"G-INDEX"})

    def __init__(self, groups: Groups) -> None:
        self.groups = groups
        self._counts = np.zeros(len(groups), np.int64)

    def insert(self, values: Int64s, steps: Steps) -> Int64s:
        groups, taken = self.groups.of(values)
        steps.store += taken
        self._counts += np.bincount(groups, minlength=len(self.groups))
        return EACH_ONCE

    def point(self, pointers: Int64s) -> None:
        """Groups are numbered alike everywhere, so no pointer is needed."""

    def close(self) -> BasicContents:
        contents = BasicContents(np.arange(len(self.groups)), self._counts)
        self._counts = np.zeros(len(self.groups), np.int64)
        return contents
