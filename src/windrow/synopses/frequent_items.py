"""FREQUENT: the frequent items of a sliding window in bounded memory (Golab 2006, Algorithm 6).

Each sub-window is counted exactly by *local counters*. When it is full only a list of its k most
frequent items stays, and their counts are added to *global counters*; when it leaves the window
they are subtracted. ``delta`` is the sum of the counts of the k-th items: an item that is on no
list cannot be more frequent.

Invariants
    1. A global counter is never more than the item's true frequency in the window.
    2. An item that is reported, with a counter above delta, is more frequent than delta: there are
       no false positives. An item may be missed whose counts are mostly off the lists.
    3. An item's true frequency is at most its counter plus delta.
    4. Where every sub-window has fewer than k items, lists are complete, delta is 0 and counters
       are exact: the k-th count of a shorter list is 0 (6.2.2).

Of items that tie for the last place on a list the least is taken, so that the same rows give the
same answer, however they are cut into batches.

Cost: O(1) per tuple, amortised; d local counters for the sub-window that is filling, k items per
list and at most k times the number of sub-windows global counters. Lists expire with their
sub-window, so input must expire in the order in which it came (6.2.1); ``check_input`` says so.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

import pyarrow as pa

from windrow.columns.arrays import Int64s
from windrow.columns.saved_state import Saved
from windrow.core.patterns import UpdatePattern
from windrow.synopses.errors import FrequentInputError, SynopsisError
from windrow.synopses.estimates import Estimate
from windrow.synopses.frequent_lists import LocalCounters, TopList
from windrow.synopses.grouped_table import concatenate_alike
from windrow.synopses.interval_content import Array, as_array

LOCAL = "local"


class FrequentItems(NamedTuple):
    """What FREQUENT reports: items with their counters, the most frequent first, and delta.

    >>> import numpy as np
    >>> from windrow.synopses import Frequent
    >>> window = Frequent.over_rows(window=4, sub_window=2, k=2)
    >>> window.append(np.array(["a", "b", "a", "a", "a", "c"]))
    3
    >>> window.answer()
    FrequentItems(items=[('a', 3)], delta=1)
    """

    items: list[tuple[Any, int]]
    delta: int


class Frequent:
    """A window of sub-windows, each as a list of its ``k`` most frequent items.

    >>> import numpy as np
    >>> from windrow.synopses import Frequent
    >>> window = Frequent.over_time(window=30, sub_window=10, k=2)
    >>> for update in window.feed(np.array([7, 7, 8, 7, 9, 9, 5]),
    ...                           ts=np.array([1, 2, 3, 11, 21, 22, 31])):
    ...     print(update, window.answer())
    >>> for update in window.advance(40):
    ...     print(update, window.answer())
    4 FrequentItems(items=[(9, 2), (5, 1), (7, 1)], delta=0)
    """

    def __init__(self, k: int, sub_windows: int, sub_window: int, *, by_time: bool) -> None:
        if k < 1 or sub_windows < 1 or sub_window < 1:
            raise SynopsisError(
                where="FREQUENT", expected="k of at least 1, and a window of whole sub-windows",
                found=f"k = {k}, {sub_windows} sub-windows of {sub_window}",
                remedy="let the length of a sub-window divide that of the window",
            )  # fmt: skip
        self.k, self.sub_windows = k, sub_windows
        self.delta = 0
        self._local = LocalCounters(k, sub_window, by_time=by_time)
        self._global: dict[Any, int] = {}
        self._lists: deque[TopList] = deque()
        self._first: int | None = None  # the number of the first one
        self._newest = 0
        self._segments: dict[str, int] = {}  # the number of the last list of each
        self._saved_upto: int | None = None
        self._counter = 0

    @classmethod
    def over_rows(cls, window: int, sub_window: int, k: int) -> Frequent:
        """The last ``window`` rows, in sub-windows of ``sub_window``: N and b of the paper."""
        return cls(k, _parts(window, sub_window), sub_window, by_time=False)

    @classmethod
    def over_time(cls, window: int, sub_window: int, k: int) -> Frequent:
        """The last ``window`` ticks. Sub-window i is ((i - 1) * t, i * t]."""
        return cls(k, _parts(window, sub_window), sub_window, by_time=True)

    @staticmethod
    def check_input(pattern: UpdatePattern) -> None:
        """Refuse a plan whose results do not leave in the order in which they came (6.2.1)."""
        if pattern > UpdatePattern.WEAKEST:
            raise FrequentInputError(pattern)

    # --- rows in

    def append(self, values: Array, ts: Int64s | None = None) -> int:
        """Take rows in without pausing; the number of the newest full sub-window."""
        for _ in self.feed(values, ts):
            pass
        return self._newest

    def feed(self, values: Array, ts: Int64s | None = None) -> Iterator[int]:
        """Take rows in; pause where Algorithm 6 puts an answer out, with the update's number.

        That is after each sub-window, once the first one has left the window.
        """
        values = as_array(values)
        for known in islice(self._global, min(1, len(values))):
            concatenate_alike([as_array([known]), values])  # refuses another type
        for found, later in self._local.feed(values, ts):
            yield from self._push(found, later)

    def advance(self, now: int) -> Iterator[int]:
        """Every row up to ``now`` (inclusive) has come; for windows of time."""
        if self._local.by_time:
            for found, later in self._local.close_before(now // self._local.sub_window + 1):
                yield from self._push(found, later)

    # --- lists, lines 11 to 28

    def _push(self, newest: TopList, later: int) -> Iterator[int]:
        """Let a list into the window; those up to the one that is filling, ``later``, are empty."""
        yield from self._slide(newest)
        if newest.number < later - 1:
            yield from self._slide(TopList(later - 1, (), (), 0))

    def _slide(self, newest: TopList) -> Iterator[int]:
        self._newest = newest.number
        if self._first is None:
            self._first = newest.number
        if newest.items:
            self._lists.append(newest)
        for item, count in zip(newest.items, newest.counts, strict=True):
            self._global[item] = self._global.get(item, 0) + count
        self.delta += newest.last
        while self._lists and self._lists[0].number <= newest.number - self.sub_windows:
            self._expire(self._lists.popleft())
        if newest.number - self._first >= self.sub_windows:
            yield newest.number

    def _expire(self, oldest: TopList) -> None:
        self.delta -= oldest.last
        for item, count in zip(oldest.items, oldest.counts, strict=True):
            left = self._global[item] - count
            if left:
                self._global[item] = left
            else:
                del self._global[item]

    # --- answers

    def answer(self, threshold: int | None = None) -> FrequentItems:
        """Items that are certainly more frequent than delta, or than a threshold of one's own.

        Below delta a threshold finds fewer of the items that exceed it, but never a wrong one.
        """
        least = self.delta if threshold is None else threshold
        found = [(item, count) for item, count in self._global.items() if count > least]
        return FrequentItems(sorted(found, key=lambda pair: (-pair[1], pair[0])), self.delta)

    def estimate(self, item: Any) -> Estimate:
        """The counter of an item, which is its least frequency, and the greatest that it can have.

        >>> import numpy as np
        >>> from windrow.synopses import Frequent
        >>> window = Frequent.over_rows(window=6, sub_window=3, k=1)
        >>> window.append(np.array([4, 4, 5, 4, 5, 5]))
        2
        >>> window.estimate(4), window.estimate(5)
        (Estimate(estimate=2, lower=2, upper=6), Estimate(estimate=2, lower=2, upper=6))
        """
        count = self._global.get(item, 0)
        return Estimate(count, count, count + self.delta)

    def size(self) -> int:
        """Pairs of an item and a count: in lists, global counters and local counters."""
        lists = sum(len(found.items) for found in self._lists)
        return lists + len(self._global) + len(self._local)

    # --- state

    def save(self) -> Saved:
        """The lists since the last save as one segment, and the local counters."""
        saved = Saved()
        upto = self._saved_upto
        new = [found for found in self._lists if upto is None or found.number > upto]
        if new:
            name = f"l{self._counter:08d}"
            self._counter += 1
            saved.put[name] = _batch(new)
            self._segments[name] = self._saved_upto = new[-1].number
        live = self._lists[0].number if self._lists else self._newest + 1
        saved.drop = [name for name, last in self._segments.items() if last < live]
        self._segments = {n: last for n, last in self._segments.items() if last >= live}
        saved.put[LOCAL] = self._local.to_batch()
        saved.meta = {
            "rows": self._local.rows, "filling": self._local.filling, "first": self._first,
            "newest": self._newest, "counter": self._counter,
        }  # fmt: skip
        return saved

    def load(self, segments: Mapping[str, pa.RecordBatch], meta: Mapping[str, Any]) -> None:
        """Become what the saved one was, with the same parameters."""
        self._local.rows, self._local.filling = int(meta["rows"]), meta["filling"]
        self._counter, self._first = int(meta["counter"]), meta["first"]
        self._newest = int(meta["newest"])
        for name in sorted(segments):
            if name == LOCAL:
                self._local.load(segments[name])
            else:
                self._load_lists(name, segments[name])

    def _load_lists(self, name: str, batch: pa.RecordBatch) -> None:
        self._segments[name] = self._saved_upto = batch["number"][-1].as_py()
        rows = zip(*(batch[c].to_pylist() for c in ("number", "item", "count")), strict=True)
        lists: dict[int, list[tuple[Any, int]]] = {}
        for number, item, count in rows:
            if number > self._newest - self.sub_windows:
                lists.setdefault(number, []).append((item, count))
        for number, pairs in lists.items():
            items, counts = zip(*pairs, strict=True)
            found = self._local.make_list(number, items, counts)
            self._lists.append(found)
            self.delta += found.last
            for item, count in pairs:
                self._global[item] = self._global.get(item, 0) + count


def _parts(window: int, sub_window: int) -> int:
    """How many sub-windows there are; none if they do not divide the window."""
    return window // sub_window if sub_window > 0 and window % sub_window == 0 else 0


def _batch(lists: list[TopList]) -> pa.RecordBatch:
    columns = {
        "number": pa.array([found.number for found in lists for _ in found.items]),
        "item": pa.array([item for found in lists for item in found.items]),
        "count": pa.array([count for found in lists for count in found.counts]),
    }
    return pa.RecordBatch.from_pydict(columns)
