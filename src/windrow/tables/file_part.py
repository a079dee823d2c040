"""A part of a file: from where to where it is read, what stands before it, and its bytes.

A file that grows is read in several parts. A part of a text file starts where the one before it
ended, so that the rows of all parts are the rows of the file, each once. A compressed file is
unpacked as it is read; what is unpacked is never held, so reading a block takes the memory of the
block, whatever the file would unpack to. A file that cannot be read at all is explained here too.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import FileIO
from pathlib import Path

import pyarrow as pa

from windrow.core.errors import InputError
from windrow.core.file_formats import is_compressed
from windrow.core.thresholds import Threshold

Read = Callable[[int], bytes]
"""Gives the next bytes, at most so many; none at the end."""
BLOCK = 4 << 20
BLOCKS_IN_SILENCE = 16
LOOKED_AT = Threshold(1 << 12, least=1)
"""Bytes at the end of a block in which the end of a line is looked for."""
BY_FORMAT = "check that the file is whole and that FORMAT names what it is"
BY_NAME = "check that the file is whole and that its name ends in its format"


@dataclass(frozen=True)
class Part:
    """Bytes from ``start`` up to ``stop`` (None: to the end), after ``row`` rows of the file.

    ``inside`` says that it starts within a row that has been dealt with (``windrow.tables.chunks``
    knows what the number means). ``final``: what stands after the last newline is a row too; if
    not, it waits for its newline. Compressed and Parquet files are read whole, whatever it says.
    """

    start: int = 0
    row: int = 0
    inside: int = 0
    stop: int | None = None
    final: bool = False


WHOLE = Part(final=True)
"""All of a file that is known to be complete."""


@contextmanager
def open_part(path: Path, part: Part) -> Iterator[Read]:
    """A function that gives the next bytes of the part; of a compressed file all there are."""
    if is_compressed(path):
        with pa.input_stream(str(path), compression="detect") as stream:
            yield stream.read
        return
    with path.open("rb", buffering=0) as file:
        file.seek(part.start)
        yield _WholeLines(file, part.start, part.stop)


class _WholeLines:
    """Bytes up to ``stop``, and no more even if the file has grown meanwhile.

    A large block ends with a line if one ends shortly before: then it is a chunk of whole rows as
    it is, and need not be put together with what is left of the block before.
    """

    def __init__(self, file: FileIO, at: int, stop: int | None) -> None:
        self._file, self._at, self._stop = file, at, stop

    def __call__(self, size: int) -> bytes:
        if self._stop is not None:
            size = max(min(size, self._stop - self._at), 0)
        if size > 2 * LOOKED_AT.value:
            self._file.seek(self._at + size - LOOKED_AT.value)
            end = self._file.read(LOOKED_AT.value).rfind(b"\n") + 1
            self._file.seek(self._at)
            size -= LOOKED_AT.value - end if end else 0
        block = self._file.read(size)
        self._at += len(block)
        return block


def unpack(path: Path) -> Iterator[None]:
    """Go through a compressed file; OSError if it ends early or is damaged.

    Gives way now and then, so that whoever waits can stop waiting.
    """
    with open_part(path, Part()) as read:
        blocks = 0
        while read(BLOCK):
            blocks += 1
            if blocks % BLOCKS_IN_SILENCE == 0:
                yield


@contextmanager
def explain_unreadable(path: Path, expected: str, remedy: str = BY_NAME) -> Iterator[None]:
    """Turns what the file system, Arrow or a decompressor refuses into an InputError."""
    try:
        yield
    except (OSError, pa.ArrowException, EOFError, zlib.error) as error:
        raise InputError(
            where=str(path),
            expected=expected,
            found=str(error).splitlines()[0] if str(error) else type(error).__name__,
            remedy=remedy,
        ) from error
