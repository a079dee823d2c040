"""A key in the directories of several runs at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from windrow.archive.runs.addresses import array_at, pointer
from windrow.archive.runs.directory import Directory
from windrow.columns.kernels import bytes_in, grid, grid_out, kernel, void


class Finder:
    """The buckets of a key of one column in the directories of some runs.

    Strings and bytes are searched for in one call of a kernel; it goes by addresses, so what is
    found depends on the directories being held, as they are here. Other keys, whose comparison is
    a single instruction of numpy's, are looked for run by run.
    """

    def __init__(self, directories: Sequence[Directory]) -> None:
        self._directories = directories
        self._table = None
        if directories and all(len(d.columns) == 1 and d.is_bytes for d in directories):
            self._table = np.array([d.addresses() for d in directories], np.int64)

    def buckets(self, key: Any) -> Sequence[Sequence[int]]:
        """The rows [start, stop) of the key, a pair for each run; empty where it has none."""
        if not self._directories:
            return []
        sought = self._directories[0].sought(key)
        if self._table is None:
            return [directory.bucket(sought) for directory in self._directories]
        found = np.empty((len(self._table), 2), np.int64)
        _buckets(self._table, sought, found)
        pairs: list[list[int]] = found.tolist()
        return pairs


@kernel(void, grid, bytes_in, grid_out)
def _buckets(table, value, found):  # type: ignore[no-untyped-def]
    """For each directory (offsets, bytes, starts, count, end): the rows of a value's bucket."""
    for run in range(len(table)):
        count, end = table[run, 3], table[run, 4]
        offsets = array_at(pointer(table[run, 0]), count + 1, np.int64)
        data = array_at(pointer(table[run, 1]), offsets[count], np.uint8)
        low, high = 0, count
        while low < high:
            middle = (low + high) // 2
            start = offsets[middle]
            length = offsets[middle + 1] - start
            sign = 0
            for i in range(min(length, len(value))):
                if data[start + i] != value[i]:
                    sign = -1 if data[start + i] < value[i] else 1
                    break
            if sign == 0 and length < len(value):
                sign = -1
            elif sign == 0 and length == len(value):
                low = middle
                break
            if sign < 0:
                low = middle + 1
            else:
                high = middle
        found[run, 0] = found[run, 1] = 0
        if low < high:
            starts = array_at(pointer(table[run, 2]), count, np.int64)
            found[run, 0] = starts[low]
            found[run, 1] = end if low + 1 == count else starts[low + 1]
