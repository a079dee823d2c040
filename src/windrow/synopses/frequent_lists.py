"""Lists of the most frequent items of sub-windows, counted by local counters.

Lines 2 to 10 of Algorithm 6 (Golab 2006, 6.2.1). All sub-windows that a batch of rows fills are
counted by one compiled kernel: O(1) per row, and O(d) per sub-window with d different items, unless
most of them make it into the list for a while. Of the sub-window that is filling, counters are
kept and not rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from windrow.columns.arrays import Int64s
from windrow.columns.kernels import grid_out, int64, ints, ints_out, kernel, void
from windrow.synopses.errors import SynopsisError
from windrow.synopses.grouped_table import concatenate_alike
from windrow.synopses.interval_content import Array, as_array


class TopList(NamedTuple):
    """The most frequent items of a sub-window; ``last`` is the count of the k-th, or 0."""

    number: int
    items: tuple[Any, ...]
    counts: tuple[int, ...]
    last: int


Closed = tuple[TopList, int]
"""A list, and the number of the next sub-window that has rows."""


class LocalCounters:
    """Counts the sub-window that is filling; ``filling`` is its number."""

    def __init__(self, k: int, sub_window: int, *, by_time: bool) -> None:
        self.k, self.sub_window, self.by_time = k, sub_window, by_time
        self.filling: int | None = None if by_time else 1
        self.rows = 0  # that have come, for sub-windows of rows
        self._counters: tuple[Array, Int64s] = (np.empty(0, np.int64), np.empty(0, np.int64))

    def __len__(self) -> int:
        return len(self._counters[0])

    def feed(self, values: Array, ts: Int64s | None) -> Iterator[Closed]:
        """Count rows; the lists of the sub-windows that are full."""
        if values.dtype.kind == "f" and len(values):
            raise SynopsisError(
                where="FREQUENT", expected="integers or texts", found="floating-point numbers",
                remedy="round them, or count ranges of them",
            )  # fmt: skip
        if self.by_time:
            yield from self._take(values, self._numbers(values, ts))
            return
        numbers = (self.rows + np.arange(len(values))) // self.sub_window + 1
        self.rows += len(values)
        yield from self._take(values, numbers)
        if self.rows % self.sub_window == 0:
            yield from self.close_before(self.rows // self.sub_window + 1)

    def _numbers(self, values: Array, ts: Int64s | None) -> Int64s:
        if ts is None or len(ts) != len(values):
            raise SynopsisError(
                where="FREQUENT", expected="a timestamp for each row",
                found="none" if ts is None else str(len(ts)), remedy="give ts with the values",
            )  # fmt: skip
        ts = np.asarray(ts, np.int64)
        numbers: Int64s = -(-ts // self.sub_window)
        filling = self.filling
        if bool((np.diff(ts) < 0).any()) or (
            len(ts) and filling is not None and numbers[0] < filling
        ):
            raise SynopsisError(
                where="FREQUENT", expected="rows in the order of their time",
                found="a timestamp that decreases", remedy="sort them, or allow for slack before",
            )  # fmt: skip
        return numbers

    def _take(self, values: Array, numbers: Int64s) -> Iterator[Closed]:
        """Count rows; the sub-windows before the last one of them are full."""
        if not len(values):
            return
        yield from self.close_before(int(numbers[0]))
        items, counts = self._counters
        mixed = concatenate_alike([items, values]) if len(items) else values
        weight = np.ones(len(mixed), np.int64)
        weight[: len(items)] = counts
        numbers = np.concatenate([np.full(len(items), numbers[0]), numbers])
        cuts = np.append(0, np.flatnonzero(np.diff(numbers)) + 1).astype(np.int64)
        if len(cuts) > 1:
            encoded = pa.array(mixed).dictionary_encode()
            code = encoded.indices.to_numpy().astype(np.int64)
            names, rank = encoded.dictionary.to_pylist(), _ranks(encoded.dictionary)
            full = self._full_lists(code, weight, cuts, rank, names, numbers)
            self._counters = (np.empty(0, np.int64), np.empty(0, np.int64))
            yield from zip(full, numbers[cuts[1:]].tolist(), strict=True)
        rest = int(cuts[-1])
        self.filling = int(numbers[-1])
        kept, inverse = np.unique(mixed[rest:], return_inverse=True)
        totals = np.zeros(len(kept), np.int64)
        np.add.at(totals, inverse, weight[rest:])
        self._counters = (kept, totals)

    def _full_lists(
        self, code: Int64s, weight: Int64s, cuts: Int64s, rank: Int64s, names: list[Any],
        numbers: Int64s,
    ) -> Iterator[TopList]:  # fmt: skip
        windows = len(cuts) - 1
        width = min(self.k, len(names))
        best, counts = (np.empty((windows, width), np.int64) for _ in range(2))
        lengths = np.empty(windows, np.int64)
        top_lists(code, weight, cuts, rank, width, best, counts, lengths)
        for i, (number, length) in enumerate(
            zip(numbers[cuts[:-1]].tolist(), lengths.tolist(), strict=True)
        ):
            items = tuple(names[item] for item in best[i, :length].tolist())
            yield self.make_list(number, items, tuple(counts[i, :length].tolist()))

    def make_list(self, number: int, items: tuple[Any, ...], counts: tuple[int, ...]) -> TopList:
        return TopList(number, items, counts, counts[-1] if len(items) == self.k else 0)

    def close_before(self, number: int) -> Iterator[Closed]:
        """Close the sub-window that is filling if this is a later one; those between are empty."""
        if self.filling is None or number <= self.filling:
            self.filling = number if self.filling is None else self.filling
            return
        items, counts = self._counters
        rank = np.arange(len(items))
        cuts = np.array([0, len(items)])
        names, numbers = items.tolist(), np.full(max(1, len(items)), self.filling)
        self._counters = (np.empty(0, np.int64), np.empty(0, np.int64))
        closed = list(self._full_lists(rank, counts, cuts, rank, names, numbers))
        self.filling = number
        yield from ((found, number) for found in closed)

    def to_batch(self) -> pa.RecordBatch:
        items, counts = self._counters
        return pa.RecordBatch.from_pydict({"item": pa.array(items), "count": counts})

    def load(self, batch: pa.RecordBatch) -> None:
        items = as_array(batch["item"].to_numpy(zero_copy_only=False))
        self._counters = (items, batch["count"].to_numpy())


def _ranks(dictionary: pa.Array) -> Int64s:
    """Places of the items in their order."""
    names = as_array(dictionary.to_numpy(zero_copy_only=False))
    ranks = np.empty(len(names), np.int64)
    ranks[np.argsort(names, kind="stable")] = np.arange(len(names))
    return ranks


@kernel(void, ints, ints, ints, ints, int64, grid_out, grid_out, ints_out)
def top_lists(code, weight, cuts, rank, k, best, counts, lengths):  # type: ignore[no-untyped-def]
    """Sub-window i has the tuples from ``cuts[i]`` to ``cuts[i + 1]``.

    ``code`` numbers the items of the batch, and a tuple counts ``weight`` times. Lists are from the
    most frequent item to the least; of equally frequent ones the lesser ``rank`` is first.
    """
    local = np.zeros(len(rank), np.int64)
    seen = np.empty(len(rank), np.int64)
    for window in range(len(cuts) - 1):
        different = 0
        for i in range(cuts[window], cuts[window + 1]):
            item = code[i]
            if local[item] == 0:
                seen[different] = item
                different += 1
            local[item] += weight[i]
        length = 0
        for j in range(different):
            item, count = seen[j], local[seen[j]]
            local[item] = 0
            place = length
            while place > 0 and (
                counts[window, place - 1] < count
                or (
                    counts[window, place - 1] == count
                    and rank[best[window, place - 1]] > rank[item]
                )
            ):
                place -= 1
            if place >= k:
                continue
            length = min(length + 1, k)
            for after in range(length - 1, place, -1):
                best[window, after] = best[window, after - 1]
                counts[window, after] = counts[window, after - 1]
            best[window, place], counts[window, place] = item, count
        lengths[window] = length
