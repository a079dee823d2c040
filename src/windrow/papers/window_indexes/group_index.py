"""G-INDEX: counts per range of values instead of per value (Golab et al. 2004, 4.3).

Group i holds the values from ``bounds[i - 1]`` up to, but not including, ``bounds[i]``; the first
and the last are unbounded below and above. Answers are ranges, so exact only up to a range.

Over LIST it works like any other index, groups taking the place of nodes. Over GROUP it does
without pointers: when a basic window is full, its counts minus those of the oldest one are a
sorted *delta file*, which is merged into the index in one pass.

Cost: O(g) per tuple to find its group, as the paper has it (g is small); O(g) per basic window.
"""

from __future__ import annotations

import numpy as np

from windrow.columns.arrays import Int64s
from windrow.columns.kernels import int64, ints, ints_out, kernel
from windrow.core.errors import WindrowError
from windrow.papers.window_indexes.step_counts import Steps
from windrow.windows.index_nodes import EACH_ONCE

NONE = np.empty(0, np.int64)


class BoundsError(WindrowError):
    """The bounds of groups do not increase.

    >>> import numpy as np
    >>> from windrow.windows import BoundsError, Groups
    >>> try:
    ...     Groups(np.array([5, 5]))
    ... except BoundsError as error:
    ...     print(error.expected)
    bounds that increase
    """


@kernel(int64, ints, ints, ints_out)
def _group_of(values, bounds, out):  # type: ignore[no-untyped-def]
    steps = 0
    for i in range(len(values)):
        g = 0
        while g < len(bounds) and bounds[g] <= values[i]:
            g += 1
        steps += g + 1
        out[i] = g
    return steps


class Groups:
    """How values are divided into ranges, for the G-INDEX and for GROUP basic windows.

    >>> import numpy as np
    >>> from windrow.windows import Groups
    >>> ports = Groups(np.array([1024, 49152]))
    >>> len(ports), ports.label(1)
    (3, (1024, 49152))
    """

    def __init__(self, bounds: Int64s) -> None:
        if len(bounds) > 1 and not bool((np.diff(bounds) > 0).all()):
            raise BoundsError(
                where="Groups", expected="bounds that increase", found=str(bounds.tolist()[:10]),
                remedy="sort them and leave out repetitions",
            )  # fmt: skip
        self.bounds = np.ascontiguousarray(bounds, np.int64)

    @classmethod
    def even(cls, low: int, high: int, groups: int) -> Groups:
        """``groups`` ranges of equal length for values from ``low`` up to ``high``."""
        return cls(np.unique(low + np.arange(1, groups) * (high - low) // groups))

    def __len__(self) -> int:
        return len(self.bounds) + 1

    def of(self, values: Int64s) -> tuple[Int64s, int]:
        """The group of each value, and the bounds looked at."""
        out = np.empty(len(values), np.int64)
        return out, _group_of(values, self.bounds, out)

    def label(self, group: int) -> tuple[int | None, int | None]:
        """The first value of a group and the first after it; None where there is no bound."""
        low = int(self.bounds[group - 1]) if group else None
        return low, int(self.bounds[group]) if group < len(self.bounds) else None


class GroupIndex:
    """A count per group of values, for each window that shares it.

    >>> import numpy as np
    >>> from windrow.windows import GroupIndex, Groups
    >>> GroupIndex(Groups.even(0, 100, groups=10)).name
    'G-INDEX'
    """

    name = "G-INDEX"

    def __init__(self, groups: Groups, windows: int = 1) -> None:
        self.groups, self.windows = groups, windows
        self._counts = np.zeros((len(groups), windows), np.int64)

    def __len__(self) -> int:
        return len(self.groups)

    @property
    def node_limit(self) -> int:
        """Group numbers are below it."""
        return len(self.groups)

    def like(self) -> GroupIndex:
        """An empty one over the same groups, for one window."""
        return GroupIndex(self.groups)

    def clear(self) -> None:
        self._counts[:] = 0

    def find(self, values: Int64s) -> Int64s:
        """The group of each value."""
        return self.groups.of(values)[0]

    def locate(self, values: Int64s, steps: Steps) -> Int64s:
        """The group of each value of a basic window that is filling."""
        groups, taken = self.groups.of(values)
        steps.locate += taken
        return groups

    def attach(
        self, nodes: Int64s, steps: Steps, how_many: Int64s = EACH_ONCE, window: int = 0
    ) -> None:
        self._counts[:, window] += self._sum(nodes, how_many)
        steps.attach += len(nodes)

    def expire(
        self, nodes: Int64s, steps: Steps, how_many: Int64s = EACH_ONCE, window: int = 0
    ) -> None:
        self._counts[:, window] -= self._sum(nodes, how_many)
        steps.expire += len(nodes)

    def merge(self, delta: Int64s, steps: Steps, window: int = 0) -> None:
        """Apply a delta file: the change of every group, in order."""
        self._counts[:, window] += delta
        steps.attach += len(delta)

    def purge(self, steps: Steps) -> Int64s:
        """Nothing: there are as many groups as there were."""
        return NONE

    def counts(self, nodes: Int64s, window: int = 0) -> Int64s:
        found: Int64s = self._counts[nodes, window]
        return found

    def by_value(self) -> Int64s:
        return np.arange(len(self))

    def _sum(self, nodes: Int64s, how_many: Int64s) -> Int64s:
        if not len(how_many):
            return np.bincount(nodes, minlength=len(self))
        change = np.zeros(len(self), np.int64)
        np.add.at(change, nodes, how_many)
        return change
