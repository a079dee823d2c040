"""A calendar queue: tuples by the day on which they expire (Golab 2006, 3.5.2, Figure 3.6).

Days are a circular array, the ``partitions`` of a year, and have one length. To find what has
expired, the days since the last time are read, the last of which is not over yet, so that some of
its tuples stay: the fewer partitions, the more. A tuple whose expiry is more than a year ahead
shares the day with tuples of other years, and is passed over until its own.

What a negative tuple withdraws lies in the day of its expiry, which is searched from end to end.

New tuples lie loose, and are filed under their days when ``LOOSE`` of them have come together:
the more are filed at once, the more of them go to the same place in memory. Loose ones are read
through every time, which is quicker than filing as long as they are few. So a calendar that never
holds many tuples is a plain list, and costs no more than one.

A day is a list of chunks of ``CHUNK`` entries, all full but the last; chunks that are read become
free. A day has as many ticks as let a year reach to the last expiry in the calendar. Days of a
wrong length make it read tuples that stay; when it has read ``PATIENCE`` times as many in vain as
it holds, the length is chosen anew if it would be another.

Cost: O(1) per tuple that comes and per tuple that goes; per interval the loose ones and those of
the last day that stay; per search a day. Space: 16 bytes per tuple, and less than two chunks per
day.
"""

from __future__ import annotations

import numpy as np
from numba import types

from windrow.columns.arrays import Int64s
from windrow.columns.growable import fresh, grow
from windrow.columns.kernels import grid_out, inline, int64, ints, ints_out, kernel
from windrow.core.thresholds import Threshold
from windrow.core.time import BEGINNING, FOREVER
from windrow.plan.nodes.base import PARTITIONS

NONE = np.empty(0, np.int64)
DAYS = Threshold(4096, least=2)
"""There are no more partitions than this, however many are asked for."""
CHUNK = Threshold(64, least=1)
"""A power of two."""
LOOSE = Threshold(4096)
LOOSE_SEARCHED = Threshold(128)
"""When more than this lie loose, they are filed before a search."""
PATIENCE = Threshold(4, least=1)
LONGEST_DAY = 2**62
FIRST, END = 0, 1
"""Columns of ``days``: the first chunk, and the place behind the last entry, 0 if there is none."""
FREE, SPARE, VAIN, BITS = 0, 1, 2, 3
"""Places of ``slab``: the first free chunk, how many are free, entries read that stayed, and the
logarithm of the size of a chunk."""


@inline
def _put(day, position, exp, days, entries, following, slab):  # type: ignore[no-untyped-def]
    """Add an entry to a day; there has to be a free chunk."""
    at, bits = days[day, END], slab[BITS]
    if at & ((1 << bits) - 1) == 0:
        chunk = slab[FREE]
        slab[FREE] = following[chunk]
        slab[SPARE] -= 1
        if at == 0:
            days[day, FIRST] = chunk
        else:
            following[(at >> bits) - 1] = chunk
        at = chunk << bits
    entries[at, 0] = position
    entries[at, 1] = exp
    days[day, END] = at + 1


