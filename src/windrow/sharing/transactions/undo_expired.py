"""TTU with undo: expired sub-windows are kept until nobody has to take them out of an answer.

A query that has read a sub-window which then leaves its window reads the old copy again, to undo
its part of the answer, and goes on. Nothing is aborted; what is computed must be subtractable (SUM,
COUNT, counters). The order of Algorithm 8 needs the fewest such reads (Golab 2006, 7.4.2, end).

Cost: that of TTU; one more read instead of all of them again; the copies that wait for it.
"""

from __future__ import annotations

from typing import ClassVar

from windrow.sharing.transactions.latest_window import LatestWindow
from windrow.sharing.transactions.scheduler import Attempt


class UndoExpired(LatestWindow):
    """Latest-window-serialisable without aborts, for what can be subtracted.

    >>> from windrow.sharing.transactions.scheduler import ReadTransaction
    >>> scheduler = UndoExpired(2, newest=1)
    >>> scheduler.submit(ReadTransaction("Q1", length=2))
    >>> _ = scheduler.acknowledge(scheduler.next_read())
    >>> scheduler.update().aborted, scheduler.update().aborted, scheduler.oldest_needed()
    ((), (), 1)
    >>> scheduler.next_read()
    Read(query='Q1', attempt=1, version=1, undo=True, as_of=2)
    """

    name: ClassVar[str] = "undo"
    undoes: ClassVar[bool] = True

    def _admit(self, attempt: Attempt, version: int) -> None:
        attempt.unread.append(version)

    def _keeps(self, attempt: Attempt, leaving: int) -> bool:
        attempt.bits[leaving % self.n] = False
        attempt.expired.append(leaving)
        return True
