"""Blocks of a mapped file, each compared with its sum when it is first looked at.

Whoever is about to read some bytes says so, with their addresses: ``check`` in Python, ``touch`` in
kernels. What was compared is remembered for as long as the run is open, for all who read it; a
block that is asked for again costs a look at its flag. So a block was sound when it was read into
memory; a disk that gives other bytes when the system reads it once more is found by ``verify``.

Kernels know a file by the address of its *guard*: an array of what ``touch`` needs.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from windrow.archive.errors import DamagedError
from windrow.archive.format.addresses import array_at, pointer
from windrow.archive.format.block_sums import BLOCK, SHIFT, Sums, blocks_in
from windrow.archive.format.xxh64 import xxh64
from windrow.columns.kernels import boolean, int64, kernel

_BASE, _SIZE, _FLAGS, _SUMS, _ALL_SUMS, _SUM_FLAGS, _ENDS, _SUM_BYTES = range(8)
REMEDY = "run `verify`, and restore the file from a copy of the archive"


class Summed:
    """The sums of all blocks of a run, and which of their own blocks have been compared."""

    def __init__(self, sums: Sums, ends: Sums, where: str) -> None:
        self.sums, self.ends, self.where = sums, ends, where
        self.flags = np.zeros(len(ends), np.uint8)

    def is_sound(self, place: int) -> bool:
        """Whether the sum at a place is as it was written."""
        start = place * 8 // BLOCK * BLOCK
        length = min(BLOCK, self.sums.nbytes - start)
        found = xxh64(self.sums.ctypes.data + start, length)
        return bool(found == self.ends[start // BLOCK])


class Blocks:
    """A file that is mapped. Without sums it is taken to be as it was written."""

    def __init__(
        self, buffer: pa.Buffer, where: str, summed: Summed | None = None, first: int = 0
    ) -> None:
        """``first`` is the place of the file's first sum among those of its run."""
        self.buffer, self.where, self.trusted = buffer, where, summed is None
        self._summed, self._first = summed, first
        count = blocks_in(buffer.size)
        self._flags = (np.ones if summed is None else np.zeros)(max(1, count), np.uint8)
        self.base = buffer.address
        self._guard = np.zeros(8, np.int64)
        self._guard[: _FLAGS + 1] = self.base, buffer.size, self._flags.ctypes.data
        if summed is not None:
            sums = summed.sums.ctypes.data
            self._guard[_SUMS:] = (
                sums + 8 * first, sums, summed.flags.ctypes.data, summed.ends.ctypes.data,
                summed.sums.nbytes,
            )  # fmt: skip
        self.guard = int(self._guard.ctypes.data)

    def check(self, address: int, size: int) -> None:
        """Compare what has not been, before bytes at an address are read."""
        if not self.trusted and size > 0:
            bad = touch(self.guard, address, address + size)
            if bad:
                raise self.damaged(bad)

    def check_range(self, start: int, stop: int) -> None:
        """The same for bytes of the file by their number."""
        self.check(self.base + start, stop - start)

    def check_array(self, array: np.ndarray) -> None:
        """The same for an array that lies in the file."""
        self.check(array.ctypes.data, array.nbytes)

    def trust(self) -> None:
        """All of the file has been compared."""
        self._flags[:] = 1
        self.trusted = True

    def has(self, buffer: pa.Buffer) -> bool:
        """Whether a buffer lies in the file."""
        start = buffer.address - self.base
        return bool(0 <= start <= start + buffer.size <= self.buffer.size)

    def damaged(self, bad: int) -> DamagedError:
        """What to raise for an answer of ``touch``."""
        block = -1 - bad
        assert self._summed is not None, "there is something to compare with"
        where, start = self.where, block * BLOCK
        if not self._summed.is_sound(self._first + block):
            where, start = self._summed.where, (self._first + block) * 8 // BLOCK * BLOCK
        return DamagedError(
            where=where,
            expected="the bytes that were written",
            found=f"others between byte {start} and {start + BLOCK} (checksum)",
            remedy=REMEDY,
        )


@kernel(boolean, int64, int64)
def _compare(guard_at, block):  # type: ignore[no-untyped-def]
    """Whether a block is as its sum says, and that as its own; remembers if so."""
    guard = array_at(pointer(guard_at), 8, np.int64)
    place = guard[_SUMS] + 8 * block
    page = (place - guard[_ALL_SUMS]) >> SHIFT
    known = array_at(pointer(guard[_SUM_FLAGS]), page + 1, np.uint8)
    if not known[page]:
        start = guard[_ALL_SUMS] + (page << SHIFT)
        length = min(BLOCK, guard[_ALL_SUMS] + guard[_SUM_BYTES] - start)
        if xxh64(start, length) != array_at(pointer(guard[_ENDS]), page + 1, np.uint64)[page]:
            return False
        known[page] = 1
    start = guard[_BASE] + (block << SHIFT)
    length = min(BLOCK, guard[_BASE] + guard[_SIZE] - start)
    if xxh64(start, length) != array_at(pointer(place), 1, np.uint64)[0]:
        return False
    array_at(pointer(guard[_FLAGS]), block + 1, np.uint8)[block] = 1
    return True


@kernel(int64, int64, int64, int64)
def touch(guard_at, low, high):  # type: ignore[no-untyped-def]
    """Compare the blocks of the bytes [low, high): 0, or -1 minus the block that is damaged."""
    guard = array_at(pointer(guard_at), 8, np.int64)
    first, last = (low - guard[_BASE]) >> SHIFT, (high - 1 - guard[_BASE]) >> SHIFT
    flags = array_at(pointer(guard[_FLAGS]), last + 1, np.uint8)
    for block in range(first, last + 1):
        if not flags[block] and not _compare(guard_at, block):
            return -1 - block
    return 0
