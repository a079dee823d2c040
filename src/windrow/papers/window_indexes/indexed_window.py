"""A sliding window for set-valued queries: a storage method, and a set-valued index over it.

Which index goes with which storage method is Table 1 of Golab et al. 2004, and G-INDEX over LIST
or GROUP (4.3); other pairs are refused. Without an index the basic windows hold values, and
queries look through all of them.

Per-tuple cost of maintenance (b tuples and d distinct values per basic window, D in the window):

    =====  ================  ====================  ===================
           L-INDEX           T-INDEX               H-INDEX
    =====  ================  ====================  ===================
    LIST   D                 log D                 D/h
    AGGR   d + (d/b) D       d + (d/b) log D       d + (d/b) D/h
    HASH   d/h + (d/b) D     d/h + (d/b) log D     d/h + (d/b) D/h
    =====  ================  ====================  ===================

and g + g/b for G-INDEX over GROUP.
"""

from __future__ import annotations

import numpy as np

from windrow.columns.arrays import Int64s
from windrow.core.errors import WindrowError
from windrow.papers.window_indexes.basic_storage import BasicContents, GroupStorage, Storage
from windrow.papers.window_indexes.basic_windows import CountBased, SlidingWindow, TimeBased
from windrow.papers.window_indexes.group_index import GroupIndex
from windrow.papers.window_indexes.step_counts import Steps
from windrow.papers.window_indexes.value_index import ValueIndex

PURGES_PER_ROLL_OVER = 5
"""How often unused values are purged while the window is replaced once (6.1)."""


class UnsuitableIndexError(WindrowError):
    """An index cannot be kept over basic windows that are stored in this way.

    >>> import numpy as np
    >>> from windrow.windows import CountBased, GroupStorage, Groups
    >>> from windrow.windows import IndexedWindow, UnsuitableIndexError, t_index
    >>> ports = Groups(np.array([1024]))
    >>> try:
    ...     IndexedWindow(CountBased(2, 3), GroupStorage(ports), t_index())
    ... except UnsuitableIndexError as error:
    ...     print(error.where)
    T-INDEX over GROUP
    """

    def __init__(self, storage: str, index: str, suitable: frozenset[str], reason: str) -> None:
        self.storage, self.index = storage, index
        super().__init__(
            reason, where=f"{index} over {storage}", expected=" or ".join(sorted(suitable)),
            found=index, remedy="choose another index or another storage method",
        )  # fmt: skip


class UnanswerableError(WindrowError):
    """The index or storage of a window lacks what a query needs.

    >>> import numpy as np
    >>> from windrow.windows import CountBased, IndexedWindow, ListStorage
    >>> from windrow.windows import UnanswerableError, l_index, range_histogram
    >>> window = IndexedWindow(CountBased(2, 3), ListStorage(), l_index())
    >>> try:
    ...     range_histogram(window)
    ... except UnanswerableError as error:
    ...     print(error.query)
    range_histogram
    """

    def __init__(self, query: str, needed: str, found: str, instead: str) -> None:
        self.query = query
        super().__init__(where=query, expected=needed, found=found, remedy=f"use {instead}")


class IndexedWindow(SlidingWindow[BasicContents]):
    """``number`` says which count of a shared index is this window's.

    >>> import numpy as np
    >>> from windrow.windows import CountBased, IndexedWindow, ListStorage, h_index, histogram
    >>> window = IndexedWindow(CountBased(basic_windows=2, tuples=2), ListStorage(), h_index())
    >>> for turn in window.feed(np.array([4, 6, 4, 4, 9, 9])):
    ...     print(turn, *histogram(window))
    1 [4 6] [1 1]
    2 [4 6] [3 1]
    3 [4 9] [2 2]
    """

    def __init__(
        self,
        spec: CountBased | TimeBased,
        storage: Storage,
        index: ValueIndex | GroupIndex | None = None,
        number: int = 0,
    ) -> None:
        super().__init__(spec)
        self.storage, self.index, self.number = storage, index, number
        self.steps = Steps()
        self._purge_every = max(1, spec.basic_windows // PURGES_PER_ROLL_OVER)
        if index is not None:
            _check(storage, index)
            if not 0 <= number < index.windows:
                raise WindrowError(
                    where=index.name, expected=f"a window number below {index.windows}",
                    found=str(number), remedy="make the index for as many windows as share it",
                )  # fmt: skip

    @property
    def name(self) -> str:
        """Its storage and its index, by the names that the paper gives them."""
        parts = (self.storage, self.index)
        return " ".join(part.name for part in parts if part is not None)

    def _insert(self, values: Int64s) -> None:
        wanted = self.storage.insert(values, self.steps)
        if self.index is not None and len(wanted):
            wanted = self.index.locate(wanted, self.steps)
        self.storage.point(wanted)

    def _close(self) -> BasicContents:
        return self.storage.close()

    def _replace(self, newest: BasicContents, oldest: BasicContents | None) -> None:
        index, steps = self.index, self.steps
        if index is None:
            return
        if isinstance(index, GroupIndex) and isinstance(self.storage, GroupStorage):
            delta = newest.counts if oldest is None else newest.counts - oldest.counts
            index.merge(delta, steps, self.number)
            return
        index.attach(newest.pointers, steps, newest.counts, self.number)
        if oldest is not None:
            index.expire(oldest.pointers, steps, oldest.counts, self.number)
        if self.turns % self._purge_every == 0:
            index.purge(steps)


def _check(storage: Storage, index: ValueIndex | GroupIndex) -> None:
    if index.name not in storage.indexed_by:
        reason = (
            "AGGR and HASH count single values, the G-INDEX ranges of them"
            if isinstance(index, GroupIndex)
            else "GROUP no longer knows single values"
        )
        raise UnsuitableIndexError(storage.name, index.name, storage.indexed_by, reason)
    if isinstance(index, GroupIndex) and isinstance(storage, GroupStorage):
        ours, theirs = storage.groups.bounds, index.groups.bounds
        if not np.array_equal(ours, theirs):
            raise UnsuitableIndexError(
                storage.name, index.name, storage.indexed_by, "their groups have different bounds"
            )
