"""Checksums of the blocks of a run: in a file beside it, compared when a block is first read.

A probe reads a few pages of a run, so it needs sums of pages to know that they are as they were
written. ``<run>.sums`` has the XXH64 of each ``BLOCK`` bytes of the entries, then of the directory,
and last of each ``BLOCK`` bytes of itself up to there; the sum of these last ones is in the
manifest. So opening a run reads a 250,000th of it, and a page costs one page of sums beside it. All
are 64 bits long, little-endian. Runs of two files of up to ``SMALL`` bytes have no such file: they
are summed up when they are opened, and compared with what the manifest says of their files.

Each step of XXH64 (Collet 2012, seed 0) is one-to-one in the eight bytes that it takes in, so no
change of a word escapes its accumulator. Little-endian machines only, as Arrow's files are. A page
takes half a microsecond compiled, and a quarter of a millisecond in plain Python.

Whoever is about to read some bytes says so, with their addresses: ``check`` in Python, ``touch`` in
kernels. What was compared is remembered for as long as the run is open, for all who read it; a
block that is asked for again costs a look at its flag. So a block was sound when it was read into
memory; a disk that gives other bytes when the system reads it once more is found by ``verify``.
Kernels know a file by the address of its *guard*: an array of what ``touch`` needs.

What describes an Arrow file is compared before Arrow goes by it. The end of the file has the
footer's length; the footer, a flatbuffer, has the schema and for each dictionary and record batch
where it is and how long its description is, before its values (Arrow columnar format, IPC file
format). What lies elsewhere are values, padding, and a copy of the schema that nobody looks at.
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

from windrow.archive.errors import DamagedError
from windrow.archive.format.disk import CountingSink, Sink
from windrow.archive.format.kernel_use import Kernels, Use, kernels_pay

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


BASE, SIZE, FLAGS, SUMS, ALL_SUMS, SUM_FLAGS, ENDS, SUM_BYTES = range(8)
"""What a guard has: where the file is, and how long; the flags of its blocks; its sums; where all
sums of the run start, the flags of their pages, the sums of these, and their size in bytes."""
REMEDY = "run `verify`, and restore the file from a copy of the archive"
_MAGIC = b"ARROW1"
_END = 4 + len(_MAGIC)
_DICTIONARIES, _BATCHES = 2, 3
"""Fields of the footer's table."""
_BLOCK = struct.Struct("<qi4xq")
"""Where a message starts, how long its description is, and how long its values are."""


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
        self,
        buffer: pa.Buffer,
        where: str,
        summed: Summed | None = None,
        first: int = 0,
        fetch: Callable[[int, int], None] | None = None,
    ) -> None:
        """``first`` is the place of the file's first sum among those of its run; ``fetch`` is that
        of ``Pages``.
        """
        self.fetch = fetch
        self.buffer, self.where, self.trusted = buffer, where, summed is None
        self._summed, self._first = summed, first
        count = blocks_in(buffer.size)
        self._flags = (np.ones if summed is None else np.zeros)(max(1, count), np.uint8)
        self.base = buffer.address
        self._guard = np.zeros(8, np.int64)
        self._guard[: FLAGS + 1] = self.base, buffer.size, self._flags.ctypes.data
        if summed is not None:
            sums = summed.sums.ctypes.data
            self._guard[SUMS:] = (
                sums + 8 * first, sums, summed.flags.ctypes.data, summed.ends.ctypes.data,
                summed.sums.nbytes,
            )  # fmt: skip
        self.guard = int(self._guard.ctypes.data)

    def check(self, address: int, size: int) -> None:
        """Compare what has not been, before bytes at an address are read."""
        if not self.trusted and size > 0:
            while bad := (
                _kernels.touch(self.guard, address, address + size)
                if Use.compiled or kernels_pay(1 + (size >> SHIFT))
                else self._touch(address - self.base, address - self.base + size)
            ):
                self.require(bad)

    def require(self, bad: int) -> None:
        """Have the block there that ``touch`` has found unsound; an error if it is damaged."""
        if self.fetch is not None:
            start = (-1 - bad) * BLOCK
            self.fetch(start, min(start + BLOCK, self.buffer.size))
            if self._compare(-1 - bad):
                return
        raise self.damage_error(bad)

    def _touch(self, low: int, high: int) -> int:
        """The kernel's way in plain Python, for the bytes [low, high) of the file."""
        for block in range(low >> SHIFT, ((high - 1) >> SHIFT) + 1):
            if not self._flags[block] and not self._compare(block):
                return -1 - block
        return 0

    def _compare(self, block: int) -> bool:
        """Whether a block is as its sum says, and that as its own; remembers if so."""
        summed, place = self._summed, self._first + block
        assert summed is not None, "there is something to compare with"
        if not summed.flags[place * 8 // BLOCK]:
            if not summed.is_sound(place):
                return False
            summed.flags[place * 8 // BLOCK] = 1
        start = block * BLOCK
        length = min(BLOCK, self.buffer.size - start)
        if plain_xxh64(self.buffer.slice(start, length).to_pybytes()) != summed.sums[place]:
            return False
        self._flags[block] = 1
        return True

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

    def damage_error(self, bad: int) -> DamagedError:
        """What to raise for an answer of ``touch``."""
        block = -1 - bad
        assert self._summed is not None, "there is something to compare with"
        where, start = self.where, block * BLOCK
        if not self._summed.is_sound(self._first + block):
            where, start = self._summed.where, (self._first + block) * 8 // BLOCK * BLOCK
        return DamagedError(
            where=where,
            expected="the bytes that were written",
            found=f"a wrong checksum between byte {start} and {start + BLOCK}",
            remedy=REMEDY,
        )


def check_metadata(blocks: Blocks) -> None:
    """Compare what describes an Arrow file with its sums."""
    if blocks.trusted:
        return
    size = blocks.buffer.size
    blocks.check_range(max(0, size - _END), size)
    (length,) = struct.unpack("<i", blocks.buffer[size - _END : size - _END + 4].to_pybytes())
    start = size - _END - length
    blocks.check_range(start, size)
    for begin, end in _descriptions(blocks.buffer[start : size - _END].to_pybytes()):
        blocks.check_range(begin, end)


def _descriptions(footer: bytes) -> list[tuple[int, int]]:
    table = _u32(footer, 0)
    fields = table - struct.unpack_from("<i", footer, table)[0]
    found = []
    for number in (_DICTIONARIES, _BATCHES):
        place = 4 + 2 * number
        offset = _u16(footer, fields + place) if place < _u16(footer, fields) else 0
        if offset:
            vector = table + offset + _u32(footer, table + offset)
            for i in range(_u32(footer, vector)):
                begin, length, _ = _BLOCK.unpack_from(footer, vector + 4 + i * _BLOCK.size)
                found.append((begin, begin + length))
    return found


def _u32(data: bytes, place: int) -> int:
    return int(struct.unpack_from("<I", data, place)[0])


def _u16(data: bytes, place: int) -> int:
    return int(struct.unpack_from("<H", data, place)[0])
