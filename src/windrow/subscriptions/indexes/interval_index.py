"""What every index of intervals can do, and what it remembers of each interval.

An interval is half-open over the integers, ``[lo, hi)``. The two ends of int64 stand for no bound:
``lo = MIN`` is "from ever", ``hi = MAX`` is "for ever" and contains MAX itself. An interval with
``lo >= hi`` is empty; it is counted and matches nothing.

Ids are *dense*: they index arrays, so memory goes with the greatest id and not with how many are
in use. An id that was removed may be inserted again, with other bounds.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from windrow.columns.arrays import Bools, Int64s
from windrow.core.errors import WindrowError

MIN, MAX = -(2**63), 2**63 - 1
MOST_IDS = 2**31 - 1
"""Ids are held in 32 bits."""


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
