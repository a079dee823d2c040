"""TTU, Algorithm 8: what will be replaced last is read first. The default.

The time to update of a sub-window is the number of updates until it is replaced: n for the one that
was just written, 1 for the oldest. A query reads the unread sub-window with the greatest one, which
is the youngest; the one that goes next is read last. An attempt that this order loses is lost in
every other (Theorem 7.4). Only a query that two updates overtake between two reads can be
aborted at all, because it was suspended or because one read takes longer than a sub-window lasts.

Versions are in the order of their times to update, so the greatest one is the last of a sorted
list, and an update is added behind it: O(1) per read, where the text decrements and searches n
values. A window of n_k sub-windows is the n_k youngest, so no transaction has to be rewritten when
the window moves.

A variant undoes instead of aborting: expired sub-windows are kept until nobody has to take them out
of an answer. A query that has read a sub-window which then leaves its window reads the old copy
again, to undo its part of the answer, and goes on. What is computed must be subtractable (SUM,
COUNT, counters). The order of Algorithm 8 needs the fewest such reads (Golab 2006, 7.4.2, end). It
costs one more read instead of all of them again, and the copies that wait for it.
"""

from __future__ import annotations

from typing import ClassVar

from windrow.sharing.transactions.latest_window import LatestWindow
from windrow.sharing.transactions.scheduler import Attempt


class TimeToUpdate(LatestWindow):
    """Latest-window-serialisable with the fewest aborts (Golab 2006, 7.4.2).

    The history He of the text, over five sub-windows:

    >>> from windrow.sharing.transactions.scheduler import ReadTransaction
    >>> scheduler = TimeToUpdate(5, newest=4)
    >>> scheduler.submit(ReadTransaction("Q1", length=5))
    >>> order = []
    >>> for updates in (0, 1, 0, 0, 1):
    ...     for _ in range(updates):
    ...         _ = scheduler.update()
    ...     read = scheduler.next_read()
    ...     order.append(read.version % 5)
    ...     outcome = scheduler.acknowledge(read)
    >>> order, outcome.as_of
    ([4, 0, 3, 2, 1], 6)
    """

    name: ClassVar[str] = "TTU"

    def time_to_update(self, sub_window: int) -> int:
        """How many updates there are until this sub-window is replaced."""
        return (sub_window - self.newest - 1) % self.n + 1

    def _admit(self, attempt: Attempt, version: int) -> None:
        attempt.unread.append(version)


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
