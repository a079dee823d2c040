"""LWS, Algorithm 7: updates go first; a query that has read what they expire begins again.

Every answer is the state as of its commit (Theorem 7.3). A query reads its sub-windows in the order
of the array. An update T_j takes sub-window j - n_k out of a window of n_k; if the bit of that
sub-window is set, the query is aborted and restarted, which the text leaves to the reader. If the
sub-window is unread, the new one takes its place among the unread.

A read that is under way when its sub-window leaves is void, and costs one read, not the attempt:
it takes effect when it is acknowledged, and what it read is not yet part of anything.

Cost: O(log n) per read and per running query and update.
"""

from __future__ import annotations

from bisect import insort
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


class LatestWindow:
    """Latest-window-serialisable, reading in the order of the array (Golab 2006, 7.4.1).

    Its variants read in another order, or undo instead of aborting (``time_to_update``).

    >>> scheduler = LatestWindow(2, newest=1)
    >>> scheduler.submit(ReadTransaction("Q1", length=2))
    >>> scheduler.acknowledge(scheduler.next_read()).verdict.name
    'COUNTS'
    >>> scheduler.update()
    Update(number=2, aborted=('Q1',))
    """

    name: ClassVar[str] = "LWS"
    undoes: ClassVar[bool] = False

    def __init__(self, n: int, newest: int) -> None:
        self.n, self.newest = n, newest
        self._queries = RunningQueries(n, newest)

    def submit(self, query: ReadTransaction) -> None:
        self._begin(self._queries.add(query))

    def withdraw(self, name: str) -> None:
        self._queries.remove(name)

    def may_update(self) -> bool:
        return True

    def update(self) -> Update:
        self.newest += 1
        aborted = [attempt.query.name for attempt in self._queries if not self._survives(attempt)]
        return Update(self.newest, tuple(aborted))

    def next_read(self, busy: Container[str] = ()) -> Read | None:
        attempt = self._queries.first(busy)
        if attempt is None:
            return None
        if attempt.expired:
            old = attempt.expired[-1]
            left_at = old + attempt.query.length
            return Read(attempt.query.name, attempt.number, old, undo=True, as_of=left_at - 1)
        attempt.in_flight = attempt.unread.pop()
        return Read(attempt.query.name, attempt.number, attempt.in_flight)

    def acknowledge(self, read: Read) -> Outcome:
        attempt = self._queries.of(read)
        if attempt is None:
            return Outcome(Verdict.VOID)
        if read.undo:
            attempt.expired.remove(read.version)
        elif attempt.in_flight is None:
            return Outcome(Verdict.VOID)
        else:
            attempt.bits[read.version % self.n] = True
            attempt.in_flight = None
        if attempt.unread or attempt.expired:
            return Outcome(Verdict.COUNTS)
        self._queries.remove(read.query)
        return Outcome(Verdict.COMMITS, self.newest)

    def readers_to_tell(self) -> Iterator[tuple[str, int]]:
        for attempt in self._queries:
            for version in window_of(attempt.query, self.newest):
                if attempt.bits[version % self.n] or version == attempt.in_flight:
                    yield attempt.query.name, version

    def oldest_needed(self) -> int:
        needed = self.newest - self.n + 1
        return min([needed, *(v for attempt in self._queries for v in attempt.expired)])

    def _survives(self, attempt: Attempt) -> bool:
        """Lines 4 to 8, after T_newest: what leaves the window of this query, was it read?"""
        leaving = self.newest - attempt.query.length
        if attempt.bits[leaving % self.n]:
            if not self._keeps(attempt, leaving):
                self._begin(self._queries.restart(attempt))
                return False
        elif attempt.in_flight == leaving:
            attempt.in_flight = None
        else:
            attempt.unread.remove(leaving)
        self._admit(attempt, self.newest)
        return True

    def _begin(self, attempt: Attempt) -> None:
        for version in window_of(attempt.query, self.newest):
            self._admit(attempt, version)

    def _admit(self, attempt: Attempt, version: int) -> None:
        """Put a version among the unread, where its turn is: here, from 0 to n - 1."""
        insort(attempt.unread, version, key=lambda v: -(v % self.n))

    def _keeps(self, attempt: Attempt, leaving: int) -> bool:
        """Whether the query can go on although it has read what leaves its window."""
        return False
