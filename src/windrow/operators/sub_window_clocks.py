"""When sub-windows come and leave: at instants, or with the rows that move a window of rows.

``[RANGE T SLIDE s]`` moves at multiples of s. ``[ROWS n SLIDE m]`` moves when as many rows have
come as a multiple of m says (Golab 2006, 2.3.4): there the *count* of rows is the time by which
sub-windows are kept, and the instant at which the last of them came is when it happens.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from windrow.columns.arrays import Int64s
from windrow.columns.delta import Delta
from windrow.operators.count_windows import NEVER_REACHED
from windrow.operators.snap import end_after, round_up
from windrow.operators.state.sub_window_store import DueSummaries


class SubWindowClock(Protocol):
    """What tells the sub-windows of rows: of a window of ``length`` that moves by ``slide``, in
    ticks or in rows.
    """

    length: int
    slide: int

    def take(self, delta: Delta, now: int) -> tuple[Delta, Int64s, Int64s]:
        """The rows up to ``now`` that are ever in the window, and when each comes and leaves."""
        ...

    @property
    def now(self) -> int:
        """How far it has come."""
        ...

    def translate(self, due: DueSummaries) -> DueSummaries:
        """What came and left with the last rows, at the instants at which it did."""
        ...

    def save(self) -> dict[str, Any]: ...

    def load(self, meta: Mapping[str, Any]) -> None: ...


def seen_in_window(delta: Delta, length: int, slide: int) -> tuple[Delta, Int64s, Int64s]:
    """The rows that are ever in the window, with the instants at which they come and leave."""
    comes, leaves = round_up(delta.ts, slide), round_up(end_after(delta.ts, length), slide)
    return _seen(delta, comes, leaves)


def _seen(delta: Delta, comes: Int64s, leaves: Int64s) -> tuple[Delta, Int64s, Int64s]:
    seen = comes < leaves
    return (delta, comes, leaves) if seen.all() else (delta.filter(seen), comes[seen], leaves[seen])


class InstantClock:
    """``[RANGE length SLIDE slide]``."""

    def __init__(self, length: int, slide: int) -> None:
        self.length, self.slide, self.now = length, slide, 0

    def take(self, delta: Delta, now: int) -> tuple[Delta, Int64s, Int64s]:
        self.now = now
        return seen_in_window(delta, self.length, self.slide)

    def translate(self, due: DueSummaries) -> DueSummaries:
        return due

    def save(self) -> dict[str, Any]:
        return {}

    def load(self, meta: Mapping[str, Any]) -> None:
        """Nothing: every interval says how far time has come."""


class RowClock:
    """``[ROWS count SLIDE slide]``; ``now`` is how many rows have come."""

    def __init__(self, count: int, slide: int) -> None:
        self.length, self.slide = min(count, NEVER_REACHED), min(slide, NEVER_REACHED)
        self.now = 0
        self._arrivals = np.empty(0, np.int64)  # of the last rows

    def take(self, delta: Delta, now: int) -> tuple[Delta, Int64s, Int64s]:
        rows = self.now + np.arange(len(delta), dtype=np.int64)
        self.now += len(delta)
        self._arrivals = delta.ts
        comes = (rows // self.slide + 1) * self.slide
        leaves = ((rows + self.length) // self.slide + 1) * self.slide
        return _seen(delta, comes, leaves)

    def translate(self, due: DueSummaries) -> DueSummaries:
        """Several slides may happen at one instant; what comes and leaves at it is never seen."""
        first = self.now - len(self._arrivals)
        time = self._arrivals[due.time - 1 - first] if len(due.time) else due.time
        order = np.lexsort((time, due.position))
        position, at = due.position[order], time[order]
        twice = (position[1:] == position[:-1]) & (at[1:] == at[:-1])
        unseen = np.zeros(len(order), np.bool_)
        unseen[1:] |= twice
        unseen[:-1] |= twice
        kept = np.ones(len(order), np.bool_)
        kept[order[unseen]] = False
        chosen = np.flatnonzero(kept)
        chosen = chosen[np.lexsort((due.sign[chosen], time[chosen]))]
        return DueSummaries(due.position[chosen], time[chosen], due.sign[chosen])

    def start_at(self, number: int) -> None:
        """Let the first row that comes have a number, because others came before."""
        self.now = number

    def save(self) -> dict[str, Any]:
        return {"rows": self.now}

    def load(self, meta: Mapping[str, Any]) -> None:
        self.now = int(meta["rows"])
