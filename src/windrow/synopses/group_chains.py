"""Cells by group: the sub-windows in which each group occurs, linked from new to old.

A synopsis keeps a value for each interval and group, but most groups occur in few sub-windows. So
what is kept is a *cell* for each closed sub-window and group that has tuples in it, in the order of
time, and each cell knows the one before it of its group. The value of a group over an interval in
which it does not occur is that of an older interval, or nothing.

A second link leads further back, over 1, 3, 7, ... cells, by the rule of skew-binary numbers
(Myers 1983, "An applicative random-access stack"): whoever looks for an instant goes there in
O(log n) steps, and the stretches that these links jump over are the intervals of growing length of
an interval synopsis (``windrow.synopses.grouped_synopses``).

Invariant: cells are by position, which never changes; those that are forgotten have positions
before ``base``, and a link to one of them leads nowhere. Cost: O(1) per cell, O(log n) per search.
"""

from __future__ import annotations

import numpy as np

from windrow.columns.arrays import Int64s
from windrow.columns.growable import Growable, fresh, grow
from windrow.columns.kernels import grid_out, helper, int64, ints, ints_out, kernel, void

BEFORE, JUMP, SPAN, INSTANT = 0, 1, 2, 3
"""Columns of a link: the cell before, a further one, how many cells that jumps, and its instant."""


@kernel(void, ints, ints, int64, int64, ints_out, grid_out)
def _link(codes, instants, first, base, newest, links):  # type: ignore[no-untyped-def]
    for i in range(len(codes)):
        c, at = codes[i], first + i - base
        before = newest[c] if newest[c] >= base else -1
        links[at, BEFORE], links[at, JUMP], links[at, SPAN] = before, before, 1
        links[at, INSTANT] = instants[i]
        if before >= 0:
            near = before - base
            far = links[near, JUMP]
            if far >= base and links[near, SPAN] == links[far - base, SPAN]:
                links[at, JUMP] = links[far - base, JUMP]
                links[at, SPAN] = 1 + 2 * links[near, SPAN]
        newest[c] = first + i


@helper
def first_after(start, instant, base, links):  # type: ignore[no-untyped-def]
    """The oldest cell from ``start`` back that is after the instant; -1 if ``start`` is not."""
    if start < base or links[start - base, INSTANT] <= instant:
        return -1
    at = start
    while True:
        far = links[at - base, JUMP]
        if far >= base and links[far - base, INSTANT] > instant:
            at = far
            continue
        before = links[at - base, BEFORE]
        if before < base or links[before - base, INSTANT] <= instant:
            return at
        at = before


@helper
def last_until(start, instant, base, links):  # type: ignore[no-untyped-def]
    """The newest cell from ``start`` back that is not after the instant; -1 if there is none."""
    after = first_after(start, instant, base, links)
    found = start if after < 0 else links[after - base, BEFORE]
    return found if found >= base else -1


class GroupChains:
    """The links of all cells; groups, or finer parts of them, are numbered by the owner.

    >>> import numpy as np
    >>> from windrow.synopses.group_chains import GroupChains
    >>> chains = GroupChains()
    >>> chains.extend(np.array([0, 1, 0]), np.array([10, 10, 20]))
    >>> chains.newest[:2].tolist(), len(chains)
    ([2, 1], 3)
    """

    def __init__(self, base: int = 0) -> None:
        self.links = Growable(np.int64, width=4)
        self.links.clear(base)
        self.newest = fresh(-1)

    def __len__(self) -> int:
        return len(self.links)

    def extend(self, codes: Int64s, instants: Int64s) -> None:
        """Append cells, in the order of time."""
        self.newest = grow(self.newest, int(codes.max(initial=-1)) + 1, -1)
        first = self.links.next
        self.links.extend(len(codes), 0)
        _link(codes, instants, first, self.links.base, self.newest, self.links.view)

    def grow(self, codes: int) -> None:
        """Make room for codes below this."""
        self.newest = grow(self.newest, codes, -1)

    def forget(self, position: int) -> None:
        """Forget the cells before this position."""
        self.links.drop_before(position)
