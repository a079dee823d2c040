"""Work that waits for the disk, done by several threads.

They stay: the C library keeps freed memory by thread, and where some come and go, what others have
freed is found again by nobody. When the main thread has ended nobody gets any, though other threads
may go on writing: there each piece of work waits for the one before.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

HANDS = 4
"""Files that are synced at once: as many as a run has, and one."""


def side_by_side(work: Sequence[Callable[[], object]]) -> None:
    """Do all of it; if something fails, the first error, when all else is done."""
    try:
        asked = [_hands().submit(piece) for piece in work]
    except RuntimeError:
        for piece in work:
            piece()
        return
    for problem in [answer.exception() for answer in asked]:
        if problem is not None:
            raise problem


@cache
def _hands() -> Any:
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - readers start without

    return ThreadPoolExecutor(HANDS, "windrow-sync")


os.register_at_fork(after_in_child=_hands.cache_clear)
