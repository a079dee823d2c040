"""Live state beside the Python worker, so that a micro-batch need not read it back from Spark.

Spark may call a bucket in another worker than last time, repeat a micro-batch after a failure, or
run one twice. So an entry is valid only if its token equals that of the committed manifest, which
is new for every attempt; and an entry that is taken is gone until it is put back, so an attempt
that fails half-way leaves nothing behind.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

T = TypeVar("T")
Key = tuple[str, int, int]
"""Query run, stage, bucket."""

LIMIT = 64
"""More buckets than one worker is likely to serve; beyond it the longest unused is forgotten."""


class WorkerCache(Generic[T]):
    """Entries by key, each under a token; see the module."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._entries: OrderedDict[Key, tuple[str, T]] = OrderedDict()

    def take(self, key: Key, token: str) -> T | None:
        """Remove and return the entry if it is the committed one; forget it if it is not."""
        found = self._entries.pop(key, None)
        return found[1] if found is not None and found[0] == token else None

    def put(self, key: Key, token: str, value: T) -> None:
        self._entries[key] = (token, value)
        while len(self._entries) > self._limit:
            self._entries.popitem(last=False)

    def __len__(self) -> int:
        return len(self._entries)
