"""What the structures that lead from a value to its node have in common."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from windrow.windows.index_nodes import Nodes

Int64s = npt.NDArray[np.int64]


class NodeDirectory(Protocol):
    """Values to nodes: ``SortedLists`` or ``Tree``."""

    nodes: Nodes

    def like(self) -> NodeDirectory:
        """An empty one of the same kind, for one window."""
        ...

    def locate(self, values: Int64s) -> tuple[Int64s, int]:
        """The node of each value, made where it is missing, and the steps that it took."""
        ...

    def find(self, values: Int64s) -> Int64s:
        """The node of each value, -1 where there is none."""
        ...

    def by_value(self) -> Int64s:
        """All nodes by value."""
        ...

    def unlink(self, nodes: Int64s) -> None:
        """Take nodes out; their numbers will be given to others."""
        ...

    def clear(self) -> None:
        """Forget every node."""
        ...