@kernel(int64, ints, ints, int64, int64, grid_out, grid_out, ints_out, ints_out)
def _file(positions, exp, width, today, days, entries, following, slab):  # type: ignore[no-untyped-def]
    """Put tuples into their days, none of them before today; how many will ever expire."""
    count = 0
    for i in range(len(positions)):
        if exp[i] < FOREVER:
            day = max(exp[i] // width, today) % len(days)
            _put(day, positions[i], exp[i], days, entries, following, slab)
            count += 1
    return count


@kernel(types.UniTuple(ints_out, 2), ints_out, ints_out, int64)
def _sift(positions, exp, now):  # type: ignore[no-untyped-def]
    """Take out what has expired by ``now``; the others move up."""
    count = 0
    for i in range(len(exp)):
        count += exp[i] <= now
    found, expiries, kept = np.empty(count, np.int64), np.empty(count, np.int64), 0
    if count:
        for i in range(len(exp)):
            if exp[i] <= now:
                found[i - kept], expiries[i - kept] = positions[i], exp[i]
            else:
                positions[kept], exp[kept] = positions[i], exp[i]
                kept += 1
    return found, expiries


@inline
def _wider(values, room):  # type: ignore[no-untyped-def]
    """A copy with more room behind it."""
    wider = np.empty(room, np.int64)
    wider[: len(values)] = values
    return wider


@kernel(types.UniTuple(ints_out, 2), int64, int64, int64, grid_out, grid_out, ints_out, ints_out)
def _read(now, first, last, days, entries, following, slab):  # type: ignore[no-untyped-def]
    """Take what has expired by ``now`` out of the days from ``first`` to ``last``."""
    bits = slab[BITS]
    size = 1 << bits
    room = 4 * size
    found, expiries, count = np.empty(room, np.int64), np.empty(room, np.int64), 0
    for number in range(first, last + 1):
        day = number % len(days)
        chunk, end = days[day, FIRST], days[day, END]
        days[day, END] = 0
        while end > 0:
            final = chunk == (end - 1) >> bits
            stop = end if final else (chunk + 1) << bits
            if count + size > room:
                room *= 2
                found, expiries = _wider(found, room), _wider(expiries, room)
            for at in range(chunk << bits, stop):
                if entries[at, 1] <= now:
                    found[count], expiries[count] = entries[at, 0], entries[at, 1]
                    count += 1
                else:
                    _put(day, entries[at, 0], entries[at, 1], days, entries, following, slab)
                    slab[VAIN] += 1
            # Only now is the chunk free: what stays has gone into other ones.
            after = following[chunk]
            following[chunk] = slab[FREE]
            slab[FREE] = chunk
            slab[SPARE] += 1
            if final:
                break
            chunk = after
    return found[:count], expiries[:count]


@kernel(
    types.UniTuple(ints_out, 2), ints, int64, grid_out, grid_out, ints_out, ints_out, *[ints] * 2
)
def _search(wanted, width, days, entries, following, slab, loose, loose_exp):  # type: ignore[no-untyped-def]
    """Positions with each expiry that is ``wanted``, and the index of the one that wants it."""
    bits = slab[BITS]
    room = 4 * len(wanted) + 16
    found, owners, count = np.empty(room, np.int64), np.empty(room, np.int64), 0
    for i in range(len(wanted)):
        day = (wanted[i] // width) % len(days)
        chunk, end = days[day, FIRST], days[day, END]
        while end > 0:
            final = chunk == (end - 1) >> bits
            stop = end if final else (chunk + 1) << bits
            for at in range(chunk << bits, stop):
                if entries[at, 1] == wanted[i]:
                    if count == room:
                        room *= 2
                        found, owners = _wider(found, room), _wider(owners, room)
                    found[count], owners[count] = entries[at, 0], i
                    count += 1
            if final:
                break
            chunk = following[chunk]
        for at in range(len(loose)):
            if loose_exp[at] == wanted[i]:
                if count == room:
                    room *= 2
                    found, owners = _wider(found, room), _wider(owners, room)
                found[count], owners[count] = loose[at], i
                count += 1
    return found[:count], owners[:count]


class CalendarQueue:
    """Positions by the day of their expiry, the loose ones apart."""

    def __init__(self, partitions: int = PARTITIONS) -> None:
        self._partitions = max(min(partitions, DAYS.value), 2)
        self._positions, self._exp = fresh(0), fresh(0)
        self._loose = 0
        self._now = BEGINNING
        self._chunk = CHUNK.value
        self._start_over()

    def _start_over(self) -> None:
        """No tuples in any day, and days of no length yet."""
        self._filed = self._today = 0
        self._width, self._farthest = 1, BEGINNING
        self._days = np.zeros((self._partitions, 2), np.int64)
        self._entries, self._following = np.empty((0, 2), np.int64), NONE
        self._slab = np.array([-1, 0, 0, self._chunk.bit_length() - 1])

    def insert(self, positions: Int64s, exp: Int64s) -> None:
        start, stop = self._loose, self._loose + len(exp)
        if stop > LOOSE.value:
            self._file_loose()
            if len(exp) > LOOSE.value // 2:
                self._file(positions, exp)
                return
            start, stop = 0, len(exp)
        if stop > len(self._exp):
            self._positions = grow(self._positions, stop, 0)
            self._exp = grow(self._exp, stop, 0)
        self._positions[start:stop], self._exp[start:stop] = positions, exp
        self._loose = stop

    def _file_loose(self) -> None:
        loose, self._loose = self._loose, 0
        self._file(self._positions[:loose], self._exp[:loose])

    def _file(self, positions: Int64s, exp: Int64s) -> None:
        finite = exp[exp < FOREVER]
        self._farthest = max(self._farthest, int(finite.max(initial=BEGINNING)))
        if not self._filed:
            start = self._now if self._now > BEGINNING else int(finite.min(initial=FOREVER))
            self._width = self._length_from(start)
            self._today = start // self._width
        # A day may begin a chunk besides those that it fills; and one is left for reading.
        needed = len(exp) // self._chunk + min(len(exp), len(self._days)) + 1
        if self._slab[SPARE] < needed:
            self._grow(2 * (len(self._following) - int(self._slab[SPARE]) + needed))
        self._filed += _file(
            positions, exp, self._width, self._today,
            self._days, self._entries, self._following, self._slab,
        )  # fmt: skip

    def _length_from(self, start: int) -> int:
        """The length of days that lets a year reach from ``start`` to the last expiry."""
        reach = max(self._farthest - start, 0)
        return min(reach // (len(self._days) - 1) + 1, LONGEST_DAY)

    def _grow(self, chunks: int) -> None:
        had = len(self._following)
        entries = np.empty((chunks * self._chunk, 2), np.int64)
        entries[: had * self._chunk] = self._entries
        # New chunks are free, each followed by the next; behind the last those that were free.
        following = np.arange(1, chunks + 1)
        following[:had], following[-1] = self._following, self._slab[FREE]
        self._slab[FREE] = had
        self._slab[SPARE] += chunks - had
        self._entries, self._following = entries, following

    def due(self, now: int) -> tuple[Int64s, Int64s]:
        self._now = now
        positions, exp = _sift(self._positions[: self._loose], self._exp[: self._loose], now)
        self._loose -= len(exp)
        if not self._filed:
            return positions, exp
        # Of equal expiries those that were filed came first.
        filed = self._read(now)
        return np.concatenate([filed[0], positions]), np.concatenate([filed[1], exp])

    def _read(self, now: int) -> tuple[Int64s, Int64s]:
        first, self._today = self._today, max(self._today, now // self._width)
        last = min(self._today, first + len(self._days) - 1)
        found: tuple[Int64s, Int64s] = _read(
            now, first, last, self._days, self._entries, self._following, self._slab
        )
        self._filed -= len(found[0])
        patience, room = PATIENCE.value, len(self._days) * self._chunk
        wasteful = len(self._entries) > patience * (self._filed + room)
        if wasteful:
            self._file_anew()
        elif self._slab[VAIN] > patience * (self._filed + LOOSE.value):
            self._slab[VAIN] = 0
            if not self._width // 2 < self._length_from(now) <= self._width:
                self._file_anew()
        return found

    def search(self, exp: Int64s) -> tuple[Int64s, Int64s]:
        """All positions that expire at one of these instants, and the index of the instant."""
        if self._loose > LOOSE_SEARCHED.value:
            self._file_loose()
        loose = self._positions[: self._loose], self._exp[: self._loose]
        order = np.argsort(exp)  # so that a day is in the cache when it is searched again
        found, owners = _search(
            exp[order], self._width, self._days, self._entries, self._following, self._slab, *loose
        )
        return found, order[owners]

    def _file_anew(self) -> None:
        """Choose the length of days again; this also gives back chunks that were needed once."""
        everything = _read(
            FOREVER - 1,
            0,
            len(self._days) - 1,
            self._days,
            self._entries,
            self._following,
            self._slab,
        )
        self._start_over()
        self._file(*everything)
