"""Files that are there whole or not at all, whatever dies between.

Every operation on the disk that publishes something is a function here, so that a test can stop
after any of them. The order is always the same: a file is written under a hidden name and synced,
it gets its own name, the directory is synced; only then another file may speak of it.

In an object store a file is put as a whole, durably. What is published there replaces what was
read, and nothing else: whoever has lost the directory is told.
"""

from __future__ import annotations

import json
import os
import shutil
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from windrow.core.errors import StateError
from windrow.object_store.object_path import ObjectPath, readable_path

T = TypeVar("T")


def write(path: Path, fill: Callable[[Path], object], *, synced: bool = True) -> None:
    """Let ``fill`` write a file, and wait until its bytes are on the disk; nothing if it fails.

    One that is not ``synced`` here has to be before it gets its name: who writes many waits for all
    of them at once, which takes a disk little more than one.
    """
    if isinstance(path, ObjectPath):
        path.upload(fill)
        return
    try:
        fill(path)
        if synced:
            _sync(path, os.O_RDONLY)
    except Exception:
        path.unlink(missing_ok=True)
        raise


def sync(path: Path) -> None:
    """Wait until the bytes of a file are on the disk."""
    if not isinstance(path, ObjectPath):
        _sync(path, os.O_RDONLY)


def rename(path: Path, new: Path) -> None:
    """Give a file its name; what had that name before is replaced."""
    if isinstance(path, ObjectPath):
        path.rename(new)
    else:
        path.replace(new)


def delete(path: Path) -> None:
    """Remove a file; one that is gone already is no error."""
    path.unlink(missing_ok=True)


def move_away(path: Path, target: Path) -> None:
    """Move a file to another directory, wherever both are."""
    if isinstance(target, ObjectPath):
        target.bucket.put(target.key, readable_path(path))
        path.unlink()
    elif isinstance(path, ObjectPath):
        target.write_bytes(path.read_bytes())
        _sync(target, os.O_RDONLY)
        path.unlink()
    else:
        shutil.move(path, target)


def sync_names(directory: Path) -> None:
    """Wait until it is on the disk which names there are in a directory."""
    if not isinstance(directory, ObjectPath):
        _sync(directory, os.O_RDONLY | os.O_DIRECTORY)


def _sync(path: Path, flags: int) -> None:
    handle = os.open(path, flags)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class ReplacedError(StateError):
    """Another process has published under the same name since this one has read what was there."""


def version_read(path: Path) -> str | None:
    """Which version of a published file this thread has read last, where versions are known."""
    return path.tag_read if isinstance(path, ObjectPath) else None


def publish(path: Path, text: str, over: str | None = None) -> None:
    """Write a small file under a hidden name, sync it, and give it its own.

    ``over`` is the version that it replaces, where versions are known.
    """
    if isinstance(path, ObjectPath):
        if not path.replace_text(text, over):
            raise ReplacedError(
                where=str(path),
                expected="what this process has read there",
                found="something else, which another process has put there since",
                remedy="another run has taken the place over, or compacts it: read it again",
            )
        return
    hidden = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    write(hidden, lambda new: new.write_text(text, encoding="utf-8"))
    rename(hidden, path)
    sync_names(path.parent)


def publish_new(path: Path, text: str) -> bool:
    """Publish a small file unless there is one of that name; whether it is this one."""
    if isinstance(path, ObjectPath):
        return path.replace_text(text, None)
    hidden = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    write(hidden, lambda new: new.write_text(text, encoding="utf-8"))
    try:
        os.link(hidden, path)
    except FileExistsError:
        delete(hidden)
        return False
    except OSError:  # a file system without links
        rename(hidden, path)
    else:
        delete(hidden)
    sync_names(path.parent)
    return True


_READ: dict[Path, tuple[tuple[int, ...], Any]] = {}
READ_AT_MOST = 4096
"""Records that are remembered."""


def read_once(path: Path, read: Callable[[], T]) -> T:
    """What ``read`` makes of a published file, which is read again when another takes its place.

    A publication is a new file: its number or its times differ. In an object store it is read.
    """
    if isinstance(path, ObjectPath):
        return read()
    found = path.stat()
    mark = (found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size)
    known = _READ.get(path)
    if known is None or known[0] != mark:
        if len(_READ) >= READ_AT_MOST:
            _READ.clear()
        known = _READ[path] = (mark, read())
    value: T = known[1]
    return value


def read_record(path: Path, what: str, made: Callable[[Any], T], *, remedy: str) -> T:
    """What ``made`` makes of the JSON of a published file; StateError if either fails."""
    try:
        return made(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError, KeyError) as error:
        raise StateError(
            f"{what} is damaged",
            where=str(path),
            expected="a valid record",
            found=str(error),
            remedy=remedy,
        ) from error
