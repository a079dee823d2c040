"""Where the tuples of a buffer went when it closed the gaps between them.

An owner that remembers positions asks here for the new ones. The old positions of the living are
listed, so nobody has to know from which base they were counted, before or after the move.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from windrow.columns.arrays import Int64s
from windrow.columns.growable import Growable


@dataclass(frozen=True)
class Move:
    """Tuple ``living[i]`` is at ``first + i`` now; all others are gone. ``living`` ascends."""

    living: Int64s
    first: int

    def follow(self, positions: Int64s) -> Int64s:
        """The new positions of tuples; -1 for those that are gone, and for -1.

        >>> Move(np.array([4, 7, 9]), 20).follow(np.array([7, 3, 9, 10, -1])).tolist()
        [21, -1, 22, -1, -1]
        """
        if not len(self.living):
            return np.full(len(positions), -1, np.int64)
        at = np.searchsorted(self.living, positions)
        at = np.minimum(at, len(self.living) - 1)
        return np.where(self.living[at] == positions, self.first + at, -1)

    def carry(self, values: Growable) -> None:
        """Let values by position, one for each tuple, go with their tuples."""
        kept = values.take(self.living)
        values.clear(self.first)
        values.append(kept)
