"""The sums of a run's blocks, in a file beside it.

A probe reads a few pages of a run, so it needs sums of pages to know that they are as they were
written. ``<run>.sums`` has the XXH64 of each ``BLOCK`` bytes of the entries, then of the directory,
and last of each ``BLOCK`` bytes of itself up to there; the sum of these last ones is in the
manifest. So opening a run reads a 250,000th of it, and a page costs one page of sums beside it. All
are 64 bits long, little-endian. Runs of two files of up to ``SMALL`` bytes have no such file: they
are summed up when they are opened, and compared with what the manifest says of their files.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.archive.format.disk import Sink
from windrow.archive.format.kernel_use import Kernels
from windrow.archive.format.xxh64 import xxh64

SHIFT = 12
BLOCK = 1 << SHIFT
SMALL = 64 << 10
Sums = npt.NDArray[np.uint64]
_kernels = Kernels("windrow.archive.format.kernels.block_kernels")


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


class SummingSink:
    """A sink that sums up blocks on their way to another."""

    def __init__(self, sink: Any) -> None:
        self._sink, self._rest = sink, bytearray()
        self._sums: list[Sums] = []
        self.size, self.closed = 0, False

    def write(self, data: bytes | memoryview) -> int:
        view = memoryview(data).cast("B")
        self.size += view.nbytes
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
        self._sink.write(view)
        return view.nbytes

    def sums(self) -> Sums:
        """Of all that has been written."""
        last = [sums_of(self._rest)] if self._rest else []
        return np.concatenate([np.zeros(0, np.uint64), *self._sums, *last])

    def flush(self) -> None:
        """Nothing is held back but for its sum."""

    def tell(self) -> int:
        return self.size

    def writable(self) -> bool:
        return True

    def close(self) -> None:
        self.closed = True


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
