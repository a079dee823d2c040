"""The buffer before a join synopsis: new results by the sub-windows of their two tuples.

A result of a window join expires with its older tuple, so results do not expire in the order in
which they come, and an update has something for every interval of the synopsis (Golab 2006, 8.3.2).
The buffer pre-aggregates the results of the sub-window that is filling in *cells*: by the
sub-window of the older tuple, which says when the result expires, by which of the two windows has
the younger tuple, and by how many sub-windows it is younger, up to g.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, Generic, NamedTuple

import numpy as np
import pyarrow as pa

from windrow.columns.arrays import Int64s
from windrow.columns.saved_state import Saved
from windrow.synopses.errors import SynopsisError
from windrow.synopses.interval_content import Array, Content, V, as_array

BOTH, FIRST, SECOND = 0, 1, 2
"""Which window has the younger tuple; BOTH if the two are of one sub-window, or nobody asks."""


class Cell(NamedTuple):
    """``oldest`` is the number of the older tuple's sub-window; see the module.

    >>> from windrow.synopses import Cell
    >>> Cell(oldest=4, younger=1, distance=2)  # 4 in the second window, 6 or later in the first
    Cell(oldest=4, younger=1, distance=2)
    """

    oldest: int
    younger: int
    distance: int


class ClosedJoin(NamedTuple, Generic[V]):
    """The results of a sub-window that is over, by cell.

    >>> import numpy as np
    >>> from windrow.synopses import JoinBuffer, content_for
    >>> buffer = JoinBuffer(content_for("COUNT"), s=10, g=1)
    >>> closed, = buffer.feed(np.zeros(2), first=np.array([9, 12]), second=np.array([4, 3]))
    >>> closed.number, sorted(closed.cells)
    (1, [Cell(oldest=1, younger=0, distance=0)])
    """

    number: int
    cells: Mapping[Cell, V]


class JoinBuffer(Generic[V]):
    """``s`` ticks are a sub-window of both windows; ``g`` is that of the synopsis behind it.

    >>> import numpy as np
    >>> from windrow.synopses import JoinBuffer, content_for
    >>> buffer = JoinBuffer(content_for("COUNT"), s=10, g=2)
    >>> list(buffer.feed(np.zeros(2), first=np.array([35, 35]), second=np.array([4, 38])))
    []
    >>> [sorted(closed.cells) for closed in buffer.advance(40)]
    [[Cell(oldest=1, younger=1, distance=2), Cell(oldest=4, younger=0, distance=0)]]
    """

    def __init__(self, f: Content[V], s: int, g: int = 0) -> None:
        if s < 1 or g < 0:
            raise SynopsisError(
                where="join buffer", expected="s of at least 1 and g of at least 0",
                found=f"s = {s}, g = {g}", remedy="use those of the synopsis",
            )  # fmt: skip
        self.f, self.s, self.g = f, s, g
        self.cells: dict[Cell, V] = {}
        self._filling: int | None = None
        self._saved: set[str] = set()

    def feed(
        self, values: Array, groups: Array | None = None, *, first: Int64s, second: Int64s
    ) -> Iterator[ClosedJoin[V]]:
        """Take results in, with the time of each of their tuples; the sub-windows that are over.

        A result comes when its younger tuple does, and results come in this order.
        """
        values, first, second = as_array(values), np.asarray(first), np.asarray(second)
        groups = np.zeros(len(values), np.int64) if groups is None else as_array(groups)
        if not len(values) == len(groups) == len(first) == len(second):
            raise SynopsisError(
                where="join buffer", expected="two timestamps for each value",
                found=f"{len(values)} values, {len(groups)} groups, {len(first)} and {len(second)}",
                remedy="give one of each per result",
            )  # fmt: skip
        if not len(values):
            return
        came = np.maximum(first, second)
        one, other = (-(-ts.astype(np.int64) // self.s) for ts in (first, second))
        numbers = np.maximum(one, other)
        if bool((np.diff(came) < 0).any()) or (
            self._filling is not None and numbers[0] < self._filling
        ):
            raise SynopsisError(
                where="join buffer", expected="results in the order in which they arise",
                found="one that is older than the one before", remedy="feed what a join puts out",
            )  # fmt: skip
        cuts = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(values)]
        for start, stop in pairwise(cuts):
            yield from self._reach(int(numbers[start]))
            part = slice(start, stop)
            self._take(values[part], groups[part], one[part], other[part])

    def advance(self, now: int) -> Iterator[ClosedJoin[V]]:
        """Every result up to ``now`` (inclusive) has come."""
        yield from self._reach(now // self.s + 1)

    def _take(self, values: Array, groups: Array, one: Int64s, other: Int64s) -> None:
        distance = np.minimum(np.abs(one - other), self.g)
        younger = np.where(distance == 0, BOTH, np.where(one > other, FIRST, SECOND))
        keys = np.stack([np.minimum(one, other), younger, distance], axis=1)
        different, which = np.unique(keys, axis=0, return_inverse=True)
        for number, key in enumerate(different.tolist()):
            mine = which.reshape(-1) == number
            new = self.f.summarise(groups[mine], values[mine])
            cell = Cell(*key)
            before = self.cells.get(cell)
            self.cells[cell] = new if before is None else self.f.merge([before, new])

    def _reach(self, number: int) -> Iterator[ClosedJoin[V]]:
        filling, self._filling = self._filling, max(number, self._filling or number)
        if filling is None or number <= filling:
            return
        cells, self.cells = self.cells, {}
        yield ClosedJoin(filling, cells)
        if number - 1 > filling:
            yield ClosedJoin(number - 1, {})

    def size(self) -> int:
        """How many numbers, counters or sketches it holds."""
        return sum(self.f.size(value) for value in self.cells.values())

    def save(self) -> Saved:
        """The results of the sub-window that is filling."""
        put = {cell_segment(cell): self.f.to_batch(value) for cell, value in self.cells.items()}
        saved = Saved(put, sorted(self._saved - set(put)), {"filling": self._filling})
        self._saved = set(put)
        return saved

    def load(self, segments: Mapping[str, pa.RecordBatch], meta: Mapping[str, Any]) -> None:
        self.cells = {segment_cell(name): self.f.from_batch(b) for name, b in segments.items()}
        self._saved, self._filling = set(segments), meta["filling"]


def cell_segment(cell: Cell) -> str:
    return f"{cell.oldest}.{cell.younger}.{cell.distance}"


def segment_cell(name: str) -> Cell:
    return Cell(*map(int, name.split(".")))
