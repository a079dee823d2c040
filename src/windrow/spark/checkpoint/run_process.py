"""The process that has a checkpoint, or had it last, as its lock says; the lock is not touched."""

from __future__ import annotations

import json
import os
import socket
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from windrow.object_store.object_path import ObjectPath
from windrow.object_store.shared_place import shared_place
from windrow.result_files.directory_lock import LOCK

START = 19
"""Of what ``/proc/<pid>/stat`` says after the name of the process, where its start is."""


@dataclass(frozen=True)
class RunProcess:
    """``since`` is in microseconds since 1970; on another machine nobody knows if it is alive."""

    pid: int
    host: str
    command: str
    since: int
    alive: bool | None


def run_process(checkpoint: Path) -> RunProcess | None:
    """None if nobody has had the checkpoint, or the lock cannot be read."""
    try:
        text, since = _lock(shared_place(checkpoint) / LOCK)
        known = json.loads(text)
        pid, host, command = int(known["pid"]), str(known["host"]), str(known["command"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    alive = _is_alive(pid, since) if host == socket.gethostname() else None
    return RunProcess(pid, host, command, int(since * 1e6), alive)


def _lock(path: Path) -> tuple[str, float]:
    """What a lock says, and since when."""
    if not isinstance(path, ObjectPath):
        return path.read_text(encoding="utf-8"), path.stat().st_mtime
    since = path.bucket.head(path.key).modified
    text = path.read_text().partition("\n")[2]  # after a line that no other lock has
    return text, 0.0 if since is None else since.timestamp()


def _is_alive(pid: int, since: float) -> bool:
    """Whether there is such a process, which may not have begun after it took the lock."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it is somebody else's
        pass
    began = _start_of(pid)
    return began is None or began <= since + 1


def _start_of(pid: int) -> float | None:
    """When a process began, in seconds since 1970, where the kernel tells."""
    with suppress(OSError, ValueError, IndexError, StopIteration):
        told = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        lines = Path("/proc/stat").read_text(encoding="utf-8").splitlines()
        booted = next(int(line.split()[1]) for line in lines if line.startswith("btime "))
        return booted + int(told[START]) / os.sysconf("SC_CLK_TCK")
    return None
