"""One writer per directory: a lock that the kernel takes back when the process ends, however.

A lock is a file in the directory, locked by ``flock``; its text says who has it, and its time since
when. Locks belong to an open file: a child that is executed does not inherit it, one that is only
forked closes its copy, so nobody prolongs a lock but the process that took it.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shlex
import socket
import sys
import weakref
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path

from windrow.core.errors import InputError, StateError

LOCK = ".windrow.lock"
LONGEST = 200
"""Characters of a command that are shown."""

_held: weakref.WeakSet[Lock] = weakref.WeakSet()


class Lock:
    """A directory that is this process's to write in, until ``release`` or its end."""

    def __init__(self, directory: Path, where: str) -> None:
        """Take it; ``where`` is what messages call the directory."""
        path = directory / LOCK
        self.directory = directory
        handle = _opened(directory, where)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(handle)
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                raise StateError(
                    where=where,
                    expected="no other run that writes there",
                    found=_holder(path),
                    remedy="stop that run or wait for its end, or give this one another directory",
                ) from None
            raise StateError(
                where=where,
                expected="a file system that locks files, so that only one run writes there",
                found=os.strerror(error.errno or 0),
                remedy="choose a directory on a local disk, or on a share that is mounted so",
            ) from error
        self.release = weakref.finalize(self, os.close, handle)
        """Lets others write there. The file stays, since others may be about to lock it."""
        _held.add(self)
        os.truncate(handle, 0)
        os.pwrite(handle, json.dumps(_self()).encode(), 0)


def _forget_in_child() -> None:
    for lock in list(_held):
        lock.release()  # closes the copy; the parent has its lock as before


os.register_at_fork(after_in_child=_forget_in_child)


@contextmanager
def locked(directories: Iterable[tuple[Path, str]]) -> Iterator[list[Lock]]:
    """Hold directories for a while, each under what messages call it; all of them or none."""
    with ExitStack() as stack:
        locks = []
        for directory, where in directories:
            locks.append(lock := Lock(directory, where))
            stack.callback(lock.release)
        yield locks


def _opened(directory: Path, where: str) -> int:
    try:
        directory.mkdir(parents=True, exist_ok=True)
        return os.open(directory / LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise InputError(
            where=where,
            expected="a directory that can be written to, there or to be made",
            found="a file" if isinstance(error, FileExistsError) else str(error),
            remedy="name another place",
        ) from error


def _self() -> dict[str, object]:
    name, *arguments = sys.argv or [""]
    command = shlex.join([Path(name).name or "python", *arguments])
    shown = command if len(command) <= LONGEST else f"{command[:LONGEST]}..."
    return {"pid": os.getpid(), "host": socket.gethostname(), "command": shown}


def _holder(path: Path) -> str:
    """Who has the lock, as far as its file says."""
    try:
        text, since = path.read_text(encoding="utf-8"), path.stat().st_mtime
        known = json.loads(text)
        pid, host, command = known["pid"], known["host"], known["command"]
    except (OSError, ValueError, KeyError, TypeError):
        return "one that has just begun"
    if (pid, host) == (os.getpid(), socket.gethostname()):
        return "another run or connection of this process"
    start = datetime.fromtimestamp(since, UTC).astimezone().isoformat(" ", "seconds")
    return f"process {pid} on {host}, `{command}`, at work since {start}"
