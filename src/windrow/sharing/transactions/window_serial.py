"""WS: a query sees the window as of its start; updates go on meanwhile.

What a query has to read is fixed when it begins, and sub-windows that have left the window are kept
until nobody needs them. Nothing is aborted and queries can be suspended, but an answer shows none
of the updates that came while it was computed (strong snapshot isolation: Golab 2006, 7.3.2).

Cost: O(1) per read and per update, and the sub-windows that expired while the oldest query ran.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import ClassVar

from windrow.sharing.transactions.scheduler import (
    Outcome,
    Read,
    ReadTransaction,
    RunningQueries,
    Update,
    Verdict,
    window_of,
)


class WindowSerial:
    """Window-serialisable: the state as of the query's first read (Golab 2006, 7.5.1).

    >>> scheduler = WindowSerial(2, newest=1)
    >>> scheduler.submit(ReadTransaction("Q1", length=2))
    >>> scheduler.acknowledge(scheduler.next_read()).verdict.name
    'COUNTS'
    >>> scheduler.update()
    Update(number=2, aborted=())
    >>> scheduler.next_read().version, scheduler.oldest_needed()
    (0, 0)
    """

    name: ClassVar[str] = "WS"
    undoes: ClassVar[bool] = False

    def __init__(self, n: int, newest: int) -> None:
        self.n, self.newest = n, newest
        self._queries = RunningQueries(n, newest)

    def submit(self, query: ReadTransaction) -> None:
        self._queries.add(query)

    def withdraw(self, name: str) -> None:
        self._queries.remove(name)

    def may_update(self) -> bool:
        return True

    def update(self) -> Update:
        self.newest += 1
        return Update(self.newest)

    def next_read(self, busy: Container[str] = ()) -> Read | None:
        attempt = self._queries.first(busy)
        if attempt is None:
            return None
        if attempt.as_of is None:
            attempt.as_of = self.newest
            attempt.unread = list(window_of(attempt.query, self.newest))
        attempt.in_flight = attempt.unread.pop()
        return Read(attempt.query.name, attempt.number, attempt.in_flight, as_of=attempt.as_of)

    def acknowledge(self, read: Read) -> Outcome:
        attempt = self._queries.of(read)
        if attempt is None:
            return Outcome(Verdict.VOID)
        attempt.in_flight = None
        if attempt.unread:
            return Outcome(Verdict.COUNTS)
        self._queries.remove(read.query)
        assert attempt.as_of is not None
        return Outcome(Verdict.COMMITS, attempt.as_of)

    def readers_to_tell(self) -> Iterator[tuple[str, int]]:
        return iter(())

    def oldest_needed(self) -> int:
        needed = self.newest - self.n + 1
        for attempt in self._queries:
            if attempt.as_of is not None:
                needed = min(needed, attempt.as_of - attempt.query.length + 1)
        return needed
