"""The buffer before a synopsis: it pre-aggregates the sub-window that is filling.

A sub-window number k of a time-based window is ((k - 1) * s, k * s], as windows with SLIDE are; of
a count-based one it is the k-th s rows. The buffer holds one value of the content, not the rows.
It hands a sub-window over as soon as it is full: when s rows have come, a row of a later one comes,
or ``advance`` says that time has passed. How rows are cut into batches makes no difference.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, Generic

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
