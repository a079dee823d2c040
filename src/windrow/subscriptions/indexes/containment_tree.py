"""The arithmetic of containment-encoded intervals: shifts and additions on node numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from windrow.columns.kernels import inline, int64, ints, ints_out, kernel, void
from windrow.subscriptions.indexes.constructs import LONG
from windrow.subscriptions.indexes.idlists import headers_in, ints32, ints32_out
from windrow.subscriptions.indexes.point_batches import (
    ONE,
    SLACK,
    WIDE,
    ZERO,
    U,
    append_rest,
    copy_eight,
)
from windrow.subscriptions.indexes.segments import for_both

MOST_PIECES = LONG + 4 * 64


@inline
def _climb(left: int, right: int, base: int, found: Any, count: int) -> Any:
    """The fewest nodes of a tree that cover its leaves ``[left, right)``."""
    while left < right:
        if left & 1:
            found[count] = base + left
            count += 1
            left += 1
        if right & 1:
            right -= 1
            found[count] = base + right
            count += 1
        left >>= 1
        right >>= 1
    return count


@kernel(int64, int64, int64, int64, int64, int64, ints_out)
def _cut_cells(a: int, b: int, k: int, tall: int, upper: int, found: Any) -> Any:
    """The pieces of ``[a, b)`` into ``found``; how many they are."""
    count = 0
    if a >= b:
        return count
    size = 1 << k
    first = (a + size - 1) >> k
    last = b >> k
    if first > last:
        base = last << k
        return _climb(a - base + size, b - base + size, 2 * base, found, 0)
    if last - first > LONG:
        leaves = 1 << tall
        count = _climb(first + leaves, last + leaves, 0, found, count)
        for j in range(count):
            node = found[j]
            found[j] = ((node - leaves) << (k + 1)) + 1 if node >= leaves else upper + node
    else:
        for segment in range(first, last):
            found[count] = (segment << (k + 1)) + 1
            count += 1
    if a < first << k:
        count = _climb(
            a - ((first - 1) << k) + size, 2 * size, (first - 1) << (k + 1), found, count
        )
    if b > last << k:
        count = _climb(size, b - (last << k) + size, last << (k + 1), found, count)
    return count


@kernel(void, ints, ints, int64, int64, ints_out)
def sizes(lo: Any, hi: Any, k: int, tall: int, counts: Any) -> None:
    found = np.empty(MOST_PIECES, np.int64)
    for i in range(len(lo)):
        counts[i] = _cut_cells(lo[i], hi[i], k, tall, 0, found)


@kernel(void, ints, ints, int64, int64, int64, ints, ints32_out)
def pieces(lo: Any, hi: Any, k: int, tall: int, upper: int, offsets: Any, lists: Any) -> None:
    found = np.empty(MOST_PIECES, np.int64)
    for i in range(len(lo)):
        count = _cut_cells(lo[i], hi[i], k, tall, upper, found)
        for j in range(count):
            lists[offsets[i] + j] = found[j]


@inline
def walk(
    ends: Any, starts: Any, pool: Any, tops: Any, top_pool: Any, k: int, tall: int, shifts: Any,
    x: Any, buffer: Any, at: Any, room: Any,
) -> Any:  # fmt: skip
    """Append the lists over cell ``x``; the new end, which is past ``room`` if they do not fit."""
    bits, size = U(k), ONE << U(k)
    segment = x >> bits
    root, first = segment << (bits + ONE), U(starts[segment])
    node = (x & (size - ONE)) + size
    while node > ZERO:
        begin = U(ends[root + node - ONE])
        start, length = first + begin, U(ends[root + node]) - begin
        if length > WIDE:
            if at + length > room:
                # Nothing of it is copied; what follows is short, or ends here as well.
                length, at = ZERO, room + ONE
            append_rest(pool, start, length, buffer, at)
        copy_eight(pool, start, buffer, at)
        at += length
        node >>= ONE
    for shift in shifts:
        v = (segment + (ONE << U(tall))) >> U(shift)
        start, length = U(tops[v, 0]), U(tops[v, 1])
        if at + length <= room:
            copy_eight(top_pool, start, buffer, at)
            append_rest(top_pool, start, length, buffer, at)
        at += length
    return at


@for_both(
    (
        types.UniTuple(int64, 2), ints32, ints32, headers_in, ints32, int64, int64, ints, int64,
        ints, ints32_out, ints32_out, int64, int64,
    ),
    changed=False,
)  # fmt: skip
def collect(
    ends: Any, starts: Any, pool: Any, tops: Any, top_pool: Any, k: int, tall: int, shifts: Any,
    low: int, points: Any, buffer: Any, stops: Any, done: int, end: int,
) -> Any:  # fmt: skip
    room, at = U(len(buffer) - SLACK), U(end)
    for i in range(U(done), U(len(points))):
        begin = at
        x = U(points[i]) - U(low)
        at = walk(ends, starts, pool, tops, top_pool, k, tall, shifts, x, buffer, at, room)
        if at > room:
            return np.int64(i), np.int64(begin)
        stops[i] = at
    return np.int64(len(points)), np.int64(at)
