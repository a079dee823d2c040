"""How much a trigger takes: little when the streams are live, much when they are behind.

A trigger takes time by itself, so one that takes more does more per second; but results come when
it is over, and what it has read is in memory. So while there is more to read than a trigger takes,
the next one takes as much more or less as the last one was shorter or longer than the target, by a
factor of two at most, and never more than memory is meant for. Streams that are live never come to
the bound: they give what is there.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from windrow.core.thresholds import Threshold

TARGET = 2.0
"""Seconds that a trigger should take while there is a backlog."""
START = Threshold(16 * 2**20)
"""Bytes of each stream that the first trigger takes."""
LEAST, MOST = 4 * 2**20, 512 * 2**20
"""Bounds of that."""
MEMORY = Threshold(256 * 2**20)
"""Bytes, decoded, that a trigger takes of all streams; operators need about three times as much."""
A_FILE = 32 * 2**10
"""Bytes that a file counts as at least: to open one takes as long as to read so much."""


class Pace:
    """The bytes that a trigger takes of each of some streams, after each trigger."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, streams: int = 1) -> None:
        self._clock = clock
        self.limit, self.memory = START.value, MEMORY.value // max(streams, 1)
        self._began, self._full = clock(), False

    def next_trigger(self) -> None:
        """The last trigger is over, if there was one."""
        now = self._clock()
        if self._full:
            seconds = max(now - self._began, 1e-3)
            wanted = self.limit * min(max(TARGET / seconds, 0.5), 2.0)
            self.limit = int(min(max(wanted, min(LEAST, self.limit)), max(MOST, self.limit)))
        self._began, self._full = now, False

    def piece(self, tasks: int) -> int:
        """The bytes of a text that a task should get at once."""
        return max(1, self.limit // tasks)

    def was_full(self) -> None:
        """The trigger that begins has as much as it may: how long it takes says what is right."""
        self._full = True
