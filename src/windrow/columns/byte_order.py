"""Which of two values comes first where integers do not say it all, for kernels.

A kernel that looks for an extreme compares integers, the *keys*. The key of a number decides alone.
What is longer (``windrow.columns.byte_forms``) lies as bytes in a column of its own: its key are
the first eight of them, and where keys are equal the bytes decide. A kernel is given both by the
key and the position of a value in that column, and ``Ties`` says where the bytes are.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import types

from windrow.columns.arrays import Bytes, Int64s
from windrow.columns.kernels import boolean, bytes_in, helper, int64, ints, ints_out, kernel, void

Ties = tuple[bool, bool, Int64s, Int64s, Bytes, int, int]
"""Whether there are bytes, whether the largest value comes first, where values begin, how long they
are, their bytes, and the logical positions of the first value and of the first byte."""
ties_type = types.Tuple((boolean, boolean, ints, ints, bytes_in, int64, int64))
_NONE: Int64s = np.empty(0, np.int64)
NO_TIES: Ties = (False, False, _NONE, _NONE, np.empty(0, np.uint8), 0, 0)
"""For numbers: equal keys are equal values."""
LEADING = 8
"""Bytes of a key."""


@helper
def precedes(p, of, q, others):  # type: ignore[no-untyped-def]
    """Whether the value at ``p`` in the bytes ``of`` is before the one at ``q`` in ``others``.

    One that is forgotten is before none: nobody reads an extreme that it took part in.
    """
    _, largest, starts, lengths, data, first, origin = of
    _, _, other_starts, other_lengths, other_data, other_first, other_origin = others
    if p < first:
        return False
    if q < other_first:
        return True
    a, b = starts[p - first] - origin, other_starts[q - other_first] - other_origin
    m, n = lengths[p - first], other_lengths[q - other_first]
    for i in range(min(m, n)):
        if data[a + i] != other_data[b + i]:
            return (data[a + i] < other_data[b + i]) != largest
    return m > n if largest else m < n


@helper
def comes_first(key, value, other_key, other_value, ties):  # type: ignore[no-untyped-def]
    """Whether a value is strictly before another one, both by key and position."""
    if key != other_key:
        return key < other_key
    return ties[0] and precedes(value, ties, other_value, ties)


@kernel(void, ints, bytes_in, ints_out)
def _leading(offsets, data, keys):  # type: ignore[no-untyped-def]
    for i in range(len(keys)):
        start, stop = offsets[i], offsets[i + 1]
        key = np.int64(0)
        for j in range(start, start + LEADING):
            key = (key << 8) | (np.int64(data[j]) if j < stop else 0)
        keys[i] = key ^ np.int64(-(2**63))  # as of integers without a sign


def leading_keys(offsets: Int64s, data: Bytes, largest: bool) -> Int64s:
    """The keys of values, given as their bytes; with ``largest`` the largest has the least.

    >>> leading_keys(np.array([0, 1, 2, 4]), np.frombuffer(b"abba", np.uint8), False).argsort()
    array([0, 1, 2])
    """
    keys: npt.NDArray[np.int64] = np.empty(len(offsets) - 1, np.int64)
    _leading(np.ascontiguousarray(offsets, np.int64), data, keys)
    return ~keys if largest else keys
