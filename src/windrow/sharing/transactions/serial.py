"""Serial: one transaction after the other, as in systems without concurrency control.

A query locks the window that it scans. Updates wait until it has ended, and then come before the
next query, so that it sees them. Nothing is ever aborted, and nothing can be suspended: priorities
decide only who begins next. Histories are LWS, but of a window that is late.

Cost: O(1) per read; an update that comes while a query runs waits for its end.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import ClassVar

from windrow.sharing.transactions.scheduler import (
    Attempt,
    Outcome,
    Read,
    ReadTransaction,
    RunningQueries,
    Update,
    Verdict,
    window_of,
)


class Serial:
    """Queries and updates one after another (Golab 2006, 7.1 and 7.5.1).

    >>> scheduler = Serial(2, newest=1)
    >>> scheduler.submit(ReadTransaction("Q1", length=2))
    >>> read = scheduler.next_read()
    >>> scheduler.acknowledge(read).verdict.name, scheduler.may_update()
    ('COUNTS', False)
    >>> scheduler.acknowledge(scheduler.next_read()).as_of, scheduler.may_update()
    (1, True)
    """

    name: ClassVar[str] = "Serial"
    undoes: ClassVar[bool] = False

    def __init__(self, n: int, newest: int) -> None:
        self.n, self.newest = n, newest
        self._queries = RunningQueries(n, newest)
        self._current: Attempt | None = None

    def submit(self, query: ReadTransaction) -> None:
        self._queries.add(query)

    def withdraw(self, name: str) -> None:
        self._queries.remove(name)
        if self._current and self._current.query.name == name:
            self._current = None

    def may_update(self) -> bool:
        return self._current is None

    def update(self) -> Update:
        self.newest += 1
        return Update(self.newest)

    def next_read(self, busy: Container[str] = ()) -> Read | None:
        attempt = self._current
        if attempt is None:
            attempt = self._queries.first(busy)
            if attempt is None:
                return None
            attempt.unread = list(window_of(attempt.query, self.newest))
            self._current = attempt
        if attempt.query.name in busy:
            return None
        attempt.in_flight = attempt.unread.pop()
        return Read(attempt.query.name, attempt.number, attempt.in_flight)

    def acknowledge(self, read: Read) -> Outcome:
        attempt = self._queries.of(read)
        if attempt is None:
            return Outcome(Verdict.VOID)
        if attempt.unread:
            return Outcome(Verdict.COUNTS)
        self._queries.remove(read.query)
        self._current = None
        return Outcome(Verdict.COMMITS, self.newest)

    def readers_to_tell(self) -> Iterator[tuple[str, int]]:
        return iter(())

    def oldest_needed(self) -> int:
        return self.newest - self.n + 1
