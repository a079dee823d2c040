"""How far ahead of its stream a row may be: AHEAD, and what it is measured from.

A row is *ahead* if its timestamp lies more than AHEAD beyond the stream's time when it comes: the
greatest credible timestamp of the rows before it, the instant that was declared closed, and, on
TIMESTAMP clocks, what the clock on the wall showed when the row was admitted. What is not ahead is
*credible*. A row that is ahead moves no time, so one of them, or a thousand, cannot carry a stream
into a future from which all later rows would be late.

Which rows are ahead depends on the rows before them and on the wall, which is therefore an
argument, and is written down where rows may be judged a second time. The first row of a stream
that has nothing to be measured from is credible.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from windrow.columns.arrays import Bools, Int64s
from windrow.core.time import BEGINNING, FOREVER, MICROSECONDS, Clock
from windrow.plan.catalog import StreamDeclaration

DEFAULT = MICROSECONDS["DAY"]
"""AHEAD of a TIMESTAMP clock for which the script says nothing: more than any time zone makes."""


@dataclass(frozen=True)
class Horizon:
    """``ahead`` ticks beyond the stream's own time, and beyond the ``wall`` if that counts."""

    ahead: int = FOREVER
    wall: int | None = None

    @property
    def is_bounded(self) -> bool:
        return self.ahead < FOREVER

    def base(self, top: int | None, advanced: int = BEGINNING) -> int | None:
        """What the next row is measured from; None if there is nothing."""
        known = max(BEGINNING if t is None else t for t in (top, advanced, self.wall))
        return None if known == BEGINNING else known

    def limit(self, base: int) -> int:
        """The last timestamp that is credible."""
        return min(base, FOREVER - self.ahead) + self.ahead


UNLIMITED = Horizon()


def horizon_of(declaration: StreamDeclaration, wall: int = FOREVER) -> Horizon:
    """What AHEAD says when the clock on the wall shows ``wall``; FOREVER is no such clock.

    Without AHEAD a day holds on TIMESTAMP clocks, if there is a wall to measure from: data of the
    past are never touched by it. On other clocks, and without a wall, nothing does.
    """
    known = wall if declaration.clock is Clock.TIMESTAMP and wall < FOREVER else None
    if declaration.ahead is not None:
        return Horizon(declaration.ahead, known)
    return UNLIMITED if known is None else Horizon(DEFAULT, known)


def credible(ts: Int64s, base: int | None, horizon: Horizon) -> tuple[Bools, Int64s]:
    """Which rows are credible, in their order, and for each the last timestamp that would be.

    Costs one pass over arrays, and a slow one from the first row on that is ahead.
    """
    if not horizon.is_bounded or not len(ts):
        return np.ones(len(ts), np.bool_), np.full(len(ts), FOREVER, np.int64)
    first = int(ts[0]) if base is None else base
    limits = _limits(ts, first, horizon)
    found = ts <= limits
    if found.all():
        return found, limits
    start = int(np.argmin(found))
    known = max(first, int(ts[:start].max(initial=BEGINNING)))
    found[start:] = _one_by_one(ts[start:].tolist(), known, horizon)
    return found, _limits(np.where(found, ts, BEGINNING), first, horizon)


def _limits(ts: Int64s, base: int, horizon: Horizon) -> Int64s:
    """For each row the last credible timestamp, if all of ``ts`` before it count."""
    before = np.empty(len(ts), np.int64)
    before[0] = base
    before[1:] = ts[:-1]
    reached = np.maximum(np.maximum.accumulate(before), base)
    limits: Int64s = np.minimum(reached, FOREVER - horizon.ahead) + horizon.ahead
    return limits


def _one_by_one(ts: list[int], base: int, horizon: Horizon) -> list[bool]:
    limit, found = horizon.limit(base), []
    for t in ts:
        found.append(t <= limit)
        if base < t <= limit:
            base, limit = t, horizon.limit(t)
    return found
