"""A cold cache without root: what is measured next comes from the disk.

The system keeps a page of a file for as long as a process maps it. So mappings of the files are
first told that they need nothing (``madvise``), and then the system is (``posix_fadvise``). Open
readers and connections stay open: what they fault in again, they read again. What is not yet
written cannot be dropped, so files are synced before. What a library keeps in memory of its own is
not touched: DuckDB's connections have to be opened anew. A file system in memory has no disk to
read from, and stays as fast as it was.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from pathlib import Path

MADV_DONTNEED = 4
MAPPINGS = Path("/proc/self/maps")
MEGA = 1e6
_libc = ctypes.CDLL(None, use_errno=True)
_libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


def can_evict() -> bool:
    """Whether this system lets a process drop what it has in memory of its files."""
    return hasattr(os, "posix_fadvise") and MAPPINGS.exists()


def evict(place: Path) -> None:
    """Drop all pages of the files below a directory from memory."""
    for path in files_below(place):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    for start, size in _mappings(place):
        if _libc.madvise(start, size, MADV_DONTNEED):
            raise OSError(ctypes.get_errno(), f"madvise of {size} bytes below {place}")
    for path in files_below(place):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(handle)


def files_below(place: Path) -> Iterator[Path]:
    return (path for path in place.rglob("*") if path.is_file())


def _mappings(place: Path) -> Iterator[tuple[int, int]]:
    root = f"{place.resolve()}/"
    for line in MAPPINGS.read_text().splitlines():
        span, _, _, _, _, *name = line.split(maxsplit=5)
        if name and name[0].startswith(root):
            start, stop = (int(x, 16) for x in span.split("-"))
            yield start, stop - start


def usual_memory() -> float:
    """Megabytes in which the system may keep an archive's pages: half of what the machine has."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / MEGA / 2


def cold_share(megabytes: float, memory: float) -> float:
    """The share of reads that go to the disk, if all pages are wanted alike.

    >>> [cold_share(size, 1_000) for size in (500, 1_000, 4_000)], cold_share(500, 0)
    ([0.0, 0.0, 0.75], 1.0)
    """
    return max(0.0, 1 - memory / megabytes) if megabytes > 0 else 0.0
