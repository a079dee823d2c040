"""What every index of intervals can do, and what it remembers of each interval.

An interval is half-open over the integers, ``[lo, hi)``. The two ends of int64 stand for no bound:
``lo = MIN`` is "from ever", ``hi = MAX`` is "for ever" and contains MAX itself. An interval with
``lo >= hi`` is empty; it is counted and matches nothing.

Ids are *dense*: they index arrays, so memory goes with the greatest id and not with how many are
in use. An id that was removed may be inserted again, with other bounds.

A batch of points goes through an index like this: the index *collects* the ids that the points stab
one after the other in a buffer, and writes where those of each point end; then they become pairs.
Lists are copied eight ids at a time, also where fewer are left: the next list overwrites what was
too much, and a branch that depends on the length of a short list would be mispredicted half the
time. Indexes are unsigned, which spares the test for Python's negative ones. Buffers and results
come from Arrow's memory pool, which keeps pages from one batch to the next. Visiting the points in
the order of the index was tried: it halves the time to collect and takes longer to undo.

Cost of a batch: O(points + pairs); 4 bytes of buffer for each point and 4 to 8 for each pair.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.columns.arrays import Bools, Int64s
from windrow.columns.kernels import inline, ints_out, kernel, likely_room, void
from windrow.core.errors import WindrowError
from windrow.core.thresholds import Threshold
from windrow.subscriptions.indexes.idlists import Int32s, ints32

MIN, MAX = -(2**63), 2**63 - 1
MOST_IDS = 2**31 - 1
"""Ids are held in 32 bits."""
U = np.uint64
WIDTH = 8
SLACK = 512
"""Cells that a buffer must have left for a point: eight for each of its lists that is short."""
MOST_PAIRS = Threshold(2**31 - 2 * SLACK, least=4 * SLACK)
Collect = Callable[[Int64s, Int32s, Int32s, int, int], tuple[int, int]]
"""(points, buffer, ends, done, end) -> (done, end): the ids of the points from ``done`` on are
appended to what the buffer has up to ``end``; stops where it is full."""


class IntervalIndex(Protocol):
    """Half-open integer intervals with dense ids, stabbed by integer points."""

    def insert(self, ids: Int64s, lo: Int64s, hi: Int64s) -> None:
        """Add intervals under ids that are not in use."""

    def remove(self, ids: Int64s) -> None:
        """Forget these intervals; all of them must be in the index."""

    def search(self, points: Int64s) -> tuple[Int64s, Int64s]:
        """Pairs (index into points, id), each once, in order of the former."""

    def __len__(self) -> int: ...

    @property
    def nbytes(self) -> int:
        """Bytes held, including what is remembered to remove an interval by its id alone."""


class IdsError(WindrowError):
    """An id is in use when it should be new, or unknown when it should be in use."""


def contiguous(values: Int64s) -> Int64s:
    """As kernels take them; not copied if they are so already."""
    return np.ascontiguousarray(values, np.int64)


class IntervalEnds:
    """The intervals themselves, by id."""

    def __init__(self) -> None:
        self.lo: Int64s = np.zeros(0, np.int64)
        self.hi: Int64s = np.zeros(0, np.int64)
        self.live: Bools = np.zeros(0, np.bool_)
        self.count = 0

    @property
    def nbytes(self) -> int:
        return self.lo.nbytes + self.hi.nbytes + self.live.nbytes

    @property
    def ids(self) -> Int64s:
        """Of all intervals, in order."""
        return np.flatnonzero(self.live)

    def add(self, ids: Int64s, lo: Int64s, hi: Int64s) -> None:
        if not len(ids) == len(lo) == len(hi):
            raise IdsError(
                where="insert",
                expected="as many ids as lower and upper ends",
                found=f"{len(ids)}, {len(lo)} and {len(hi)}",
            )
        if len(ids) == 0:
            return
        if ids.min() < 0 or ids.max() >= MOST_IDS:
            raise IdsError(
                where="insert",
                expected=f"ids from 0 to {MOST_IDS - 1}",
                found=f"ids from {ids.min()} to {ids.max()}",
                remedy="number the intervals from 0 and use the numbers of removed ones again",
            )
        self._reserve(int(ids.max()) + 1)
        if self.live[ids].any() or self._has_repeats(ids):
            raise IdsError(
                where="insert",
                expected="new ids",
                found="one that is in use or given twice",
                remedy="remove it first, or give another",
            )
        self.live[ids] = True
        self.lo[ids], self.hi[ids] = lo, hi
        self.count += len(ids)

    def drop(self, ids: Int64s) -> tuple[Int64s, Int64s]:
        """Forget intervals; the ends that they had."""
        known = bool(((ids >= 0) & (ids < len(self.live))).all()) and bool(self.live[ids].all())
        lo, hi = (self.lo[ids], self.hi[ids]) if known else (ids, ids)
        if not known or self._has_repeats(ids, lo):
            raise IdsError(
                where="remove",
                expected="ids of intervals in the index, each once",
                found="one that is not there or is given twice",
                remedy="remove what was inserted, once",
            )
        self.live[ids] = False
        self.count -= len(ids)
        return lo, hi

    def _has_repeats(self, ids: Int64s, put_back: Int64s | int = 0) -> bool:
        """Whether an id is given twice: then only one of its places can be written at it."""
        if len(ids) < 2:
            return False
        places = np.arange(len(ids))
        self.lo[ids] = places
        repeated = not np.array_equal(self.lo[ids], places)
        self.lo[ids] = put_back
        return repeated

    def _reserve(self, size: int) -> None:
        if size <= len(self.live):
            return
        size = max(size, len(self.live) + len(self.live) // 2)
        for name in ("lo", "hi", "live"):
            old = getattr(self, name)
            grown = np.zeros(size, old.dtype)
            grown[: len(old)] = old
            setattr(self, name, grown)


ZERO, ONE, TWO, THREE, FOUR, FIVE, SIX, SEVEN, WIDE = (U(n) for n in range(9))


def empty(size: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """An array in Arrow's memory pool, not filled."""
    if size == 0:
        return np.empty(0, dtype)
    return np.frombuffer(pa.allocate_buffer(size * np.dtype(dtype).itemsize), dtype)


