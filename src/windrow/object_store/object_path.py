"""An address in an object store, for code that works with paths.

``ObjectPath("s3://bucket/out") / "x.json"`` has the methods of a path that reading and writing
results needs; whatever would take it for a path of this machine gets an error. The objects of a
"directory" are those right below it. It knows no client: that is found by the name of the bucket.

A text is *replaced*: it is put if what is there is still what has been read, or if there still is
nothing. So of two that go by what they have read, one is told.

A directory of this machine may stand for a place in an object store (`shared_place`). The driver of
a run works on such a copy of its checkpoint (``windrow.spark.checkpoint.working_copy``). What other
processes read and write, state and results and pushed rows, is in the store itself. Of any other
directory that is the directory.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Generator
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path, PosixPath
from typing import Any

from windrow.core.paths import is_object_url, object_url
from windrow.object_store.bucket import Bucket
from windrow.object_store.errors import StoreError
from windrow.object_store.local_copies import default_cache

_ATTEMPTS = 3
_RECENT = 1000


class _Read(threading.local):
    """The tags of what this thread has read last, by address, as long as they are recent."""

    def __init__(self) -> None:
        self.tags: dict[str, str] = {}

    def note(self, address: str, tag: str | None) -> None:
        """None: there is nothing."""
        self.tags.pop(address, None)
        if tag is not None:
            self.tags[address] = tag
        if len(self.tags) > _RECENT:
            del self.tags[next(iter(self.tags))]


_read = _Read()


class ObjectPath(PosixPath):
    """See the module."""

    __slots__ = ()

    def __str__(self) -> str:
        return "s3://" + "/".join(self.parts[1:])

    def __repr__(self) -> str:
        return f"ObjectPath('{self}')"

    def __fspath__(self) -> str:
        raise TypeError(f"{self} is no path of this machine")

    @property
    def bucket(self) -> Bucket:
        return _bucket(self.parts[1], os.environ.get("AWS_ENDPOINT_URL", ""))

    @property
    def key(self) -> str:
        return "/".join(self.parts[2:])

    def absolute(self) -> ObjectPath:
        return self

    def mkdir(self, *_: Any, **__: Any) -> None:
        """There are no directories."""

    def is_dir(self, *_: Any, **__: Any) -> bool:
        return False

    def exists(self, *_: Any, **__: Any) -> bool:
        try:
            self.bucket.head(self.key)
        except FileNotFoundError:
            _read.note(str(self), None)
            return False
        return True

    def is_file(self, *_: Any, **__: Any) -> bool:
        return self.exists()

    def read_bytes(self) -> bytes:
        _read.note(str(self), None)
        data, tag = self.bucket.get_tagged(self.key)
        _read.note(str(self), tag)
        return data

    def read_text(self, *_: Any, **__: Any) -> str:
        return self.read_bytes().decode()

    @property
    def tag_read(self) -> str | None:
        """The tag of what this thread has read last; None if nothing was there, or nobody read."""
        return _read.tags.get(str(self))

    def replace_text(self, text: str, tag: str | None) -> bool:
        """Put a text over what has that tag, or where there is nothing; whether it is there.

        No other writer ever has the same text. It counts as read.
        """
        new = replace_object(self.bucket, self.key, text.encode(), tag)
        if new is not None:
            _read.note(str(self), new)
        return new is not None

    def upload(self, fill: Callable[[Path], object]) -> None:
        """Let ``fill`` write a file of this machine, and put it."""
        part = default_cache().new_part()
        try:
            fill(part)
            self.bucket.put(self.key, part)
        finally:
            part.unlink(missing_ok=True)

    def local_copy(self) -> Path:
        """A file of this machine with the same bytes, which is only to be read."""
        cache, stored = default_cache(), self.bucket.head(self.key)
        found = cache.find(str(self), stored)
        if found is not None:
            return found
        return cache.download(str(self), stored, self.bucket.pieces(self.key, stored))

    def objects_below(self) -> list[ObjectPath]:
        """All objects whose addresses begin with this one, however deep."""
        return [self / key for key in self.bucket.list_below(self.key)]

    def rename(self, target: Any) -> ObjectPath:
        """Copy, then delete: whoever stops between leaves both."""
        self.bucket.copy(self.key, target.key)
        self.unlink()
        return ObjectPath(target)

    def unlink(self, missing_ok: bool = False) -> None:
        self.bucket.delete(self.key)
        _read.note(str(self), None)

    def iterdir(self) -> Generator[ObjectPath, None, None]:
        for name in self.bucket.list_folder(self.key):
            yield self / name

    def glob(self, pattern: str) -> Generator[ObjectPath, None, None]:
        """Objects by their names, or by those of folders too; ``**`` is not known."""
        parts = pattern.split("/")
        below = self.bucket.list_folder if len(parts) == 1 else self.bucket.list_below
        for key in below(self.key):
            names = key.split("/")
            if len(names) == len(parts) and all(map(fnmatchcase, names, parts)):
                yield self / key


def path_of(place: str | os.PathLike[str]) -> Path:
    """A path, of this machine or in an object store."""
    if isinstance(place, ObjectPath):
        return place
    return ObjectPath(object_url(place)) if is_object_url(place) else Path(place)


def readable_path(path: Path) -> Path:
    """A file of this machine that can be read and mapped: itself, or a copy of the object."""
    return path.local_copy() if isinstance(path, ObjectPath) else path


def replace_object(bucket: Bucket, key: str, data: bytes, tag: str | None) -> str | None:
    """Put an object over the one that has that tag, or where there is none; its tag if it is there.

    What got no answer is repeated, to know whether it was heard.
    """
    for attempt in range(_ATTEMPTS):
        try:
            return bucket.put_new(key, data) if tag is None else bucket.replace(key, data, tag)
        except StoreError as error:
            if not error.uncertain or attempt == _ATTEMPTS - 1:
                raise
    raise AssertionError("the last attempt has returned or raised")


@lru_cache(maxsize=64)
def _bucket(name: str, _endpoint: str) -> Bucket:
    return Bucket(f"s3://{name}")


STORE = ".windrow.store"
"""In a working copy: the address of what it is a copy of."""
NOTES = "notes"
"""There, the folder of what is in the copy."""


def shared_place(root: Path) -> Path:
    """Where others find what is theirs, of a directory that may be a working copy."""
    if isinstance(root, ObjectPath):
        return root
    try:
        return path_of((root / STORE).read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return root


def shared_directory(directory: Path) -> Path:
    """The same for a directory right below it."""
    return shared_place(directory.parent) / directory.name


def address_of(path: Path) -> str:
    """What to call a file or a directory that may be in a working copy: where it really is."""
    for root in () if isinstance(path, ObjectPath) else path.parents:
        place = shared_place(root)
        if place != root:
            return str(place / NOTES / path.relative_to(root))
    return str(shared_place(path))
