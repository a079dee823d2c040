"""The sums of a run's blocks, in a file beside it.

A probe reads a few pages of a run, so it needs sums of pages to know that they are as they were
written. ``<run>.sums`` has the XXH64 of each ``BLOCK`` bytes of the entries, then of the directory,
and last of each ``BLOCK`` bytes of itself up to there; the sum of these last ones is in the
manifest. So opening a run reads a 250,000th of it, and a page costs one page of sums beside it. All
are 64 bits long, little-endian. Runs of two files of up to ``SMALL`` bytes have no such file: they
are summed up when they are opened, and compared with what the manifest says of their files.

Each step of XXH64 (Collet 2012, seed 0) is one-to-one in the eight bytes that it takes in, so no
change of a word escapes its accumulator. Little-endian machines only, as Arrow's files are. A page
takes half a microsecond compiled, and a quarter of a millisecond in plain Python.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.archive.format.disk import CountingSink, Sink
from windrow.archive.format.kernel_use import Kernels, kernels_pay

_P1, _P2, _P3, _P4, _P5 = (
    11400714785074694791,
    14029467366897019727,
    1609587929392839161,
    9650029242287828579,
    2870177450012600261,
)
_MASK = 2**64 - 1
_PAGE = 4096
_kernels = Kernels("windrow.archive.format.block_kernels")
SHIFT = 12
BLOCK = 1 << SHIFT
SMALL = 64 << 10
Sums = npt.NDArray[np.uint64]


def xxh64(address: int, length: int) -> int:
    """The sum of so many bytes at an address."""
    if kernels_pay(1 + length // _PAGE):
        return int(_kernels.xxh64(address, length))
    return plain_xxh64(ctypes.string_at(address, length))


def plain_xxh64(data: bytes) -> int:
    """The sum of some bytes, without a kernel."""
    length = len(data)
    striped, worded = length // 32 * 32, length // 8 * 8
    state = _P5
    if striped:
        state = _sum_stripes(struct.unpack_from(f"<{striped // 8}Q", data))
    state = (state + length) & _MASK
    for word in struct.unpack_from(f"<{(worded - striped) // 8}Q", data, striped):
        state = (_rotate(state ^ _round(0, word), 27) * _P1 + _P4) & _MASK
    if length - worded >= 4:
        (half,) = struct.unpack_from("<I", data, worded)
        state = (_rotate(state ^ (half * _P1 & _MASK), 23) * _P2 + _P3) & _MASK
        worded += 4
    for byte in data[worded:]:
        state = _rotate(state ^ (byte * _P5 & _MASK), 11) * _P1 & _MASK
    state = (state ^ state >> 33) * _P2 & _MASK
    state = (state ^ state >> 29) * _P3 & _MASK
    return state ^ state >> 32


def _sum_stripes(words: tuple[int, ...]) -> int:
    """Four accumulators, each over every fourth word, as one."""
    states = [_P1 + _P2 & _MASK, _P2, 0, -_P1 & _MASK]
    for lane in range(4):
        state = states[lane]
        for word in words[lane::4]:
            state = (state + word * _P2) & _MASK
            state = ((state << 31 | state >> 33) & _MASK) * _P1 & _MASK
        states[lane] = state
    total = sum(map(_rotate, states, (1, 7, 12, 18))) & _MASK
    for state in states:
        total = ((total ^ _round(0, state)) * _P1 + _P4) & _MASK
    return total


def _round(state: int, word: int) -> int:
    return _rotate((state + word * _P2) & _MASK, 31) * _P1 & _MASK


def _rotate(x: int, bits: int) -> int:
    return (x << bits | x >> (64 - bits)) & _MASK


def small() -> int:
    """``SMALL``, which tests lower."""
    return SMALL


def blocks_in(size: int) -> int:
    return -(-size // BLOCK)


def sums_of(data: Any) -> Sums:
    """The sum of each block of what has a buffer."""
    view = np.frombuffer(data, np.uint8)
    sums = np.empty(blocks_in(len(view)), np.uint64)
    _kernels.sum_blocks(view.ctypes.data, len(view), BLOCK, sums)
    return sums


class SummingSink(CountingSink):
    """A sink that sums up blocks on their way to another."""

    def __init__(self, sink: Sink) -> None:
        super().__init__(sink)
        self._rest, self._sums = bytearray(), list[Sums]()

    def write(self, data: bytes | memoryview) -> int:
        view = memoryview(data).cast("B")
        begun = 0
        if self._rest:
            begun = min(BLOCK - len(self._rest), view.nbytes)
            self._rest += view[:begun]
            if len(self._rest) == BLOCK:
                self._sums.append(sums_of(self._rest))
                self._rest = bytearray()
        whole = begun + (view.nbytes - begun) // BLOCK * BLOCK
        if whole > begun:
            self._sums.append(sums_of(view[begun:whole]))
        self._rest += view[whole:]
        return super().write(view)

    def sums(self) -> Sums:
        """Of all that has been written."""
        last = [sums_of(self._rest)] if self._rest else []
        return np.concatenate([np.zeros(0, np.uint64), *self._sums, *last])


def with_sums(fill: Callable[[Sink], None], found: list[Sums]) -> Callable[[Sink], None]:
    """``fill``, and the sums of the blocks that it writes added to ``found``."""

    def fill_summed(sink: Sink) -> None:
        summing = SummingSink(sink)
        fill(summing)
        found.append(summing.sums())

    return fill_summed


@dataclass(frozen=True)
class SumsFile:
    """What is in a file of sums, and ``top``, the sum of its end."""

    data: bytes
    top: int

    @classmethod
    def of(cls, entries: Sums, directory: Sums) -> SumsFile:
        all_sums = np.concatenate([entries, directory])
        ends = sums_of(all_sums)
        return cls(all_sums.tobytes() + ends.tobytes(), top_of(ends))


def top_of(ends: Sums) -> int:
    return xxh64(ends.ctypes.data, ends.nbytes)


def split_sums(buffer: pa.Buffer, blocks: int) -> tuple[Sums, Sums] | None:
    """The sums of so many blocks in a file of sums, and those of the sums; None if it is not so
    long as it has to be.
    """
    count = blocks_in(8 * blocks)
    if buffer.size != 8 * (blocks + count):
        return None
    found: Sums = np.frombuffer(buffer, np.uint64)
    return found[:blocks], found[blocks:]
