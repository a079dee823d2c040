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

import numpy as np
import pyarrow as pa

from windrow.columns.arrays import Int64s
from windrow.columns.saved_state import Saved
from windrow.core.patterns import UpdatePattern
from windrow.synopses.base import Array, as_array
from windrow.synopses.errors import FrequentInputError, SynopsisError
from windrow.synopses.estimates import Estimate
from windrow.synopses.frequent_lists import top_lists
from windrow.synopses.grouped_table import concatenate_alike

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


class _List(NamedTuple):
    """The most frequent items of a sub-window; ``last`` is the count of the k-th, or 0."""

    number: int
    items: tuple[Any, ...]
    counts: tuple[int, ...]
    last: int


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
        self.k, self.sub_windows, self.sub_window, self.by_time = (
            k,
            sub_windows,
            sub_window,
            by_time,
        )
        self.delta = 0
        self._local: tuple[Array, Int64s] = (np.empty(0, np.int64), np.empty(0, np.int64))
        self._global: dict[Any, int] = {}
        self._lists: deque[_List] = deque()
        self._rows = 0  # that have come, for sub-windows of rows
        self._filling: int | None = None if by_time else 1  # the number of the sub-window
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
        if values.dtype.kind == "f" and len(values):
            raise SynopsisError(
                where="FREQUENT", expected="integers or texts", found="floating-point numbers",
                remedy="round them, or count ranges of them",
            )  # fmt: skip
        if self.by_time:
            numbers = self._numbers(values, ts)
            yield from self._take(values, numbers)
        else:
            numbers = (self._rows + np.arange(len(values))) // self.sub_window + 1
            self._rows += len(values)
            yield from self._take(values, numbers)
            if self._rows % self.sub_window == 0:
                yield from self._reach(self._rows // self.sub_window + 1)

    def advance(self, now: int) -> Iterator[int]:
        """Every row up to ``now`` (inclusive) has come; for windows of time."""
        if self.by_time:
            yield from self._reach(now // self.sub_window + 1)

    def _numbers(self, values: Array, ts: Int64s | None) -> Int64s:
        if ts is None or len(ts) != len(values):
            raise SynopsisError(
                where="FREQUENT", expected="a timestamp for each row",
                found="none" if ts is None else str(len(ts)), remedy="give ts with the values",
            )  # fmt: skip
        ts = np.asarray(ts, np.int64)
        numbers: Int64s = -(-ts // self.sub_window)
        filling = self._filling
        if bool((np.diff(ts) < 0).any()) or (
            len(ts) and filling is not None and numbers[0] < filling
        ):
            raise SynopsisError(
                where="FREQUENT", expected="rows in the order of their time",
                found="a timestamp that decreases", remedy="sort them, or allow for slack before",
            )  # fmt: skip
        return numbers

    def _take(self, values: Array, numbers: Int64s) -> Iterator[int]:
        """Count rows; the sub-windows before the last one of them are full."""
        if not len(values):
            return
        for known in islice(self._global, 1):
            concatenate_alike([as_array([known]), values])
        yield from self._reach(int(numbers[0]))
        items, counts = self._local
        mixed = concatenate_alike([items, values]) if len(items) else values
        weight = np.ones(len(mixed), np.int64)
        weight[: len(items)] = counts
        numbers = np.concatenate([np.full(len(items), numbers[0]), numbers])
        cuts = np.append(0, np.flatnonzero(np.diff(numbers)) + 1).astype(np.int64)
        encoded = pa.array(mixed).dictionary_encode()
        code = encoded.indices.to_numpy().astype(np.int64)
        names = encoded.dictionary.to_pylist()
        if len(cuts) > 1:
            rank = _ranks(encoded.dictionary)
            full = self._full_lists(code, weight, cuts, rank, names, numbers)
            self._local = (np.empty(0, np.int64), np.empty(0, np.int64))
            for found, later in zip(full, numbers[cuts[1:]].tolist(), strict=True):
                yield from self._push(found, later)
        rest = int(cuts[-1])
        self._filling = int(numbers[-1])
        kept, inverse = np.unique(mixed[rest:], return_inverse=True)
        totals = np.zeros(len(kept), np.int64)
        np.add.at(totals, inverse, weight[rest:])
        self._local = (kept, totals)

    def _full_lists(
        self, code: Int64s, weight: Int64s, cuts: Int64s, rank: Int64s, names: list[Any],
        numbers: Int64s,
    ) -> Iterator[_List]:  # fmt: skip
        windows = len(cuts) - 1
        width = min(self.k, len(names))
        best, counts = (np.empty((windows, width), np.int64) for _ in range(2))
        lengths = np.empty(windows, np.int64)
        top_lists(code, weight, cuts, rank, width, best, counts, lengths)
        for i, (number, length) in enumerate(
            zip(numbers[cuts[:-1]].tolist(), lengths.tolist(), strict=True)
        ):
            items = tuple(names[item] for item in best[i, :length].tolist())
            yield self._list(number, items, tuple(counts[i, :length].tolist()))

    def _list(self, number: int, items: tuple[Any, ...], counts: tuple[int, ...]) -> _List:
        return _List(number, items, counts, counts[-1] if len(items) == self.k else 0)

    def _reach(self, number: int) -> Iterator[int]:
        """Close the sub-window that is filling if this is a later one; those between are empty."""
        if self._filling is None or number <= self._filling:
            self._filling = number if self._filling is None else self._filling
            return
        items, counts = self._local
        rank = np.arange(len(items))
        cuts = np.array([0, len(items)])
        names, numbers = items.tolist(), np.full(max(1, len(items)), self._filling)
        self._local = (np.empty(0, np.int64), np.empty(0, np.int64))
        closed = list(self._full_lists(rank, counts, cuts, rank, names, numbers))
        self._filling = number
        for found in closed:
            yield from self._push(found, number)

    # --- lists, lines 11 to 28

    def _push(self, newest: _List, later: int) -> Iterator[int]:
        """Let a list into the window; those up to the one that is filling, ``later``, are empty."""
        yield from self._slide(newest)
        if newest.number < later - 1:
            yield from self._slide(_List(later - 1, (), (), 0))

    def _slide(self, newest: _List) -> Iterator[int]:
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

    def _expire(self, oldest: _List) -> None:
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
        return lists + len(self._global) + len(self._local[0])

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
        items, counts = self._local
        saved.put[LOCAL] = pa.RecordBatch.from_pydict({"item": pa.array(items), "count": counts})
        saved.meta = {
            "rows": self._rows, "filling": self._filling, "first": self._first,
            "newest": self._newest, "counter": self._counter,
        }  # fmt: skip
        return saved

    def load(self, segments: Mapping[str, pa.RecordBatch], meta: Mapping[str, Any]) -> None:
        """Become what the saved one was, with the same parameters."""
        self._rows, self._counter = int(meta["rows"]), int(meta["counter"])
        self._filling, self._first = meta["filling"], meta["first"]
        self._newest = int(meta["newest"])
        for name in sorted(segments):
            if name == LOCAL:
                items = as_array(segments[name]["item"].to_numpy(zero_copy_only=False))
                self._local = (items, segments[name]["count"].to_numpy())
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
            found = self._list(number, items, counts)
            self._lists.append(found)
            self.delta += found.last
            for item, count in pairs:
                self._global[item] = self._global.get(item, 0) + count


def _parts(window: int, sub_window: int) -> int:
    """How many sub-windows there are; none if they do not divide the window."""
    return window // sub_window if sub_window > 0 and window % sub_window == 0 else 0


def _ranks(dictionary: pa.Array) -> Int64s:
    """Places of the items in their order."""
    names = as_array(dictionary.to_numpy(zero_copy_only=False))
    ranks = np.empty(len(names), np.int64)
    ranks[np.argsort(names, kind="stable")] = np.arange(len(names))
    return ranks


def _batch(lists: list[_List]) -> pa.RecordBatch:
    columns = {
        "number": pa.array([found.number for found in lists for _ in found.items]),
        "item": pa.array([item for found in lists for item in found.items]),
        "count": pa.array([count for found in lists for count in found.counts]),
    }
    return pa.RecordBatch.from_pydict(columns)
