"""Live state beside the Python worker, so that a micro-batch need not read it back from its files.

Spark may call a bucket in another worker than last time, repeat a micro-batch after a failure, or
run one twice. So an entry is valid only if its token equals that of the committed state, which is
new for every attempt; and an entry that is taken is gone until it is put back, so an attempt that
fails half-way leaves nothing behind. Entries of queries that have ended, and of buckets that other
workers serve now, go when nobody has asked for them for a while.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")
Key = tuple[str, int, int]
"""Query run, stage, bucket."""

SECONDS = 120.0
"""How long an entry is kept that nobody asks for."""


class WorkerCache(Generic[T]):
    """Entries by key, each under a token, the longest unused first; see the module."""

    def __init__(
        self, seconds: float = SECONDS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._seconds, self._clock = seconds, clock
        self._entries: OrderedDict[Key, tuple[str, T, float]] = OrderedDict()

    def take(self, key: Key, token: str) -> T | None:
        """Remove and return the entry if it is the committed one; forget it if it is not."""
        found = self._entries.pop(key, None)
        return found[1] if found is not None and found[0] == token else None

    def has(self, key: Key, token: str) -> bool:
        """Whether the entry is here, and is the committed one."""
        found = self._entries.get(key)
        return found is not None and found[0] == token

    def put(self, key: Key, token: str, value: T) -> None:
        """Keep an entry, and forget those that nobody has asked for."""
        now = self._clock()
        self._entries.pop(key, None)
        self._entries[key] = (token, value, now)
        while self._entries and next(iter(self._entries.values()))[2] < now - self._seconds:
            self._entries.popitem(last=False)

    def __len__(self) -> int:
        return len(self._entries)
