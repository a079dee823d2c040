"""An object of which parts are here: those that somebody has needed.

The file has its whole length and no bytes at first; a part that is fetched is written into it where
it belongs, through the same memory that is read. Whoever reads says so first, so nothing is read
that is not here. Parts that follow each other are fetched in ever larger pieces. Once most are
here, the rest is fetched too, and the file is a copy like any other.
"""

from __future__ import annotations

import mmap
import threading
import weakref
from contextlib import suppress
from pathlib import Path

from windrow.core.thresholds import Threshold
from windrow.object_store.bucket import PIECE, Bucket, Stored
from windrow.object_store.file_cache import FileCache

CHUNK = Threshold(256 << 10, least=4096)
"""Bytes of a part."""
_REST = 4
"""A fourth of the parts is fetched without anybody needing it, if the others are here."""


class PartialFile:
    """``memory`` is the object as far as it is here, zeros elsewhere."""

    def __init__(self, bucket: Bucket, key: str, stored: Stored, cache: FileCache) -> None:
        self._bucket, self._key, self._stored, self._cache = bucket, key, stored, cache
        self._part, self._chunk = cache.new_part(), CHUNK.value
        with self._part.open("xb+") as file:
            file.truncate(stored.size)
            self.memory = mmap.mmap(file.fileno(), stored.size)
        weakref.finalize(self, _remove, self._part)
        self._here = bytearray(-(-stored.size // self._chunk))
        self._missing = len(self._here)
        self._next, self._ahead = -1, 1
        self._fetching = threading.Lock()

    def fetch(self, start: int, stop: int) -> None:
        """Have the bytes [start, stop) here."""
        with self._fetching:
            before = self._missing
            self._fetch_missing(start // self._chunk, -(-stop // self._chunk))
            if self._missing < before and self._missing * _REST <= len(self._here):
                self._fetch_missing(0, len(self._here))
                self._become_copy()

    def _fetch_missing(self, first: int, last: int) -> None:
        for chunk in range(first, last):
            if not self._here[chunk]:
                self._fetch_from(chunk)

    def _fetch_from(self, chunk: int) -> None:
        self._ahead = min(2 * self._ahead, 2 * PIECE // self._chunk) if chunk == self._next else 1
        end = chunk + 1
        while end < len(self._here) and end - chunk < self._ahead and not self._here[end]:
            end += 1
        first, last = chunk * self._chunk, min(end * self._chunk, self._stored.size)
        at = first
        for piece in self._bucket.pieces(self._key, self._stored, first, last):
            self.memory[at : at + len(piece)] = piece
            at += len(piece)
        self._here[chunk:end] = b"\1" * (end - chunk)
        self._missing -= end - chunk
        self._next = end

    def _become_copy(self) -> None:
        with suppress(OSError):  # a copy only saves time
            self.memory.flush()
            self._cache.adopt(self._bucket.where(self._key), self._stored, self._part)


def _remove(part: Path) -> None:
    with suppress(OSError):
        part.unlink(missing_ok=True)
