"""Containment-encoded intervals (Wu, Chen, Yu 2004, 3): the index to use.

The range is cut into segments of ``L = 2^k`` cells, and each segment into halves, quarters and so
on down to single cells: a perfect binary tree, whose node ``l`` has the children ``2l`` and
``2l + 1``. The list of node ``l`` of segment ``i`` is number ``l + 2iL``. The k + 1 constructs that
cover a cell are its leaf and what shifting the leaf's number to the right gives.

An interval is cut into the whole segments in it and two remnants. A remnant is walked from both
ends at once towards the root; the minimal decomposition is unique (Lemma 2), so this gives the
pieces of BestPartition, in fewer steps.

Beyond the paper, the segments are themselves the leaves of one more tree. Only intervals of more
than ``LONG`` whole segments use it, unbounded ones above all, so that they cost 2 log(r/L) ids and
not r/L; a point looks only at those of its levels where there is anything.

Cost: k + 1 lists for a point. Bytes: 8 (2r + 2r/L) + 4 n mu, with mu of Theorem 2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from windrow.columns.arrays import Int64s
from windrow.subscriptions.indexes import containment_tree
from windrow.subscriptions.indexes.batches import Collect
from windrow.subscriptions.indexes.constructs import ConstructIndex
from windrow.subscriptions.indexes.idlists import IdLists, Int32s

SAMPLE = 4096
LONGEST = 2**14


@dataclass(frozen=True)
class ContainmentLayout:
    """Segments of ``2**k`` cells, and an upper tree whose ``2**tall`` leaves they are."""

    k: int
    segments: int

    @property
    def tall(self) -> int:
        return (self.segments - 1).bit_length()

    @property
    def upper(self) -> int:
        """The number of the upper tree's list 0, which like all lists 0 is not used."""
        return self.segments << (self.k + 1)

    @property
    def lists(self) -> int:
        return self.upper + (1 << self.tall)

    def sizes(self, lo: Int64s, hi: Int64s) -> Int64s:
        """How many pieces each interval has."""
        found = np.empty(len(lo), np.int64)
        containment_tree.sizes(lo, hi, self.k, self.tall, found)
        return found

    def pieces(self, lo: Int64s, hi: Int64s) -> tuple[Int64s, Int32s]:
        offsets = np.zeros(len(lo) + 1, np.int64)
        np.cumsum(self.sizes(lo, hi), out=offsets[1:])
        lists = np.empty(offsets[-1], np.int32)
        containment_tree.pieces(lo, hi, self.k, self.tall, self.upper, offsets, lists)
        return offsets, lists

    def collector(self, lists: IdLists) -> Collect:
        level = np.arange(1, self.tall + 1)
        upper = lists.headers[self.upper :, 1]
        used = np.add.reduceat(upper, 1 << (self.tall - level)[::-1])[::-1] if self.tall else level
        shifts = level[used > 0]

        def collect(
            points: Int32s, rows: Int32s, buffer: Int32s, spans: Int64s, done: int, end: int
        ) -> tuple[int, int]:
            found: tuple[int, int] = containment_tree.collect(
                lists.headers, lists.pool, self.k, self.tall, self.upper, shifts,
                points, rows, buffer, spans, done, end,
            )  # fmt: skip
            return found

        return collect


class ContainmentEncoded(ConstructIndex):
    """CEI. ``length`` is a power of two."""

    layout: ContainmentLayout

    def _layout(self, cells: int, length: int) -> ContainmentLayout:
        k = (length - 1).bit_length()
        return ContainmentLayout(k, -(-cells // (1 << k)))

    def _best_length(self, cells: int, lo: Int64s, hi: Int64s) -> int:
        """The least length whose bytes are within a tenth of the fewest."""
        lo, hi = lo[hi > lo], hi[hi > lo]
        step = max(len(lo) // SAMPLE, 1)
        lo, hi = lo[::step].copy(), hi[::step].copy()
        candidates = [1 << k for k in range(min(cells, LONGEST).bit_length())]
        layouts = [self._layout(cells, length) for length in candidates]
        costs = [8 * x.lists + 4 * step * int(x.sizes(lo, hi).sum()) for x in layouts]
        return next(n for n, c in zip(candidates, costs, strict=True) if c <= 1.1 * min(costs))


def cei(low: int, high: int, length: int | None = None) -> ContainmentEncoded:
    """An empty index over the expected range ``[low, high)``."""
    return ContainmentEncoded(low, high, length)
