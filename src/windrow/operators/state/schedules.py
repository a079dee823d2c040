"""When stored tuples expire, by update pattern (Golab 2006, 3.5.2).

MONOTONIC tuples never do. WEAKEST ones expire in the order in which they came, so a pointer is
enough. WEAK and STRICT ones are kept in a *calendar queue* (``calendar_queue``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from windrow.columns.arrays import Int64s
from windrow.columns.growable import Growable
from windrow.columns.time_order import time_order
from windrow.core.time import FOREVER
from windrow.operators.state.calendar_queue import CalendarQueue
from windrow.plan.physical.state_kinds import BufferKind, Expiry

NONE = np.empty(0, np.int64)


class Schedule(Protocol):
    """Positions by expiry."""

    def insert(self, positions: Int64s, exp: Int64s) -> None: ...

    def due(self, now: int) -> tuple[Int64s, Int64s]:
        """Positions whose expiry is at or before ``now``, and the expiries.

        Only those of one expiry are in order (see ``in_order``). They are forgotten here.
        """
        ...


class Never:
    """For tuples that live for ever."""

    def insert(self, positions: Int64s, exp: Int64s) -> None:
        pass

    def due(self, now: int) -> tuple[Int64s, Int64s]:
        return NONE, NONE


class Fifo:
    """For tuples that expire in the order in which they came."""

    def __init__(self) -> None:
        self._parts: list[tuple[Int64s, Int64s]] = []

    def insert(self, positions: Int64s, exp: Int64s) -> None:
        if len(positions):
            self._parts.append((positions, exp))

    def due(self, now: int) -> tuple[Int64s, Int64s]:
        taken: list[tuple[Int64s, Int64s]] = []
        while self._parts and self._parts[0][1][0] <= now:
            positions, exp = self._parts[0]
            cut = int(np.searchsorted(exp, now, side="right"))
            taken.append((positions[:cut], exp[:cut]))
            if cut < len(exp):
                self._parts[0] = (positions[cut:], exp[cut:])
                break
            self._parts.pop(0)
        return _concatenate(taken)


class Scan:
    """For the DIRECT strategy: nothing is sorted, and looking for what has expired reads it all.

    What has expired is struck out, and the list closed up when more than half of it is.
    """

    def __init__(self) -> None:
        self._positions, self._exp = Growable(np.int64), Growable(np.int64)
        self._struck = 0

    def insert(self, positions: Int64s, exp: Int64s) -> None:
        ends = exp < FOREVER  # others are withdrawn some day, and would stay here
        self._positions.append(positions[ends])
        self._exp.append(exp[ends])

    def due(self, now: int) -> tuple[Int64s, Int64s]:
        positions, exp = self._positions.view, self._exp.view
        expired = np.flatnonzero(exp <= now)
        if not len(expired):
            return NONE, NONE
        found = positions[expired], exp[expired]
        exp[expired] = FOREVER
        self._struck += len(expired)
        if self._struck > len(exp) // 2:
            self._close_up()
        return found

    def _close_up(self) -> None:
        kept = np.flatnonzero(self._exp.view < FOREVER)
        for store in (self._positions, self._exp):
            values = store.view[kept]
            store.clear()
            store.append(values)
        self._struck = 0


def in_order(positions: Int64s, exp: Int64s) -> tuple[Int64s, Int64s]:
    """By expiry, those of one expiry as they stand."""
    if len(exp) < 2:
        return positions, exp
    order = time_order(exp)
    return positions[order], exp[order]


def _concatenate(parts: list[tuple[Int64s, Int64s]]) -> tuple[Int64s, Int64s]:
    if not parts:
        return NONE, NONE
    if len(parts) == 1:
        return parts[0]
    return np.concatenate([p for p, _ in parts]), np.concatenate([e for _, e in parts])


SCHEDULES: dict[Expiry, Callable[[], Schedule]] = {
    Expiry.NEVER: Never,
    Expiry.IN_ORDER: Fifo,
    Expiry.CALENDAR: CalendarQueue,
    Expiry.SCAN: Scan,
}
"""What finds the tuples that have expired, by what EXPLAIN calls it."""


def schedule_for(kind: BufferKind) -> Schedule:
    """An empty schedule as a buffer of this kind needs it."""
    if kind.expiry is Expiry.CALENDAR:
        return CalendarQueue(kind.partitions)
    return SCHEDULES[kind.expiry]()
