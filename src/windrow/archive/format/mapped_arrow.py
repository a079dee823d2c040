"""Arrow files where they are mapped: what describes them is checked before Arrow goes by it.

The end of the file has the footer's length; the footer, a flatbuffer, has the schema and for each
dictionary and record batch where it is and how long its description is, before its values
(Arrow columnar format, IPC file format). What lies elsewhere are values, which are checked when
they are read, padding, and a copy of the schema that nobody here looks at.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.archive.format.blocks import Blocks

_MAGIC = b"ARROW1"
_END = 4 + len(_MAGIC)
_DICTIONARIES, _BATCHES = 2, 3
"""Fields of the footer's table."""
_BLOCK = struct.Struct("<qi4xq")
"""Where a message starts, how long its description is, and how long its values are."""


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


def numpy_view(array: pa.Array) -> npt.NDArray[Any]:
    """The values of an array of numbers that has no NULL, where they lie.

    ``Array.to_numpy`` does the same but loads pandas first, which takes a command longer than its
    work.
    """
    kind, buffer = array.type.to_pandas_dtype(), array.buffers()[1]
    if buffer is None:
        return np.empty(0, kind)
    return np.frombuffer(buffer, kind, len(array), array.offset * np.dtype(kind).itemsize)
