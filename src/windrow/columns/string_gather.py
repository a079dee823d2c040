"""Strings picked out of a long row of bytes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.columns.arrays import Bools, Bytes, Int64s, string_array
from windrow.columns.kernels import bytes_in, bytes_out, ints, kernel, void


@kernel(void, bytes_in, ints, ints, bytes_out)
def _gather(data, starts, targets, out):  # type: ignore[no-untyped-def]
    """String ``i`` is copied from ``data[starts[i]:]`` to ``out[targets[i]:targets[i + 1]]``."""
    for i in range(len(starts)):
        start, target = starts[i], targets[i]
        for j in range(targets[i + 1] - target):
            out[target + j] = data[start + j]


def gather_strings(data: Bytes, starts: Int64s, lengths: Int64s, valid: Bools | None) -> pa.Array:
    """An Arrow array of the strings that begin at ``starts`` in ``data``."""
    targets: npt.NDArray[np.int64] = np.zeros(len(starts) + 1, np.int64)
    np.cumsum(lengths, out=targets[1:])
    out = np.empty(int(targets[-1]), np.uint8)
    _gather(data, starts, targets, out)
    return string_array(targets.astype(np.int32), out, valid)
