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

Cost: k + 1 lists for a point. Bytes: 4r + 4r/L + 8r/L + 4 n mu, with mu of Theorem 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from windrow.columns.arrays import Int64s
from windrow.subscriptions.indexes import containment_tree
from windrow.subscriptions.indexes.constructs import ConstructIndex
from windrow.subscriptions.indexes.idlists import Int32s
from windrow.subscriptions.indexes.point_batches import Collect
from windrow.subscriptions.indexes.segments import SegmentLists


@dataclass(frozen=True)
class ContainmentLayout:
    """Segments of ``2**k`` cells, and an upper tree whose ``2**tall`` leaves they are."""

    k: int
    segments: int

    @classmethod
    def over(cls, cells: int, length: int) -> ContainmentLayout:
        """For so many cells and a maximal length, which is a power of two."""
        k = (length - 1).bit_length()
        return cls(k, -(-cells // (1 << k)))

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

    @property
    def header_bytes(self) -> int:
        return 2 * self.upper + 4 * self.segments + (8 << self.tall)

    def sizes(self, lo: Int64s, hi: Int64s) -> Int64s:
        found = np.empty(len(lo), np.int64)
        containment_tree.sizes(lo, hi, self.k, self.tall, found)
        return found

    def pieces(self, lo: Int64s, hi: Int64s, offsets: Int64s) -> Int32s:
        lists = np.empty(offsets[-1], np.int32)
        containment_tree.pieces(lo, hi, self.k, self.tall, self.upper, offsets, lists)
        return lists

    def storage(self) -> SegmentLists:
        return SegmentLists(self.k, self.segments, 1 << self.tall)

    def walk_arguments(self, lists: SegmentLists) -> tuple[Any, ...]:
        """What a walk over the lists of a cell is given first."""
        tops = lists.upper
        shifts = self._used_levels(tops.headers[:, 1])
        arrays = (lists.ends, lists.starts, lists.pool, tops.headers, tops.pool)
        return (*arrays, self.k, self.tall, shifts)

    def collector(self, lists: SegmentLists, low: int) -> Collect:
        return partial(containment_tree.collect, *self.walk_arguments(lists), low)

    def _used_levels(self, lengths: Int32s) -> Int64s:
        """How far to shift the leaf of a segment for each level of the upper tree with any id."""
        levels = np.arange(self.tall, 0, -1)
        if not lengths.any():
            return levels[:0]
        used = np.add.reduceat(lengths, 1 << (self.tall - levels)) > 0
        return levels[used]


class ContainmentEncoded(ConstructIndex):
    """CEI. ``length`` is a power of two."""

    layout: ContainmentLayout

    def _layout(self, cells: int, length: int) -> ContainmentLayout:
        return ContainmentLayout.over(cells, length)


def cei(low: int, high: int, length: int | None = None) -> ContainmentEncoded:
    """An empty index over the expected range ``[low, high)``."""
    return ContainmentEncoded(low, high, length)
