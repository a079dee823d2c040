"""A monotone map from 64-bit keys to a bounded number of cells.

Keys that keep the order of a type are spread over all of int64: timestamps in microseconds,
doubles by the order of their bits. An index by cells needs few of them, and where the ends of its
intervals are. So the range of the ends is cut into at most 4,096 equal *buckets*, and each bucket
into a power of two of equal cells, about in proportion to the ends in it. That is close to
quantiles, and two additions and two shifts instead of a search. The keys below and above the range
are a cell each.

Where keys are few enough each is a cell of its own and the map loses nothing. Otherwise an
interval is exact except in the cells that its ends fall into.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from windrow.columns.arrays import Int64s
from windrow.columns.kernels import inline, int64, ints, ints_out, kernel, void
from windrow.core.thresholds import Threshold

BUCKETS = Threshold(4096, least=2)
MIN, MAX = -(2**63), 2**63 - 1
U = np.uint64


@dataclass(frozen=True)
class KeyGrid:
    """Buckets of ``2**bits`` keys from ``low`` on.

    Bucket b is the cells from ``base[b]`` up to ``base[b + 1]``, each of ``2**shift[b]`` keys.
    """

    low: int
    bits: int
    base: Int64s
    shift: Int64s

    @property
    def cells(self) -> int:
        return int(self.base[-1]) + 1

    @classmethod
    def over(cls, ends: Int64s, wanted: int) -> KeyGrid:
        """For intervals with these ends: about ``wanted`` cells, at most twice that and 8,192.

        One for each key if there are no more than eight times as many keys.
        """
        low, high = (int(ends.min()), int(ends.max())) if len(ends) else (0, 0)
        width = high - low + 1
        bits = max((width - 1).bit_length() - (BUCKETS.value - 1).bit_length(), 0)
        buckets = ((width - 1) >> bits) + 1
        if width <= 8 * wanted:
            fine = np.full(buckets, bits, np.int64)
        else:
            # Unsigned, the difference is right even between the two ends of int64.
            inside = (ends.view(np.uint64) - U(low % 2**64)) >> U(bits)
            share = np.bincount(inside.astype(np.int64), minlength=buckets) / len(ends)
            fine = np.ceil(np.log2(np.maximum(share * wanted, 1))).astype(np.int64)
            fine = np.minimum(fine, bits)
        base = np.ones(buckets + 1, np.int64)
        base[1:] += np.cumsum(1 << fine)
        return cls(low, bits, base, bits - fine)

    def places(self, lo: Int64s, hi: Int64s) -> tuple[Int64s, Int64s, Int64s, Int64s]:
        """Intervals as cells: from, to (exclusive), and two more that are taken in part, or -1."""
        found = np.empty((4, len(lo)), np.int64)
        _places(lo, hi, self.low, self.bits, self.base, self.shift, *found)
        return found[0], found[1], found[2], found[3]


@inline
def cell_of(key: int, low: int, bits: int, base: Any, shift: Any) -> Any:
    """The cell of a key."""
    away = U(key) - U(low)
    bucket = away >> U(bits)
    within = np.int64(away & ((U(1) << U(bits)) - U(1)))
    if key < low:
        cell = np.int64(0)
    elif bucket >= U(len(shift)):
        cell = base[len(shift)]
    else:
        cell = base[bucket] + (within >> shift[bucket])
    return cell


@inline
def _begins(key: int, low: int, bits: int, shift: Any) -> Any:
    """Whether a cell begins with this key."""
    away = U(key) - U(low)
    bucket = away >> U(bits)
    within = np.int64(away & ((U(1) << U(bits)) - U(1)))
    if key < low:
        found = key == MIN
    elif bucket >= U(len(shift)):
        found = bucket == U(len(shift)) and within == 0
    else:
        found = within & ((1 << shift[bucket]) - 1) == 0
    return found


@kernel(void, ints, ints, int64, int64, ints, ints, ints_out, ints_out, ints_out, ints_out)
def _places(
    lo: Any, hi: Any, low: int, bits: int, base: Any, shift: Any,
    start: Any, stop: Any, left: Any, right: Any,
) -> None:  # fmt: skip
    for i in range(len(lo)):
        start[i] = stop[i] = 0
        left[i] = right[i] = -1
        if lo[i] >= hi[i]:
            continue
        first = cell_of(lo[i], low, bits, base, shift)
        if not _begins(lo[i], low, bits, shift):
            left[i] = first
            first += 1
        if hi[i] == MAX:
            last = base[len(shift)] + 1
        else:
            last = cell_of(hi[i], low, bits, base, shift)
            if not _begins(hi[i], low, bits, shift) and last != left[i]:
                right[i] = last
        start[i] = first
        stop[i] = max(first, last)