def pairs(points: Int64s, collect: Collect) -> tuple[Int64s, Int64s]:
    """All pairs (row, id) of a batch of points."""
    count = len(points)
    ends = empty(count, np.int32)
    buffer = empty(likely_room(16 * count + SLACK) + SLACK, np.int32)
    done, end = collect(points, buffer, ends, 0, 0)
    while done < count:
        size = int(len(buffer) * max(2.0, 1.1 * count / (done + 1)))
        if size > MOST_PAIRS.value and count > 1:
            return _collect_halves(points, collect)
        grown = empty(size, np.int32)
        grown[:end] = buffer[:end]
        buffer = grown
        done, end = collect(points, buffer, ends, done, end)
    of, ids = empty(end + WIDTH, np.int64), empty(end, np.int64)
    _repeat(ends, of)
    np.copyto(ids, buffer[:end])
    return of[:end], ids


def _collect_halves(points: Int64s, collect: Collect) -> tuple[Int64s, Int64s]:
    middle = len(points) // 2
    (of, ids), (of2, ids2) = (pairs(half, collect) for half in (points[:middle], points[middle:]))
    return np.concatenate([of, of2 + middle]), np.concatenate([ids, ids2])


@kernel(void, ints32, ints_out)
def _repeat(ends: Any, of: Any) -> None:
    """Each row as often as it has ids."""
    at = ZERO
    for row in range(len(ends)):
        end: Any = U(ends[row])
        while at < end:
            for j in range(8):
                of[at + U(j)] = row
            at += WIDE
        at = end


@inline
def copy_eight(source: Any, start: Any, target: Any, at: Any) -> None:
    # All loads before the stores: only so can the compiler make one of each.
    a, b, c, d = source[start], source[start + ONE], source[start + TWO], source[start + THREE]
    e, f = source[start + FOUR], source[start + FIVE]
    g, h = source[start + SIX], source[start + SEVEN]
    target[at], target[at + ONE], target[at + TWO], target[at + THREE] = a, b, c, d
    target[at + FOUR], target[at + FIVE], target[at + SIX], target[at + SEVEN] = e, f, g, h


@inline
def append_rest(pool: Any, start: Any, length: Any, buffer: Any, end: Any) -> None:
    """Copy what a list has after its first eight ids, to where ``end`` is the place of those."""
    done = WIDE
    while done < length:
        copy_eight(pool, start + done, buffer, end + done)
        done += WIDE
