"""XXH64 (Collet 2012, seed 0), which sums up a page: compiled, or a few of them in plain Python.

Each step of it is one-to-one in the eight bytes that it takes in, so no change of a word escapes
its accumulator. Little-endian machines only, as Arrow's files are. A page takes half a microsecond
compiled, and a quarter of a millisecond here.
"""

from __future__ import annotations

import ctypes
import struct

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
_kernels = Kernels("windrow.archive.format.kernels.block_kernels")


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
