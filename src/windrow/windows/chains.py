"""Rings as arrays: tuples of one value, linked from new to old (chains) or old to new (queues).

Tuples are numbered by arrival and live in the positions from ``base`` on. Links are a column of an
array that the owner has anyway, so that a walk that looks at a tuple finds its link in the same
cache line.

A chain has per value the newest tuple, per tuple the next older one. Its tail may lead to a
position before ``base``: such a tuple has expired, and a walk finds that out by comparing the
position with ``base``. That comparison is the dirty bit of Golab et al. 2004, 5.4: expiry touches
no ring, and no expired tuple has to be kept. It costs O(1) to link a tuple, the length of its ring
to walk it, and nothing to expire.

Chains may also be those of a hash table with a chosen number of *buckets* (Golab 2006, 5.4): then
a value's chain is that of its bucket, whoever walks it compares values, and one bucket is a list.

A queue serves where only the oldest tuple of a value is ever wanted: the one that a negative tuple
withdraws, or that a new one pushes out of the last n. The start and end pointers of a ring (Golab
et al. 2004, 5.1) are enough to put a tuple behind the newest and to take the oldest out in O(1),
without a walk. A queue is empty while its oldest position lies before ``base``; so are queues that
were forgotten from the start, at no cost.
"""

from __future__ import annotations

import numpy as np

from windrow.columns.arrays import Int64s
from windrow.columns.growable import Growable, fresh, grow
from windrow.columns.kernels import (
    grid,
    grid_out,
    inline,
    int64,
    ints,
    ints_out,
    kernel,
    likely_room,
    void,
)


@inline
def older(p, base, column, tuples):  # type: ignore[no-untyped-def]
    """The next older tuple of the ring of ``p``; it is in the window if it is not before ``base``.

    For kernels that look at tuples as they walk: ``while p >= base: ...; p = older(...)``.
    """
    return tuples[p - base, column]


@inline
def chain_of(code, buckets):  # type: ignore[no-untyped-def]
    """The chain that has the tuples of a code: one of ``buckets``, or its own if that is 0."""
    return code % buckets if buckets else code


@kernel(void, ints, ints, int64, ints_out, int64, int64, grid_out)
def link(codes, at, base, heads, buckets, column, tuples):  # type: ignore[no-untyped-def]
    """Put the positions ``at`` at the heads of their rings; ``codes`` are those of all tuples."""
    for i in range(len(at)):
        chain = chain_of(codes[at[i] - base], buckets)
        tuples[at[i] - base, column] = heads[chain]
        heads[chain] = at[i]


@kernel(int64, ints, ints, int64, int64, grid, ints_out)
def _walk(values, heads, base, column, tuples, out):  # type: ignore[no-untyped-def]
    """The positions in the rings of ``values``, newest first; how many, even beyond the room."""
    count = 0
    for i in range(len(values)):
        p = heads[values[i]]
        while p >= base:
            if count < len(out):
                out[count] = p
            count += 1
            p = older(p, base, column, tuples)
    return count


def walk(values: Int64s, heads: Int64s, base: int, column: int, tuples: Int64s) -> Int64s:
    """The positions in the rings of ``values``, one ring after the other, newest first."""
    room = likely_room(256 + 4 * len(values))
    while True:
        out = np.empty(room, np.int64)
        count = _walk(values, heads, base, column, tuples, out)
        if count <= room:
            return out[:count]
        room = count


class Chains:
    """The rings over an owner's tuples: a code per tuple, a head per code or per bucket.

    The owner has the tuples (``Growable`` with a column for the links) and says when they move.
    """

    def __init__(self, buckets: int = 0) -> None:
        self.codes, self.buckets = Growable(np.int64), buckets
        self.heads = self._no_heads()

    def _no_heads(self) -> Int64s:
        return np.full(self.buckets, -1, np.int64) if self.buckets else fresh(-1)

    def reserve(self, codes: int) -> None:
        """Make room for so many codes; buckets are as many as they are."""
        if not self.buckets:
            self.heads = grow(self.heads, codes, -1)

    def link(self, positions: Int64s, tuples: Growable, column: int) -> None:
        """Put tuples, whose codes are known and reserved, at the heads of their rings."""
        if len(positions):
            link(
                self.codes.view, positions, tuples.base, self.heads, self.buckets, column,
                tuples.view,
            )  # fmt: skip

    def walk(self, values: Int64s, tuples: Growable, column: int) -> Int64s:
        """The positions of all tuples with these codes, which have chains of their own."""
        return walk(values, self.heads, tuples.base, column, tuples.view)

    def unlink(self, base: int, codes: Int64s) -> None:
        """Forget all links; the tuples from ``base`` on have these codes, which are known."""
        self.codes.clear(base)
        self.codes.append(codes)
        self.heads[:] = -1

    def restart(self, base: int, codes: Int64s) -> None:
        """As ``unlink``, under another coding."""
        self.heads = self._no_heads()
        self.unlink(base, codes)


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
