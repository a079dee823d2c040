"""GROUP: a basic window as a count per range of values (Golab et al. 2004, 2.2)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from windrow.windows.steps import Steps
from windrow.windows.storage.contents import Contents
from windrow.windows.values.groups import Groups
from windrow.windows.values.nodes import EACH_ONCE

Int64s = npt.NDArray[np.int64]


class Grouped:
    """See the module. A full one has a count for every group, so its pointers are all groups.

    Cost: O(g) per tuple; space: g counts.
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

    def close(self) -> Contents:
        contents = Contents(np.arange(len(self.groups)), self._counts)
        self._counts = np.zeros(len(self.groups), np.int64)
        return contents
