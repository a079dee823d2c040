"""Local copies of objects, to be mapped into memory.

A copy is known by the address, the size and the tag of its object, so it is never out of date. It
is downloaded under another name, synced and renamed: what has its name is whole. Processes share
the directory. When it outgrows its bound, the copies that were not used for longest go; those that
somebody has mapped stay readable.

Of a large object parts can be here first: those that somebody has needed. The file has its whole
length and no bytes; a part that is fetched is written into it where it belongs, through the same
memory that is read. Whoever reads says so first, so nothing is read that is not here. Parts that
follow each other are fetched in ever larger pieces. Once most are here, the rest is fetched too,
and the file is a copy like any other.

An object whose name is never used twice is known by its address alone, so nobody has to ask the
store whether a copy is the right one (``NamedCopies``). What is written is a copy already. Whoever
owns the objects of a folder says which copies stay; folders that nobody has changed for a week go.

``WINDROW_CACHE_DIR`` names the directory, ``WINDROW_CACHE_BYTES`` its bound.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import shutil
import threading
import time
import uuid
import weakref
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from stat import S_ISDIR
from typing import TYPE_CHECKING, BinaryIO

from windrow.core.errors import InputError
from windrow.core.thresholds import Threshold
from windrow.object_store.bucket import PIECE, Bucket, Stored

if TYPE_CHECKING:
    from windrow.object_store.object_path import ObjectPath

BOUND = 10 << 30
_PART = ".part-"
_OLD = 24 * 3600
"""Seconds after which a part that nobody has finished is nobody's, by the times of the disk."""
CHUNK = Threshold(256 << 10, least=4096)
"""Bytes of a part."""
_REST = 4
"""A fourth of the parts is fetched without anybody needing it, if the others are here."""
_NAMED = "named"
_FORGOTTEN = 7 * 24 * 3600
"""Seconds after which the copies of a folder go that nobody has added to or taken from, and what
somebody has begun to make."""


class FileCache:
    """The copies in one directory."""

    def __init__(self, directory: Path, bound: int = BOUND) -> None:
        self.directory, self.bound = directory, bound

    def path(self, url: str, stored: Stored) -> Path:
        """Where the copy of an object is, if there is one."""
        known = f"{url}\n{stored.size}\n{stored.tag}".encode()
        return self.directory / hashlib.sha256(known).hexdigest()

    def find(self, url: str, stored: Stored) -> Path | None:
        """The copy of an object, if there is one; it counts as used now."""
        path = self.path(url, stored)
        with suppress(FileNotFoundError):
            if path.stat().st_size == stored.size:
                os.utime(path)
                return path
        return None

    def new_part(self) -> Path:
        """A name for a file that is being made."""
        self.directory.mkdir(parents=True, exist_ok=True)
        return self.directory / f"{_PART}{uuid.uuid4().hex}"

    def download(self, url: str, stored: Stored, pieces: Iterable[bytes]) -> Path:
        """Make the copy of an object from its bytes."""
        part = self.new_part()
        try:
            with part.open("xb") as file:
                for piece in pieces:
                    file.write(piece)
                file.flush()
                os.fsync(file.fileno())
            return self.adopt(url, stored, part)
        finally:
            part.unlink(missing_ok=True)

    def adopt(self, url: str, stored: Stored, part: Path) -> Path:
        """Let a file that has an object's bytes be its copy; older ones make room."""
        path = self.path(url, stored)
        part.replace(path)
        self._make_room(path)
        return path

    def discard(self, url: str, stored: Stored) -> None:
        """Forget a copy."""
        self.path(url, stored).unlink(missing_ok=True)

    def _make_room(self, newest: Path) -> None:
        files = []
        for path in self.directory.iterdir():
            with suppress(FileNotFoundError):
                status = path.stat()
                if S_ISDIR(status.st_mode):  # of copies that others look after
                    continue
                size = min(status.st_size, 512 * status.st_blocks)  # some have holes
                files.append((status.st_mtime, size, path))
        files.sort()
        total = sum(size for _, size, _ in files)
        now = max(used for used, _, _ in files) if files else 0.0
        for used, size, path in files:
            part = path.name.startswith(_PART)
            if (part and now - used < _OLD) or path == newest:
                continue
            if part or total > self.bound:
                path.unlink(missing_ok=True)
                total -= size


def default_cache() -> FileCache:
    """The cache that the environment names, in the user's directory for such if it names none."""
    named = os.environ.get("WINDROW_CACHE_DIR")
    home = os.environ.get("XDG_CACHE_HOME")
    base = Path(home) if home else Path.home() / ".cache"
    return FileCache(Path(named) if named else base / "windrow" / "objects", _bound())


def _bound() -> int:
    text = os.environ.get("WINDROW_CACHE_BYTES", str(BOUND))
    if not text.isascii() or not text.isdigit():
        raise InputError(
            where="WINDROW_CACHE_BYTES",
            expected="a number of bytes",
            found=repr(text),
            remedy="set it to a number, or unset it",
        )
    return int(text)


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


class NamedCopies(FileCache):
    """Of the objects right below one folder."""

    def __init__(self, folder: ObjectPath) -> None:
        root = default_cache().directory / _NAMED
        _forget_old(root)
        super().__init__(root / hashlib.sha256(str(folder).encode()).hexdigest()[:32])
        self.folder = folder

    def path(self, url: str, stored: Stored) -> Path:
        """By its name; ``stored`` does not matter."""
        return self.directory / url.rpartition("/")[2]

    def find_named(self, name: str) -> Path | None:
        """The copy of an object, if there is one."""
        path = self.directory / name
        return path if path.exists() else None

    def write(self, name: str, fill: Callable[[BinaryIO], object]) -> None:
        """Put an object under a name that nobody else has; its bytes are a copy."""
        part, target = self.new_part(), self.folder / name
        try:
            with part.open("xb") as file:
                fill(file)
            target.bucket.put(target.key, part)
            part.replace(self.directory / name)
        finally:
            part.unlink(missing_ok=True)

    def forget(self, name: str) -> None:
        """Do without the copy of an object."""
        (self.directory / name).unlink(missing_ok=True)

    def keep_only(self, names: Collection[str]) -> None:
        """Forget all copies but these, and what is being made."""
        with suppress(FileNotFoundError):
            for path in self.directory.iterdir():
                if path.name not in names and not (_is_part(path) and not _is_forgotten(path)):
                    path.unlink(missing_ok=True)

    def _make_room(self, newest: Path) -> None:
        """``keep_only`` says what goes."""


def _is_part(path: Path) -> bool:
    return path.name.startswith(".")


def _is_forgotten(path: Path) -> bool:
    return path.stat().st_mtime < time.time() - _FORGOTTEN


@lru_cache(maxsize=8)
def _forget_old(root: Path) -> None:
    """Once in a process."""
    with suppress(FileNotFoundError):
        for folder in root.iterdir():
            if _is_forgotten(folder):
                shutil.rmtree(folder, ignore_errors=True)
