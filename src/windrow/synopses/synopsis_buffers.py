"""The buffers before synopses: they pre-aggregate the sub-window that is filling.

A sub-window number k of a time-based window is ((k - 1) * s, k * s], as windows with SLIDE are; of
a count-based one it is the k-th s rows. The buffer holds one value of the content, not the rows. It
hands a sub-window over as soon as it is full: when s rows have come, a row of a later one comes, or
``advance`` says that time has passed. How rows are cut into batches makes no difference.

Before a join synopsis there is a `JoinBuffer`. A result of a window join expires with its older
tuple, so results do not expire in the order in which they come, and an update has something for
every interval of the synopsis (Golab 2006, 8.3.2). The buffer pre-aggregates the results of the
sub-window that is filling in *cells*: by the sub-window of the older tuple, which says when the
result expires, by which of the two windows has the younger tuple, and by how many sub-windows it is
younger, up to g.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, Generic, NamedTuple

import numpy as np
import pyarrow as pa

from windrow.columns.arrays import Int64s
from windrow.columns.saved_state import Saved
from windrow.synopses.errors import SynopsisError
from windrow.synopses.interval_content import Array, ClosedInterval, Content, V, as_array

PENDING = "pending"


class IntervalBuffer(ABC, Generic[V]):
    """What the two buffers have in common: the value of the sub-window that is filling."""

    def __init__(self, f: Content[V], s: int) -> None:
        if s < 1:
            raise SynopsisError(
                where="buffer", expected="s of at least 1", found=str(s),
                remedy="s is the length of a sub-window, in ticks or rows",
            )  # fmt: skip
        self.f, self.s = f, s
        self.pending = f.empty()
        self._had_pending = False

    def _take(self, groups: Array, values: Array) -> None:
        self.pending = self.f.merge([self.pending, self.f.summarise(groups, values)])

    def _close(self, number: int) -> ClosedInterval[V]:
        closed, self.pending = self.pending, self.f.empty()
        return ClosedInterval(number, closed)

    def size(self) -> int:
        """How many numbers, counters or sketches it holds."""
        return self.f.size(self.pending)

    def save(self) -> Saved:
        """The sub-window that is filling; nothing of it that is handed over."""
        saved = Saved(meta=self._meta())
        if self.f.size(self.pending):
            saved.put[PENDING] = self.f.to_batch(self.pending)
        elif self._had_pending:
            saved.drop.append(PENDING)
        self._had_pending = bool(saved.put)
        return saved

    def load(self, segments: Mapping[str, pa.RecordBatch], meta: Mapping[str, Any]) -> None:
        self._had_pending = PENDING in segments
        if self._had_pending:
            self.pending = self.f.from_batch(segments[PENDING])
        self._load_meta(meta)

    @abstractmethod
    def _meta(self) -> dict[str, Any]: ...

    @abstractmethod
    def _load_meta(self, meta: Mapping[str, Any]) -> None: ...


class TimeBuffer(IntervalBuffer[V]):
    """Sub-windows of ``s`` ticks. Where many are empty, only the last of them is handed over.

    >>> import numpy as np
    >>> from windrow.synopses import TimeBuffer, content_for
    >>> counts = content_for("COUNT")
    >>> buffer = TimeBuffer(counts, s=10)
    >>> [c.number for c in buffer.feed(np.zeros(4), ts=np.array([1, 10, 11, 45]))]
    [1, 2, 4]
    >>> [(c.number, counts.size(c.summary)) for c in buffer.advance(60)]
    [(5, 1), (6, 0)]
    """

    def __init__(self, f: Content[V], s: int) -> None:
        super().__init__(f, s)
        self._filling: int | None = None  # the number of the sub-window

    def feed(
        self, values: Array, groups: Array | None = None, *, ts: Int64s
    ) -> Iterator[ClosedInterval[V]]:
        """Take rows in, in the order of their time; the sub-windows that are full."""
        ts = np.asarray(ts, np.int64)
        values, groups = _rows(values, groups, len(ts))
        if not len(ts):
            return
        numbers = -(-ts // self.s)
        if bool((np.diff(ts) < 0).any()) or (
            self._filling is not None and numbers[0] < self._filling
        ):
            raise SynopsisError(
                where="feed", expected="rows in the order of their time",
                found="a timestamp that decreases", remedy="sort them, or allow for slack before",
            )  # fmt: skip
        cuts = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(ts)]
        for start, stop in pairwise(cuts):
            yield from self._reach(int(numbers[start]))
            self._take(groups[start:stop], values[start:stop])

    def advance(self, now: int) -> Iterator[ClosedInterval[V]]:
        """Every row up to ``now`` (inclusive) has come."""
        yield from self._reach(now // self.s + 1)

    def _reach(self, number: int) -> Iterator[ClosedInterval[V]]:
        filling, self._filling = self._filling, max(number, self._filling or number)
        if filling is None or number <= filling:
            return
        yield self._close(filling)
        if number - 1 > filling:
            yield ClosedInterval(number - 1, self.f.empty())

    def _meta(self) -> dict[str, Any]:
        return {"filling": self._filling}

    def _load_meta(self, meta: Mapping[str, Any]) -> None:
        self._filling = meta["filling"]


class RowBuffer(IntervalBuffer[V]):
    """Sub-windows of ``s`` rows.

    >>> import numpy as np
    >>> from windrow.synopses import RowBuffer, content_for
    >>> sums = content_for("SUM")
    >>> closed = RowBuffer(sums, s=3).feed(np.array([1, 2, 3, 4, 5, 6, 7]))
    >>> [sums.answer("SUM", interval.summary)["value"].to_pylist() for interval in closed]
    [[6], [15]]
    """

    def __init__(self, f: Content[V], s: int) -> None:
        super().__init__(f, s)
        self._rows = 0  # that have come

    def feed(self, values: Array, groups: Array | None = None) -> Iterator[ClosedInterval[V]]:
        """Take rows in; the sub-windows that are full."""
        values, groups = _rows(values, groups, len(values))
        start = 0
        while start < len(values):
            stop = min(start + self.s - self._rows % self.s, len(values))
            self._take(groups[start:stop], values[start:stop])
            self._rows += stop - start
            if self._rows % self.s == 0:
                yield self._close(self._rows // self.s)
            start = stop

    def _meta(self) -> dict[str, Any]:
        return {"rows": self._rows}

    def _load_meta(self, meta: Mapping[str, Any]) -> None:
        self._rows = int(meta["rows"])


def _rows(values: Array, groups: Array | None, count: int) -> tuple[Array, Array]:
    """Values and groups of equal length; without groups everything is group 0."""
    values = as_array(values)
    groups = np.zeros(len(values), np.int64) if groups is None else as_array(groups)
    if not len(values) == len(groups) == count:
        raise SynopsisError(
            where="feed", expected="as many values as groups and timestamps",
            found=f"{len(values)}, {len(groups)} and {count}", remedy="give one of each per row",
        )  # fmt: skip
    return values, groups


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
