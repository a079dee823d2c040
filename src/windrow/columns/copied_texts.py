"""Texts, and what else is bytes, copied from where they lie to stand one behind the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.columns.arrays import Bools, Bytes, Int64s
from windrow.columns.byte_forms import from_bytes
from windrow.columns.byte_kernels import copy_bytes
from windrow.columns.kernels import (
    bytes_in,
    bytes_out,
    compile_cached,
    int64,
    ints,
    ints_out,
    kernel,
    small_ints,
    small_ints_out,
    void,
)
from windrow.core.errors import DataError

COPIED = 32
"""Bytes of a text that are copied at once: most are short, and a call for each takes longer."""
MOST_BYTES = 2**31 - 1
"""What Arrow's offsets of texts can tell."""


@compile_cached(
    [void(bytes_in, ints, ints, bytes_out), void(bytes_in, ints, small_ints, bytes_out)],
    nogil=True,
)
def _copy_texts(data, starts, targets, out):  # type: ignore[no-untyped-def]
    """Text ``i`` is copied from ``data[starts[i]:]`` to ``out[targets[i]:targets[i + 1]]``.

    ``out`` has room for ``COPIED`` bytes more than all texts have: behind each something is
    written that the next one replaces.
    """
    for i in range(len(starts)):
        start, at, end = starts[i], np.int64(targets[i]), np.int64(targets[i + 1])
        if start + (end - at) + COPIED > len(data):
            copy_bytes(out, at, data, start, end - at)
            continue
        while at < end:
            copy_bytes(out, at, data, start, COPIED)
            at, start = at + COPIED, start + COPIED


def copy_texts(data: Bytes, starts: Int64s, targets: npt.NDArray[Any]) -> Bytes:
    """Texts that begin at ``starts`` one behind the other: where each begins and the last one ends
    is in ``targets``, of 32 or 64 bits.
    """
    out = np.empty(int(targets[-1]) + COPIED, np.uint8)
    _copy_texts(data, starts, targets, out)
    return out[: targets[-1]]


def gather_bytes(
    data: Bytes, starts: Int64s, lengths: Int64s, valid: Bools | None, kind: pa.DataType
) -> pa.Array:
    """An Arrow array of the values whose bytes begin at ``starts`` in ``data``."""
    targets: npt.NDArray[np.int64] = np.zeros(len(starts) + 1, np.int64)
    np.cumsum(lengths, out=targets[1:])
    _refuse_too_many(int(targets[-1]))
    return from_bytes(targets.astype(np.int32), copy_texts(data, starts, targets), valid, kind)


@kernel(int64, ints, int64, ints, ints, int64, ints_out, small_ints_out)
def _find_stretches(positions, base, starts, lengths, first, found, targets):  # type: ignore[no-untyped-def]
    """Where values begin, and where they do when they stand one behind the other; all bytes."""
    total = np.int64(0)
    targets[0] = 0
    for i in range(len(positions)):
        at = positions[i] - base
        found[i] = starts[at] - first
        total += lengths[at]
        targets[i + 1] = total
    return total


def gather_stretches(
    data: Bytes,
    stretches: tuple[Int64s, Int64s],
    positions: Int64s,
    bases: tuple[int, int],
    valid: Bools | None,
    kind: pa.DataType,
) -> pa.Array:
    """An Arrow array of the values at ``positions``, all of which are there.

    ``stretches`` say where each value begins and how long it is; ``bases`` are the position of the
    first value and that of the first byte.
    """
    positions, (base, first) = np.ascontiguousarray(positions, np.int64), bases
    found, targets = np.empty(len(positions), np.int64), np.empty(len(positions) + 1, np.int32)
    _refuse_too_many(_find_stretches(positions, base, *stretches, first, found, targets))
    return from_bytes(targets, copy_texts(data, found, targets), valid, kind)


def _refuse_too_many(count: int) -> None:
    if count > MOST_BYTES:
        raise DataError(
            where="rows that are made at once",
            expected=f"at most {MOST_BYTES:,} bytes in a column of texts",
            found=f"{count:,}",
            remedy="push fewer rows at a time, or let a join give fewer",
        )
