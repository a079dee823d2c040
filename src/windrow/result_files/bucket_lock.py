"""One writer per directory of results in an object store.

The lock is an object with signs of life (``object_store/bucket_leases.py``). Whoever finds one
waits until its holder gives a sign, and is refused, or has given none for a minute. On the machine
where the holder ran it is known at once whether it still does.

A holder that was suspended may lose its lock unnoticed. It does no harm: what it publishes replaces
only what it has read, and its files have names that nobody else has.
"""

from __future__ import annotations

import json
import os
import weakref
from contextlib import suppress
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from windrow.core.errors import StateError
from windrow.object_store.bucket import Bucket
from windrow.object_store.bucket_leases import BucketLeases
from windrow.object_store.object_path import ObjectPath
from windrow.result_files.directory_lock import LOCK, Lock, process_description

SIGNS = "_signs"
"""A folder that readers of directories leave out."""
_taken: set[str] = set()
"""The directories that this process holds."""


class BucketLock(Lock):
    """A place that is this process's to write in, until ``release`` or its end."""

    def __init__(self, directory: ObjectPath, where: str) -> None:  # no handle of a file
        self.directory, self.handle = directory, -1
        bucket = Bucket(str(directory))
        bucket.require_put_if_absent()
        if str(directory) in _taken:
            raise _refusal(where, "another run or connection of this process")
        leases = BucketLeases(bucket, signs=SIGNS)
        number = _take(bucket, leases, where)
        _taken.add(str(directory))
        let_go = partial(_release, leases, number, str(directory), os.getpid())
        self._close: weakref.finalize[..., Lock] = weakref.finalize(self, let_go)

    def release(self) -> None:
        """Let others write there."""
        self._close()

    def forget(self) -> None:
        """A fork has only a copy."""
        self._close.detach()


def _take(bucket: Bucket, leases: BucketLeases, where: str) -> int:
    text = json.dumps({**process_description(), "machine": _machine()})
    for _ in range(3):  # others may be about to take it as well
        number = leases.take(LOCK, text)
        if number is not None:
            return number
        holder = _holder(bucket)
        if not _has_ended(holder) and not leases.is_abandoned_now(LOCK):
            break
        bucket.delete(LOCK)
    raise _refusal(where, _description(_holder(bucket)))


def _release(leases: BucketLeases, number: int, directory: str, owner: int) -> None:
    if owner == os.getpid():
        leases.release(number)
    _taken.discard(directory)


def _refusal(where: str, found: str) -> StateError:
    return StateError(
        where=where,
        expected="no other run that uses the directory",
        found=found,
        remedy="stop that run or wait until it ends, or give this one another directory",
    )


def _holder(bucket: Bucket) -> dict[str, Any]:
    with suppress(FileNotFoundError, ValueError, UnicodeDecodeError):
        known = json.loads(bucket.get(LOCK).decode().partition("\n")[2])
        return known if isinstance(known, dict) else {}
    return {}


def _has_ended(holder: dict[str, Any]) -> bool:
    """Whether the holder ran on this machine and is dead."""
    if not holder or holder.get("machine") != _machine():
        return False
    try:
        os.kill(int(holder["pid"]), 0)
    except ProcessLookupError:
        return True
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return False


def _description(holder: dict[str, Any]) -> str:
    try:
        return f"process {holder['pid']} on {holder['host']}, `{holder['command']}`"
    except KeyError:
        return "one that has just started"


@lru_cache(maxsize=1)
def _machine() -> str:
    """What processes that see each other's numbers have in common, and no others."""
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    return f"unknown {os.urandom(16).hex()}"
