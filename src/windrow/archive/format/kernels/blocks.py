"""Blocks of mapped files compared with their sums, by the addresses of their guards."""

from __future__ import annotations

import numpy as np

from windrow.archive.format.block_sums import BLOCK, SHIFT
from windrow.archive.format.blocks import (
    ALL_SUMS,
    BASE,
    ENDS,
    FLAGS,
    SIZE,
    SUM_BYTES,
    SUM_FLAGS,
    SUMS,
)
from windrow.archive.format.kernels.addresses import array_at, pointer
from windrow.archive.format.kernels.xxh64 import xxh64
from windrow.columns.kernels import boolean, int64, kernel


@kernel(boolean, int64, int64)
def _compare(guard_at, block):  # type: ignore[no-untyped-def]
    """Whether a block is as its sum says, and that as its own; remembers if so."""
    guard = array_at(pointer(guard_at), 8, np.int64)
    place = guard[SUMS] + 8 * block
    page = (place - guard[ALL_SUMS]) >> SHIFT
    known = array_at(pointer(guard[SUM_FLAGS]), page + 1, np.uint8)
    if not known[page]:
        start = guard[ALL_SUMS] + (page << SHIFT)
        length = min(BLOCK, guard[ALL_SUMS] + guard[SUM_BYTES] - start)
        if xxh64(start, length) != array_at(pointer(guard[ENDS]), page + 1, np.uint64)[page]:
            return False
        known[page] = 1
    start = guard[BASE] + (block << SHIFT)
    length = min(BLOCK, guard[BASE] + guard[SIZE] - start)
    if xxh64(start, length) != array_at(pointer(place), 1, np.uint64)[0]:
        return False
    array_at(pointer(guard[FLAGS]), block + 1, np.uint8)[block] = 1
    return True


@kernel(int64, int64, int64, int64)
def touch(guard_at, low, high):  # type: ignore[no-untyped-def]
    """Compare the blocks of the bytes [low, high): 0, or -1 minus the block that is damaged."""
    guard = array_at(pointer(guard_at), 8, np.int64)
    first, last = (low - guard[BASE]) >> SHIFT, (high - 1 - guard[BASE]) >> SHIFT
    flags = array_at(pointer(guard[FLAGS]), last + 1, np.uint8)
    for block in range(first, last + 1):
        if not flags[block] and not _compare(guard_at, block):
            return -1 - block
    return 0
