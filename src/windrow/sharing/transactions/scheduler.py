"""What every transaction scheduler has in common: queries, reads, updates, and who is next.

A window of n sub-windows is written by updates T_0, T_1, ... and read by queries. A scheduler is a
state machine that decides which sub-window is read next, and what becomes of running queries when
an update comes; it holds numbers only, no data. Whoever drives it, a pool of threads
(``executor``) or a simulation, does so in this order:

1. ``submit`` a query; ``update`` when a new sub-window is complete and ``may_update`` allows it.
2. ``next_read`` says what to read. The data is read, however long that takes.
3. ``acknowledge`` the read: only now it takes effect. The scheduler says whether it counts, whether
   the query goes on, or has committed, and as of which update.

A query has one read under way at most, and can be suspended, resumed or aborted between any two
(Golab 2006, 7.1).
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import ClassVar, NamedTuple, Protocol

from windrow.sharing.transactions.history import TransactionError


@dataclass(frozen=True)
class ReadTransaction:
    """A query that is executed once: over the ``length`` youngest sub-windows (n_k in the text).

    The highest ``priority`` goes first, and suspends whoever is running with a lower one.
    """

    name: str
    length: int
    priority: int = 0


class Read(NamedTuple):
    """Read what update ``version`` wrote, for this attempt of a query.

    If ``undo``, to take it out of what the query has computed so far; if ``as_of``, in the state
    that it had after that update, and else in the latest.
    """

    query: str
    attempt: int
    version: int
    undo: bool = False
    as_of: int | None = None


class Verdict(Enum):
    """What becomes of a read that was carried out."""

    COUNTS = "counts"
    """It is part of the answer, and the query goes on."""
    VOID = "void"
    """The sub-window left the query's window meanwhile, or the attempt was aborted: forget it."""
    COMMITS = "commits"
    """It is part of the answer, which is now complete."""


class Outcome(NamedTuple):
    """The verdict on a read; with COMMITS, the update as of which the answer is true."""

    verdict: Verdict
    as_of: int = -1


class Update(NamedTuple):
    """The number of an update, and the queries that begin again because of it."""

    number: int
    aborted: tuple[str, ...] = ()


class Scheduler(Protocol):
    """A state machine that says which sub-window is read next, and by whom."""

    name: ClassVar[str]
    undoes: ClassVar[bool]
    """Whether a query may have to take out again what it has read."""
    n: int
    newest: int
    """The number of the last update."""

    def submit(self, query: ReadTransaction) -> None: ...

    def withdraw(self, name: str) -> None:
        """Forget a query that is running."""

    def may_update(self) -> bool: ...

    def update(self) -> Update: ...

    def next_read(self, busy: Container[str] = ()) -> Read | None:
        """What to read next, for a query that is not ``busy``; None if there is nothing to do."""

    def acknowledge(self, read: Read) -> Outcome: ...

    def readers_to_tell(self) -> Iterator[tuple[str, int]]:
        """Queries that have read a version, or are reading it, and must see what comes into it."""

    def oldest_needed(self) -> int:
        """The oldest version that may still be read: older ones can be dropped."""


@dataclass
class Attempt:
    """How far a running query is. ``unread`` is in the order of reading, the next one last.

    ``bits`` is B_Qk: which sub-windows of the array it has read. ``in_flight`` is the version that
    is being read and not acknowledged, ``expired`` are those to be undone, ``as_of`` is the state
    that it reads, if it is not the latest.
    """

    query: ReadTransaction
    number: int
    bits: bytearray
    unread: list[int] = field(default_factory=list)
    expired: list[int] = field(default_factory=list)
    in_flight: int | None = None
    as_of: int | None = None


class RunningQueries:
    """The list L: running queries, the highest priority first, then the oldest."""

    def __init__(self, n: int, newest: int) -> None:
        if not 1 <= n <= newest + 1:
            raise TransactionError(
                where="window",
                expected="at least one sub-window, all of them filled by T_0 to T_(n-1)",
                found=f"{n} sub-windows after T_{newest}",
                remedy="begin when the window is full, or with empty sub-windows",
            )
        self.n = n
        self._submitted = 0
        self._attempts: dict[str, Attempt] = {}
        self._order: list[tuple[int, int, str]] = []

    def add(self, query: ReadTransaction) -> Attempt:
        if not 1 <= query.length <= self.n:
            raise TransactionError(
                where=f"query {query.name}",
                expected=f"a window of 1 to {self.n} sub-windows",
                found=str(query.length),
            )
        if query.name in self._attempts:
            raise TransactionError(
                where=f"query {query.name}",
                expected="a name that no running query has",
                found="one that is running",
                remedy="wait for its answer, or give each execution a number",
            )
        self._submitted += 1
        insort(self._order, (-query.priority, self._submitted, query.name))
        attempt = self._attempts[query.name] = Attempt(query, 1, bytearray(self.n))
        return attempt

    def remove(self, name: str) -> None:
        del self._attempts[name]
        self._order = [entry for entry in self._order if entry[2] != name]

    def restart(self, attempt: Attempt) -> Attempt:
        """A new attempt in the place of this one."""
        name = attempt.query.name
        new = Attempt(attempt.query, attempt.number + 1, bytearray(self.n))
        self._attempts[name] = new
        return new

    def of(self, read: Read) -> Attempt | None:
        """The attempt for which it was read, unless that is over."""
        attempt = self._attempts.get(read.query)
        return attempt if attempt and attempt.number == read.attempt else None

    def first(self, busy: Container[str]) -> Attempt | None:
        """Who is next: line 16 of Algorithm 7 with priorities."""
        for _, _, name in self._order:
            if name not in busy:
                return self._attempts[name]
        return None

    def __iter__(self) -> Iterator[Attempt]:
        return iter(list(self._attempts.values()))

    def __len__(self) -> int:
        return len(self._attempts)


def window_of(query: ReadTransaction, newest: int) -> range:
    """The versions in the window of a query after T_newest, from old to young."""
    return range(newest - query.length + 1, newest + 1)
