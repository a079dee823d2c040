"""Local copies of objects whose names are never used twice.

Such an object is known by its address alone, so nobody has to ask the store whether a copy is the
right one. What is written is a copy already. Whoever owns the objects of a folder says which copies
stay; folders that nobody has changed for a week go.
"""

from __future__ import annotations

import hashlib
import shutil
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

from windrow.object_store.bucket import Stored
from windrow.object_store.local_copies import FileCache, default_cache
from windrow.object_store.object_path import ObjectPath

NAMED = "named"
OLD = 7 * 24 * 3600
"""Seconds after which the copies of a folder go that nobody has added to or taken from, and what
somebody has begun to make."""


class NamedCopies(FileCache):
    """Of the objects right below one folder."""

    def __init__(self, folder: ObjectPath) -> None:
        root = default_cache().directory / NAMED
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
                if path.name not in names and not (_is_part(path) and not _is_old(path)):
                    path.unlink(missing_ok=True)

    def _make_room(self, newest: Path) -> None:
        """``keep_only`` says what goes."""


def _is_part(path: Path) -> bool:
    return path.name.startswith(".")


def _is_old(path: Path) -> bool:
    return path.stat().st_mtime < time.time() - OLD


@lru_cache(maxsize=8)
def _forget_old(root: Path) -> None:
    """Once in a process."""
    with suppress(FileNotFoundError):
        for folder in root.iterdir():
            if _is_old(folder):
                shutil.rmtree(folder, ignore_errors=True)
