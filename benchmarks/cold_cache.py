"""A cold cache without root: what is measured next comes from the disk.

The system keeps a page of a file for as long as a process maps it. So mappings of the files are
first told that they need nothing (``madvise``), and then the system is (``posix_fadvise``). Open
readers and connections stay open: what they fault in again, they read again. What is not yet
written cannot be dropped, so files are to be synced before. What a library keeps in memory of its
own is not touched: DuckDB's connections have to be opened anew.
"""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Iterator
from pathlib import Path

MADV_DONTNEED = 4
_libc = ctypes.CDLL(None, use_errno=True)
_libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]


def evict(place: Path) -> None:
    """Drop all pages of the files below a directory from memory."""
    for start, size in _mappings(place):
        if _libc.madvise(start, size, MADV_DONTNEED):
            raise OSError(ctypes.get_errno(), f"madvise of {size} bytes below {place}")
    for path in _files(place):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(handle)


def resident_share(place: Path) -> float:
    """Which share of the files below a directory is in memory."""
    held = pages = 0
    for path in _files(place):
        size = path.stat().st_size
        if not size:
            continue
        count = -(-size // mmap.PAGESIZE)
        with path.open("rb") as file, mmap.mmap(file.fileno(), size, mmap.MAP_PRIVATE) as view:
            bits = (ctypes.c_ubyte * count)()
            anchor = ctypes.c_char.from_buffer(view)
            failed = _libc.mincore(ctypes.addressof(anchor), size, bits)
            del anchor
            if failed:
                raise OSError(ctypes.get_errno(), f"mincore of {path}")
        held += sum(bit & 1 for bit in bits)
        pages += count
    return held / max(pages, 1)


def _files(place: Path) -> Iterator[Path]:
    return (path for path in place.rglob("*") if path.is_file())


def _mappings(place: Path) -> Iterator[tuple[int, int]]:
    root = f"{place.resolve()}/"
    for line in Path("/proc/self/maps").read_text().splitlines():
        span, _, _, _, _, *name = line.split(maxsplit=5)
        if name and name[0].startswith(root):
            start, stop = (int(x, 16) for x in span.split("-"))
            yield start, stop - start
