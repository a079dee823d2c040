"""A window over WEAK input: a calendar of n slots by expiry (Golab 2006, 7.4.3, Figure 7.6).

A tuple of a join lives as long as the first of its parts, so an update brings tuples for every
slot. The slot that update T_j begins holds what expires at T_(j+n), and what T_j brings
for the others is added to them: each slot is a tuple of immutable pieces, one per update.

A query that has read a slot has not seen the pieces that come later. It gets them handed, before
they are in the slot; pieces of slots that it has not read it will find there.

Cost: n pieces per update, O(pieces) per read: at most n.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from windrow.sharing.transactions.errors import TransactionError


class ExpirySlots:
    """Slots by the number of the update that began them; each a tuple of pieces.

    An update is n pieces, from the slot that expires next to the new one.

    >>> window = ExpirySlots([("a0", "b0")] * 2)
    >>> window.install(("soon", "late"))
    {1: 'soon'}
    >>> window.read(1), window.read(2)
    (('b0', 'soon'), ('late',))
    """

    def __init__(self, contents: Sequence[Sequence[Any]]) -> None:
        self.n, self.newest = len(contents), -1
        self._slots: dict[int, list[tuple[int, Any]]] = {}
        self._oldest = 0
        for pieces in contents:
            self.install(pieces)

    def __len__(self) -> int:
        return len(self._slots)

    def install(self, contents: Sequence[Any]) -> Mapping[int, Any]:
        if len(contents) != self.n:
            raise TransactionError(
                where="update",
                expected=f"{self.n} pieces, one per slot",
                found=str(len(contents)),
                remedy="split the new tuples with split_by_expiry",
            )
        self.newest += 1
        first = self.newest - self.n + 1
        added = dict(enumerate(contents, start=first))
        for slot, piece in added.items():
            if slot >= 0:
                self._slots.setdefault(slot, []).append((self.newest, piece))
        del added[self.newest]
        return {slot: piece for slot, piece in added.items() if slot >= 0}

    def read(self, version: int, as_of: int | None = None) -> tuple[Any, ...]:
        return tuple(
            piece for update, piece in self._slots[version] if as_of is None or update <= as_of
        )

    def drop_before(self, version: int) -> None:
        for old in range(self._oldest, version):
            del self._slots[old]
        self._oldest = max(self._oldest, version)


def split_by_expiry(
    expiries: npt.NDArray[np.int64], now: int, period: int, n: int
) -> list[npt.NDArray[np.intp]]:
    """For each of n slots, from the next to the last, the places of the tuples that belong there.

    Slot i holds what expires in (now + i * period, now + (i + 1) * period].

    >>> [places.tolist() for places in split_by_expiry(np.array([13, 11, 20, 15]), 10, 5, 2)]
    [[0, 1, 3], [2]]
    """
    slots = (expiries - now - 1) // period
    outside = (slots < 0) | (slots >= n)
    if outside.any():
        raise TransactionError(
            where="update",
            expected=f"expiries in ({now}, {now + n * period}]",
            found=str(expiries[outside][0]),
            remedy="leave out what has expired; nothing lives longer than the window",
        )
    return [np.flatnonzero(slots == slot) for slot in range(n)]
