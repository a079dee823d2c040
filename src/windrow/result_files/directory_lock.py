"""One writer per directory: a lock that the kernel takes back when the process ends, however.

A lock is a file in the directory, locked by ``flock``; its text says who has it, and its time since
when. Locks belong to an open file: a child that is executed does not inherit it, one that is only
forked closes its copy. So nobody prolongs a lock but the process that took it, and a child that is
given its handle because it writes there too: a run's virtual machine takes a moment to notice that
the run was killed. Whoever comes then waits for it to end.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shlex
import socket
import sys
import time
import weakref
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from windrow.core.errors import InputError, StateError
from windrow.object_store.object_path import ObjectPath

LOCK = ".windrow.lock"
LONGEST = 200
"""Characters of a command that are shown."""
PATIENCE = 60.0
"""Seconds in which processes should end that a run which was killed has left behind."""

_held: weakref.WeakSet[Lock] = weakref.WeakSet()


class Lock:
    """A directory that is this process's to write in, until ``release`` or its end."""

    def __init__(self, directory: Path, where: str) -> None:
        """Take it; ``where`` is what messages call the directory."""
        self.directory = directory
        self.handle = _open_lock(directory, where)
        try:
            _take(self.handle, directory / LOCK, where)
        except BaseException:
            os.close(self.handle)
            raise
        self._close: weakref.finalize[..., Lock] = weakref.finalize(self, os.close, self.handle)
        _held.add(self)
        os.truncate(self.handle, 0)
        os.pwrite(self.handle, json.dumps(process_description()).encode(), 0)

    def release(self) -> None:
        """Let others write there. The file stays, since others may be about to lock it."""
        if self._close.alive:
            with suppress(OSError):
                fcntl.flock(self.handle, fcntl.LOCK_UN)  # also for a child that has the handle
            self._close()

    @property
    def is_held(self) -> bool:
        return self._close.alive

    def forget(self) -> None:
        """Close the handle here; whoever else has it holds the directory as before."""
        self._close()


@contextmanager
def handles_for_child() -> Iterator[tuple[int, ...]]:
    """Handles of all locks of this process, to be passed to a child that writes under them.

    They are copies: the child closes the locks' own between fork and exec.
    """
    copies = tuple(os.dup(lock.handle) for lock in _held if lock.is_held)
    try:
        yield copies
    finally:
        for handle in copies:
            os.close(handle)


def _take(handle: int, path: Path, where: str) -> None:
    end = time.monotonic() + PATIENCE
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                raise StateError(
                    where=where,
                    expected="a file system that locks files, so that only one run writes there",
                    found=os.strerror(error.errno or 0),
                    remedy="choose a directory on a local disk, or on a share that supports locks",
                ) from error
            if not _left_behind(path) or time.monotonic() > end:
                raise _refusal(path, where) from None
            time.sleep(0.1)
        else:
            return


def _refusal(path: Path, where: str) -> StateError:
    remedy = "stop that run or wait until it ends, or give this one another directory"
    if _left_behind(path):
        left = ", ".join(map(str, _holders(path))) or "unknown"
        remedy = f"stop the process that it left behind ({left}), which has not ended by itself"
    return StateError(
        where=where,
        expected="no other run that uses the directory",
        found=_holder(path),
        remedy=remedy,
    )


def _left_behind(path: Path) -> bool:
    """Whether the process that took the lock is dead, so that a child of it must have it."""
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
        if known["host"] != socket.gethostname():
            return False
        os.kill(int(known["pid"]), 0)
    except ProcessLookupError:
        return True
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return False


def _holders(path: Path) -> list[int]:
    """The processes that have the file open, where the kernel tells."""
    found = set()
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        with suppress(OSError):
            if link.readlink() == path.absolute():
                found.add(int(link.parts[2]))
    return sorted(found - {os.getpid()})


def _forget_in_child() -> None:
    for lock in list(_held):
        lock.forget()


os.register_at_fork(after_in_child=_forget_in_child)


def lock_directory(directory: Path, where: str) -> Lock:
    """Hold a directory, also one in an object store."""
    if isinstance(directory, ObjectPath):
        from windrow.result_files.bucket_lock import BucketLock  # noqa: PLC0415 - seldom needed

        return BucketLock(directory, where)
    return Lock(directory, where)


@contextmanager
def hold_directories(directories: Iterable[tuple[Path, str]]) -> Iterator[list[Lock]]:
    """Hold directories for a while, each under what messages call it; all of them or none."""
    with ExitStack() as stack:
        locks = []
        for directory, where in directories:
            locks.append(lock := lock_directory(directory, where))
            stack.callback(lock.release)
        yield locks


@contextmanager
def publishing(directory: Path) -> Iterator[None]:
    """Publish or clear up in a directory while no other process does.

    A process that a killed run has left behind may be in the middle of a commit when the next run
    clears up, or commits the same micro-batch: whoever comes second finds the first one's work
    done, and not half of it. It waits, since a commit takes as long as the disk does.
    """
    with ExitStack() as stack:
        if isinstance(directory, ObjectPath):  # where what is published replaces what was read
            yield
            return
        with suppress(FileNotFoundError):  # then there is nothing to be in the middle of
            handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            stack.callback(os.close, handle)
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _open_lock(directory: Path, where: str) -> int:
    try:
        directory.mkdir(parents=True, exist_ok=True)
        return os.open(directory / LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise InputError(
            where=where,
            expected="a writable directory, or a path where one can be created",
            found="a file" if isinstance(error, FileExistsError) else str(error),
            remedy="name another place",
        ) from error


def process_description() -> dict[str, object]:
    """This process, for whoever finds its lock."""
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
        return "one that has just started"
    if (pid, host) == (os.getpid(), socket.gethostname()):
        return "another run or connection of this process"
    start = datetime.fromtimestamp(since, UTC).astimezone().isoformat(" ", "seconds")
    return f"process {pid} on {host}, `{command}`, running since {start}"
