"""Whether a cache is cold: which share of files the system has in memory.

What makes it cold is the product's own (`windrow.archive.advise.cold_cache`).
"""

from __future__ import annotations

import ctypes
import mmap
from pathlib import Path

from windrow.archive.advise.cold_cache import evict, files_below

__all__ = ["evict", "resident_share"]

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]


def resident_share(place: Path) -> float:
    """Which share of the files below a directory is in memory."""
    held = pages = 0
    for path in files_below(place):
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
