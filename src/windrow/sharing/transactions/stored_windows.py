"""What a stored window is to those who read and move it, by the update pattern of its input.

WEAKEST input, a stream or a selection of one, is a circular array of n sub-windows (Golab 2006,
7.2.1). An update replaces the oldest one as a whole, so a version is written once and never
changed; versions that have left the array stay as long as a query needs them. Cost: O(1) per
update, per read, and per version that is dropped.

WEAK input, the result of a join, is a calendar of n slots by expiry (7.4.3, Figure 7.6). A tuple of
a join lives as long as the first of its parts, so an update brings tuples for every slot. The slot
that update T_j begins holds what expires at T_(j+n), and what T_j brings for the others is added to
them: each slot is a tuple of immutable pieces, one per update. A query that has read a slot has not
seen the pieces that come later. It gets them handed, before they are in the slot; pieces of slots
that it has not read it will find there. Cost: n pieces per update, O(pieces) per read: at most n.

STRICT input is refused: a tuple may be withdrawn from any sub-window at any time, so no order of
reads is safe, and nothing says which sub-window changes next (7.2.1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from windrow.core.patterns import UpdatePattern
from windrow.sharing.transactions.history import TransactionError


class SubWindows:
    """The contents of sub-windows by the number of the update that wrote them.

    >>> window = SubWindows(["a", "b"])
    >>> window.install("c")
    {}
    >>> window.drop_before(1)
    >>> window.read(1), window.read(2), len(window)
    ('b', 'c', 2)
    """

    def __init__(self, contents: Sequence[Any]) -> None:
        self.n, self.newest = len(contents), len(contents) - 1
        self._contents = dict(enumerate(contents))
        self._oldest = 0

    def __len__(self) -> int:
        return len(self._contents)

    def install(self, contents: Any) -> Mapping[int, Any]:
        self.newest += 1
        self._contents[self.newest] = contents
        return {}

    def read(self, version: int, as_of: int | None = None) -> Any:
        return self._contents[version]

    def drop_before(self, version: int) -> None:
        for old in range(self._oldest, version):
            del self._contents[old]
        self._oldest = max(self._oldest, version)


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


class StoredWindow(Protocol):
    """The contents of a window's sub-windows, each by the number of the update that began it.

    Contents are immutable: who has read them may keep them.
    """

    n: int
    newest: int

    def install(self, contents: Any) -> Mapping[int, Any]:
        """Carry out the next update. Gives what it added to sub-windows that were there before."""

    def read(self, version: int, as_of: int | None = None) -> Any: ...

    def drop_before(self, version: int) -> None:
        """Forget what no query needs any more."""


def stored_window(pattern: UpdatePattern, contents: Sequence[Any]) -> StoredWindow:
    """A window over input of this pattern, filled by one update for each of ``contents``.

    >>> stored_window(UpdatePattern.WEAKEST, ["a", "b", "c"]).read(2)
    'c'
    """
    if pattern is UpdatePattern.WEAKEST:
        return SubWindows(contents)
    if pattern is UpdatePattern.WEAK:
        return ExpirySlots(contents)
    reasons = {
        UpdatePattern.STRICT: "a negative tuple may change any sub-window at any time, "
        "also one that a query has read",
        UpdatePattern.MONOTONIC: "nothing ever expires, so there are no sub-windows to replace",
    }
    raise TransactionError(
        f"input is {pattern.name}: {reasons[pattern]}",
        where="window",
        expected="WEAKEST or WEAK input (Golab 2006, 7.2.1)",
        remedy="read the answer of the query instead of the contents of its window",
    )
