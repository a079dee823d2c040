"""A file that is only ever appended to, as objects: pieces of it, each named by where it begins.

What is appended is put under a name that must not be taken, so of two that go on from the same end
one is told. When there are many pieces, the last ones are merged: the first of them is replaced by
all, and then the others go. Since each piece is more than twice as long as the next one that has
been merged, a byte is put as often as the logarithm of the length says, and few pieces are read.

Whoever stops between leaves pieces that begin where none should; they are passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from windrow.core.thresholds import Threshold
from windrow.object_store.bucket import Bucket, Stored
from windrow.object_store.errors import StoreError
from windrow.object_store.object_path import replace_object

MANY = Threshold(32, least=1)
"""Pieces at which some are merged."""


@dataclass(frozen=True)
class Piece:
    """The bytes [start, stop), and the tag of their object."""

    start: int
    stop: int
    tag: str

    @property
    def size(self) -> int:
        return self.stop - self.start


class AppendedFile:
    """The pieces of one file, in a folder of their own."""

    def __init__(self, bucket: Bucket, folder: str, stored: Mapping[str, Stored]) -> None:
        """``stored`` are the objects of the folder."""
        self._bucket, self._folder = bucket, folder
        self._pieces: list[Piece] = []
        for name in sorted(stored):
            start = int(name)
            if start == self.size:
                self._pieces.append(Piece(start, start + stored[name].size, stored[name].tag))
            elif start > self.size:
                raise StoreError(
                    where=bucket.where(folder),
                    expected=f"a piece that begins with byte {self.size}",
                    found=f"the next begins with byte {start}",
                    remedy="restore the objects of this folder from a copy",
                )

    @property
    def size(self) -> int:
        """How many bytes there are."""
        return self._pieces[-1].stop if self._pieces else 0

    def read(self, start: int = 0) -> bytes:
        """Its bytes from ``start`` on."""
        pieces = [piece for piece in self._pieces if piece.stop > start]
        data = b"".join(self._bucket.get(self._key(piece.start)) for piece in pieces)
        return data[start - pieces[0].start :] if pieces else b""

    def append(self, data: bytes) -> bool:
        """Put bytes behind those that are there; False if another has done so."""
        start = self.size
        tag = replace_object(self._bucket, self._key(start), data, None)
        if tag is None:
            return False
        self._pieces.append(Piece(start, start + len(data), tag))
        return True

    def merge(self, read: Callable[[int, int], bytes]) -> bool:
        """Merge the last pieces if there are many; False if another has. ``read`` has the bytes."""
        if len(self._pieces) <= MANY.value:
            return True
        last = len(self._pieces) - 1
        while last and self._pieces[last - 1].size <= 2 * (self.size - self._pieces[last].start):
            last -= 1
        first, gone = self._pieces[last], self._pieces[last + 1 :]
        data = read(first.start, self.size)
        tag = replace_object(self._bucket, self._key(first.start), data, first.tag)
        if tag is None:
            return False
        self._pieces[last:] = [Piece(first.start, self.size, tag)]
        for piece in gone:
            self._bucket.delete(self._key(piece.start))
        return True

    def _key(self, start: int) -> str:
        return f"{self._folder}/{start:016d}"
