"""The checksums that Hadoop keeps beside each file of a checkpoint on a local disk.

``.<name>.crc`` is a magic word, the number of bytes per checksum, and the CRC-32 of each such
stretch of the file.
"""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

MAGIC = b"crc\0"
HEADER = 8


def checksums_of(path: Path) -> Path:
    """Where the checksums of a file are."""
    return path.with_name(f".{path.name}.crc")


def damage_of(path: Path) -> str:
    """What is wrong with a file, if anything is; without checksums only whether it is there."""
    if not path.is_file():
        return "it is missing"
    beside = checksums_of(path)
    if not beside.is_file():
        return "" if path.stat().st_size else "it is empty"
    sums = beside.read_bytes()
    if not sums.startswith(MAGIC) or len(sums) < HEADER:
        return f"its checksums, {beside.name}, are damaged"
    step = struct.unpack(">i", sums[len(MAGIC) : HEADER])[0]
    expected = sums[HEADER:]
    with path.open("rb") as file:
        for at in range(0, len(expected), 4):
            stretch = file.read(step)
            if struct.pack(">I", zlib.crc32(stretch)) != expected[at : at + 4]:
                return f"it differs from its checksums after byte {at // 4 * step}"
        if file.read(1):
            return "it is longer than its checksums say"
    return ""
