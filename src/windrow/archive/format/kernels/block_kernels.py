"""Blocks of mapped files summed up (XXH64) and compared with their sums, by their addresses.

A kernel takes arrays, and each costs a call some of a microsecond; what is looked up in many
mapped files is passed as a table of addresses instead. Whoever makes the table holds the buffers.
``format/xxh64.py`` has the sum in plain Python, ``format/blocks.py`` the comparison.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba.core import cgutils, types
from numba.extending import intrinsic

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
from windrow.columns.kernels import boolean, inline, int64, kernel, void


def _as_pointer(context: Any, address: Any) -> Any:  # noqa: ARG001 (numba's own way of calling)
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        return builder.inttoptr(arguments[0], cgutils.voidptr_t)

    return types.voidptr(address), generate


pointer: Any = intrinsic(_as_pointer)
"""In a kernel: an address as a pointer."""

array_at: Any = numba.carray  # type: ignore[attr-defined]
"""In a kernel: the array of a shape and type at a pointer."""


_P1 = np.uint64(11400714785074694791)
_P2 = np.uint64(14029467366897019727)
_P3 = np.uint64(1609587929392839161)
_P4 = np.uint64(9650029242287828579)
_P5 = np.uint64(2870177450012600261)
_NONE = np.uint64(0)
_LANES = 4


@inline
def _rotate(x, bits):  # type: ignore[no-untyped-def]
    return (x << np.uint64(bits)) | (x >> np.uint64(64 - bits))


@inline
def _round(state, word):  # type: ignore[no-untyped-def]
    return _rotate(state + word * _P2, 31) * _P1


@inline
def _merge(state, other):  # type: ignore[no-untyped-def]
    return (state ^ _round(_NONE, other)) * _P1 + _P4


@kernel(types.uint64, int64, int64)
def xxh64(address, length):  # type: ignore[no-untyped-def]
    """The sum of so many bytes at an address."""
    words = array_at(pointer(address), length // 8, np.uint64)
    stripes = length // 32
    state = _P5
    if stripes:
        a, b, c, d = _P1 + _P2, _P2, _NONE, _NONE - _P1
        for i in range(0, stripes * _LANES, _LANES):
            a, b = _round(a, words[i]), _round(b, words[i + 1])
            c, d = _round(c, words[i + 2]), _round(d, words[i + 3])
        state = _rotate(a, 1) + _rotate(b, 7) + _rotate(c, 12) + _rotate(d, 18)
        state = _merge(_merge(_merge(_merge(state, a), b), c), d)
    state += np.uint64(length)
    for i in range(stripes * _LANES, length // 8):
        state = _rotate(state ^ _round(_NONE, words[i]), 27) * _P1 + _P4
    done = length // 8 * 8
    if length - done >= 4:
        half = array_at(pointer(address + done), 1, np.uint32)
        state = _rotate(state ^ (np.uint64(half[0]) * _P1), 23) * _P2 + _P3
        done += 4
    rest = array_at(pointer(address), length, np.uint8)
    for i in range(done, length):
        state = _rotate(state ^ (np.uint64(rest[i]) * _P5), 11) * _P1
    state = (state ^ (state >> np.uint64(33))) * _P2
    state = (state ^ (state >> np.uint64(29))) * _P3
    return state ^ (state >> np.uint64(32))


@kernel(void, int64, int64, int64, types.Array(types.uint64, 1, "C"))
def sum_blocks(address, length, block, sums):  # type: ignore[no-untyped-def]
    """The sum of each block of so many bytes; the last may be shorter."""
    for i in range(len(sums)):
        sums[i] = xxh64(address + i * block, min(block, length - i * block))


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
