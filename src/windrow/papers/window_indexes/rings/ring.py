"""What the ring indexes have in common (Golab et al. 2004, 5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from windrow.papers.window_indexes.step_counts import Steps
from windrow.papers.window_indexes.values.group_index import GroupIndex
from windrow.papers.window_indexes.values.value_index import ValueIndex

Int64s = npt.NDArray[np.int64]
ABREAST = 8
"""Rings that a walk follows at the same time: a step along one waits for memory, the others not."""


@dataclass(frozen=True)
class PositionRange:
    """The positions of a basic window's tuples: from ``start`` up to ``stop``."""

    start: int
    stop: int


class Ring(Protocol):
    """All tuples with the same value (or the same group) form a ring that begins in the index.

    A tuple is linked when it comes, but *end-of-ring pointers* bound what a query may see to the
    basic windows that are full. A pointer from a ring back to node n is the number ``~n``.
    """

    name: str
    index: ValueIndex | GroupIndex

    def insert(self, values: Int64s, first: int, steps: Steps) -> None:
        """Link the tuples at the positions from ``first`` on."""
        ...

    def attach(self, steps: Steps) -> None:
        """Let queries see what has been linked."""
        ...

    def expire(self, oldest: PositionRange, steps: Steps) -> None:
        """Forget the oldest basic window, after the newest was attached."""
        ...

    def forget(self, nodes: Int64s) -> None:
        """Nodes were purged; their numbers may come again for other values."""
        ...

    def tuples(self, nodes: Int64s) -> Int64s:
        """The positions of the tuples of these nodes, node after node, oldest first."""
        ...
