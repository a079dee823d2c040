"""A key in the directories of several runs at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.archive.format.kernel_use import Kernels, kernels_pay
from windrow.archive.format.sheet import Sheet
from windrow.archive.runs.entries import Direct
from windrow.archive.runs.run_directory import Directory
from windrow.archive.runs.search import BYTES


class Known:
    """Runs whose buckets can be had directly: their sheets, and how a bucket is had."""

    def __init__(self, count: int) -> None:
        self.sheets = np.zeros(count, np.int64)
        self.slices: list[Callable[[int, int], pa.RecordBatch] | None] = [None] * count
        self._held: dict[int, Sheet] = {}

    def add(self, place: int, direct: Direct) -> None:
        self._held[place] = direct.sheet
        self.sheets[place], self.slices[place] = direct.sheet.at, direct.slice

    def check(self, found: Sequence[Sequence[int]]) -> None:
        """Compare what the buckets of some runs are read from, where they have sheets."""
        for place, (start, stop) in enumerate(found):
            if place in self._held:
                self._held[place].check(start, stop)


class Finder:
    """The buckets of a key of one column in the directories of some runs.

    All but decimals are searched for in one call of a kernel; it goes by addresses, so what is
    found depends on the directories being held, as they are here. It compares what it looks at with
    its sum, if that has not been done.
    """

    def __init__(self, directories: Sequence[Directory]) -> None:
        self._directories = directories
        self._table = None
        held = {d.key_form for d in directories}
        if len(held) == 1 and held != {-1}:
            self._bytes = held == {BYTES}
            self._table = np.array([d.addresses() for d in directories], np.int64)
        self._none = np.zeros(len(directories), np.int64)
        self._find: Callable[..., int] | None = None  # the kernel, once it pays

    def buckets(self, key: Any, known: Known | None = None) -> Sequence[Sequence[int]]:
        """The rows [start, stop) of the key, a pair for each run; empty where it has none.

        With ``known``, what it has sheets for has been compared with its sums.
        """
        if not self._directories:
            return []
        sought = self._directories[0].convert_key(key)
        if self._find is None and self._table is not None and kernels_pay(len(self._table)):
            self._find = _kernels.find_buckets
        if self._find is None or self._table is None:
            found = [directory.bucket(sought) for directory in self._directories]
            if known is not None:
                known.check(found)
            return found
        pairs = np.empty((len(self._table), 2), np.int64)
        number, text = (0, sought) if self._bytes else (sought, NOTHING)
        sheets = self._none if known is None else known.sheets
        bad = self._find(self._table, sheets, text, number, pairs)
        if bad > 0:
            raise self._directories[bad - 1].damage_error(int(pairs[bad - 1, 0]))
        if bad < 0:
            assert known is not None, "there are sheets"
            known.check([(0, 0)] * (-bad - 1) + [pairs[-bad - 1].tolist()])
        listed: list[list[int]] = pairs.tolist()
        return listed


NOTHING = np.zeros(0, np.uint8)
_kernels = Kernels("windrow.archive.runs.kernels.search_kernels")
