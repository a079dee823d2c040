"""Rings linked from old to new of which both ends are known: a queue per value.

Where only the oldest tuple of a value is ever wanted (the one that a negative tuple withdraws, or
that a new one pushes out of the last n), a ring's start and end pointers (Golab et al. 2004, 5.1)
are enough to put a tuple behind the newest and to take the oldest out in O(1), without a walk.

A queue is empty while its oldest position lies before ``base``; so are queues that were forgotten
from the start, at no cost.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from windrow.columns.growable import Growable, fresh, grow
from windrow.columns.kernels import grid_out, inline, int64, ints, ints_out, kernel, void

Int64s = npt.NDArray[np.int64]


@inline
def put_behind(p, code, base, oldest, newest, column, tuples):  # type: ignore[no-untyped-def]
    """Put the position ``p`` at the end of the queue of its code."""
    if oldest[code] < base:
        oldest[code] = p
    else:
        tuples[newest[code] - base, column] = p
    newest[code] = p
    tuples[p - base, column] = -1


@inline
def take_oldest(code, base, oldest, column, tuples):  # type: ignore[no-untyped-def]
    """Take the oldest position, which there must be, out of the queue of a code."""
    p = oldest[code]
    oldest[code] = tuples[p - base, column]
    return p


@kernel(void, ints, ints, int64, ints_out, ints_out, int64, grid_out)
def _enqueue(codes, at, base, oldest, newest, column, tuples):  # type: ignore[no-untyped-def]
    for i in range(len(codes)):
        put_behind(at[i], codes[i], base, oldest, newest, column, tuples)


class Queues:
    """The ends of the queues, by code; the links are a column of the owner's tuples."""

    def __init__(self) -> None:
        self.oldest, self.newest = fresh(-1), fresh(-1)

    def reserve(self, codes: int) -> None:
        """Make room for so many codes."""
        self.oldest, self.newest = grow(self.oldest, codes, -1), grow(self.newest, codes, -1)

    def enqueue(self, codes: Int64s, positions: Int64s, tuples: Growable, column: int) -> None:
        """Put tuples behind the newest of their codes, in order."""
        _enqueue(codes, positions, tuples.base, self.oldest, self.newest, column, tuples.view)
