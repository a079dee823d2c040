"""Numbers of Arrow arrays as numpy has them, where they lie.

``Array.to_numpy`` does the same but loads pandas first, which takes a command longer than its work.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa


def numpy_view(array: pa.Array) -> npt.NDArray[Any]:
    """The values of an array of numbers that has no NULL."""
    kind, buffer = array.type.to_pandas_dtype(), array.buffers()[1]
    if buffer is None:
        return np.empty(0, kind)
    return np.frombuffer(buffer, kind, len(array), array.offset * np.dtype(kind).itemsize)
