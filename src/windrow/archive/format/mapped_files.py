"""Files that are mapped into memory to be read.

A mapping holds no file open: an archive may have more runs than a process may have open files.
What is mapped stays readable when the file's name is deleted.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_advise = ctypes.CDLL(None).madvise
_advise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)


def map_file(path: Path) -> pa.Buffer:
    """A file's bytes, none of them read yet. An empty file is an empty buffer."""
    if not path.stat().st_size:
        return pa.py_buffer(b"")
    with pa.memory_map(str(path)) as file:
        return file.read_buffer()


class Pages:
    """A file that is mapped to be read a little here and there.

    A system that expects the rest to be wanted too reads megabytes around every byte that is
    looked at for the first time; it is told not to, until ``read_ahead`` says that they are.
    """

    def __init__(self, buffer: pa.Buffer, fetch: Callable[[int, int], None] | None = None) -> None:
        """``buffer`` begins with a page: that of a file, or memory that is mapped.

        ``fetch`` has the bytes between two places there, of a file that is not all there yet.
        """
        self.buffer, self.fetch = buffer, fetch
        self.scattered = True
        self._say(mmap.MADV_RANDOM, 0)

    def read_ahead(self) -> None:
        if self.scattered:
            self._say(mmap.MADV_NORMAL, 0)
        self.scattered = False

    def read_end(self, size: int) -> None:
        """Have the last ``size`` bytes read in one go."""
        if self.scattered:
            start = max(0, self.buffer.size - size) // mmap.PAGESIZE * mmap.PAGESIZE
            self._say(mmap.MADV_WILLNEED, start)

    def _say(self, advice: int, start: int) -> None:
        """Advice that is not taken changes no answer, so nobody asks whether it was."""
        _advise(self.buffer.address + start, self.buffer.size - start, advice)


def numpy_view(array: pa.Array) -> npt.NDArray[Any]:
    """The values of an array of numbers that has no NULL, where they lie.

    ``Array.to_numpy`` does the same but loads pandas first, which takes a command longer than its
    work.
    """
    kind, buffer = array.type.to_pandas_dtype(), array.buffers()[1]
    if buffer is None:
        return np.empty(0, kind)
    return np.frombuffer(buffer, kind, len(array), array.offset * np.dtype(kind).itemsize)
