"""When stored tuples expire, by update pattern (Golab 2006, 3.5.2).

MONOTONIC tuples never do. WEAKEST ones expire in the order in which they came, so a pointer is
enough. For WEAK and STRICT ones a *calendar queue* divides expiry times into days of equal
length: an insertion appends to its day, and an expiry takes whole days and a part of one.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from windrow.columns.growable import Growable
from windrow.core.patterns import UpdatePattern
from windrow.core.time import FOREVER

Int64s = npt.NDArray[np.int64]
NONE = np.empty(0, np.int64)
DAYS = 32
"""Days that a calendar aims at; past four times as many its days get longer."""
LOOSE = 16
"""Batches that lie loose before they are sorted into days."""


class Schedule(Protocol):
    """Positions by expiry."""

    def insert(self, positions: Int64s, exp: Int64s) -> None: ...

    def due(self, now: int) -> tuple[Int64s, Int64s]:
        """Positions whose expiry is at or before ``now``, and the expiries, in order of expiry.

        They are forgotten here.
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
        return _joined(taken)


class Calendar:
    """A calendar queue; the length of its days follows from the times that are in it.

    New tuples lie loose for a few batches, so that many are sorted into their days at once.
    """

    def __init__(self) -> None:
        self._length = 0
        self._days: dict[int, list[tuple[Int64s, Int64s]]] = {}
        self._loose: list[tuple[Int64s, Int64s]] = []

    def insert(self, positions: Int64s, exp: Int64s) -> None:
        finite = exp < FOREVER
        if not finite.all():
            positions, exp = positions[finite], exp[finite]
        if not len(positions):
            return
        self._loose.append((positions, exp))
        if len(self._loose) >= LOOSE:
            loose, self._loose = self._loose, []
            self._file(*_joined(loose))

    def _file(self, positions: Int64s, exp: Int64s) -> None:
        if not self._length:
            self._length = max(1, int(exp.max() - exp.min()) // DAYS)
        days = exp // self._length
        if len(self._days) > 4 * DAYS:
            self._days, kept = {}, [part for day in self._days.values() for part in day]
            positions, exp = _joined([*kept, (positions, exp)])
            self._length = max(1, int(exp.max() - exp.min()) // DAYS)
            days = exp // self._length
        if days[0] == days[-1] and bool((days == days[0]).all()):
            self._days.setdefault(int(days[0]), []).append((positions, exp))
            return
        order = np.argsort(days, kind="stable")
        days, positions, exp = days[order], positions[order], exp[order]
        cuts = np.flatnonzero(np.diff(days)) + 1
        starts = np.concatenate([[0], cuts])
        for start, stop in zip(starts, [*cuts, len(days)], strict=True):
            part = (positions[start:stop], exp[start:stop])
            self._days.setdefault(int(days[start]), []).append(part)

    def due(self, now: int) -> tuple[Int64s, Int64s]:
        taken, kept = [], []
        for positions, exp in self._loose:
            expired = exp <= now
            if expired.any():
                taken.append((positions[expired], exp[expired]))
                positions, exp = positions[~expired], exp[~expired]  # noqa: PLW2901
            if len(positions):
                kept.append((positions, exp))
        self._loose = kept
        today = now // self._length if self._length else now
        for day in sorted(d for d in self._days if d <= today):
            parts = self._days.pop(day)
            if day < today:
                taken.extend(parts)
                continue
            positions, exp = _joined(parts)
            expired = exp <= now
            taken.append((positions[expired], exp[expired]))
            if not expired.all():
                self._days[day] = [(positions[~expired], exp[~expired])]
        if not taken:
            return NONE, NONE
        positions, exp = _joined(taken)
        order = np.lexsort((positions, exp))
        return positions[order], exp[order]


class Scan:
    """For the DIRECT strategy: nothing is sorted, and looking for what has expired reads it all."""

    def __init__(self) -> None:
        self._positions, self._exp = Growable(np.int64), Growable(np.int64)

    def insert(self, positions: Int64s, exp: Int64s) -> None:
        self._positions.append(positions)
        self._exp.append(exp)

    def due(self, now: int) -> tuple[Int64s, Int64s]:
        positions, exp = self._positions.view, self._exp.view
        expired = exp <= now
        if not expired.any():
            return NONE, NONE
        found = positions[expired], exp[expired]
        kept = positions[~expired], exp[~expired]
        for store, values in zip((self._positions, self._exp), kept, strict=True):
            store.clear()
            store.append(values)
        order = np.lexsort(found)
        return found[0][order], found[1][order]


def _joined(parts: list[tuple[Int64s, Int64s]]) -> tuple[Int64s, Int64s]:
    if not parts:
        return NONE, NONE
    if len(parts) == 1:
        return parts[0]
    return np.concatenate([p for p, _ in parts]), np.concatenate([e for _, e in parts])


def schedule_for(pattern: UpdatePattern, scan: bool = False) -> Schedule:
    """The schedule that tuples with this update pattern need; ``scan`` does without a calendar."""
    if scan and pattern not in (UpdatePattern.MONOTONIC, UpdatePattern.WEAKEST):
        return Scan()
    match pattern:
        case UpdatePattern.MONOTONIC:
            return Never()
        case UpdatePattern.WEAKEST:
            return Fifo()
        case _:
            return Calendar()
