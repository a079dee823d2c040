"""Which task does which share of the buckets: the one whose worker has their state in memory.

Spark gives the tasks of a stage to whatever Python workers are idle, so in every second micro-batch
two workers would change places and load each other's state from its files. A task that reads its
input itself can do any share. On one machine the tasks of a micro-batch therefore divide the shares
among themselves: each claims one that its worker has, and only then one that it has not. A claim is
a file that can be made once.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

PATIENCE = 0.004
"""Seconds that a task without state in memory leaves the choice to others."""


@dataclass(frozen=True)
class ShareClaims:
    """The claims of one attempt at a micro-batch, in a directory that all its tasks see."""

    directory: str
    attempt: str

    def take(self, task: int, shares: int, has: Callable[[int], bool]) -> int:
        """A share for a task; ``has`` says which are in memory here. A task that is repeated, and
        so finds all of them taken, gets the one that it had."""
        mine = [share for share in range(shares) if has(share)]
        if not mine:
            time.sleep(PATIENCE)
        for share in (*mine, *(s for s in range(shares) if s not in mine)):
            if self._claim(share, task):
                return share
        return next(s for s in range(shares) if self._path(s).read_text() == str(task))

    def _claim(self, share: int, task: int) -> bool:
        try:
            handle = os.open(self._path(share), os.O_CREAT | os.O_EXCL | os.O_WRONLY)
        except FileExistsError:
            return False
        with os.fdopen(handle, "w") as file:
            file.write(str(task))
        return True

    def _path(self, share: int) -> Path:
        return Path(self.directory) / f"claim-{self.attempt}-{share}"
