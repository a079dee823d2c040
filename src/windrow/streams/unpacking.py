"""The bytes of a text file, unpacked as they are read if the file is compressed.

What is unpacked is never held: reading a block takes the memory of the block, whatever the file
would unpack to.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from windrow.streams.chunks import Read
from windrow.streams.parts import Part

COMPRESSED = (".gz", ".zst", ".bz2", ".lz4")
"""Endings of names that tell how a file is compressed."""
BLOCK = 4 << 20
BLOCKS_IN_SILENCE = 16


def is_compressed(path: Path) -> bool:
    return path.suffix in COMPRESSED


@contextmanager
def opened(path: Path, part: Part) -> Iterator[Read]:
    """A function that gives the next bytes of the part; of a compressed file all there are."""
    if is_compressed(path):
        with pa.input_stream(str(path), compression="detect") as stream:
            yield stream.read
        return
    with path.open("rb", buffering=0) as file:
        file.seek(part.start)
        if part.stop is None:
            yield file.read
        else:
            yield _Limited(file.read, part.stop - part.start)


class _Limited:
    """So many bytes, and no more even if the file has grown meanwhile."""

    def __init__(self, read: Read, count: int) -> None:
        self._read, self._left = read, count

    def __call__(self, size: int) -> bytes:
        block = self._read(min(size, self._left)) if self._left > 0 else b""
        self._left -= len(block)
        return block


def unpack(path: Path) -> Iterator[None]:
    """Go through a compressed file; OSError if it ends early or is damaged.

    Gives way now and then, so that whoever waits can stop waiting.
    """
    with opened(path, Part()) as read:
        blocks = 0
        while read(BLOCK):
            blocks += 1
            if blocks % BLOCKS_IN_SILENCE == 0:
                yield
