"""A sliding window for attribute-valued queries: LIST basic windows, an index, and rings over it.

Queries that need the tuples themselves (a join, a sort that gives other attributes) follow a ring
from the value's node to its tuples (Golab et al. 2004, 5). Tuples are named by *positions*, which
count arrivals from 0; those of the window begin at ``base``. Other attributes are either kept
here (``schema``) or by whoever asks, who may forget what lies before ``base``.

A G-INDEX has a ring per range of values. Its nodes do not know single values, so these are then
kept with the tuples, and queries compare them.

Queries follow rings, so they cost what they give (6.3); the T-INDEX and L-INDEX know the order of
values, the H-INDEX sorts them first, and under a G-INDEX the tuples of each range are sorted when
they are asked for.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from windrow.columns.arrays import Int64s, order_keys
from windrow.columns.growable import Growable
from windrow.columns.stored_columns import RowStore
from windrow.core.errors import WindrowError
from windrow.papers.window_indexes.basic_windows import CountBased, SlidingWindow, TimeBased
from windrow.papers.window_indexes.group_index import GroupIndex
from windrow.papers.window_indexes.indexed_window import PURGES_PER_ROLL_OVER
from windrow.papers.window_indexes.ring import PositionRange, Ring
from windrow.papers.window_indexes.step_counts import Steps


class RingWindow(SlidingWindow[PositionRange]):
    """``schema`` and ``by`` are for rows: what they are, and what indexes them.

    >>> import numpy as np
    >>> from windrow.windows import CountBased, DirtyBitRing, RingWindow, h_index, look_up
    >>> window = RingWindow(CountBased(2, 2), DirtyBitRing(h_index()))
    >>> window.append(np.array([7, 3, 7, 5]))
    2
    >>> look_up(window, np.array([7]))[0]  # which of the tuples that came have this value
    array([0, 2])
    """

    def __init__(
        self,
        spec: CountBased | TimeBased,
        ring: Ring,
        schema: pa.Schema | None = None,
        by: str | None = None,
    ) -> None:
        super().__init__(spec)
        if ring.index.windows != 1:
            raise WindrowError(
                where=f"{ring.name} on {ring.index.name}", expected="an index of one window",
                found=f"one of {ring.index.windows}", remedy="give each ring an index of its own",
            )  # fmt: skip
        self.ring, self.index, self.steps = ring, ring.index, Steps()
        self.base = self.next = self._start = 0
        self.rows, self.by = RowStore(schema) if schema is not None else None, by
        self._coming: pa.RecordBatch | None = None  # rows whose values are being fed
        self._values = Growable(np.int64) if isinstance(ring.index, GroupIndex) else None
        self._purge_every = max(1, spec.basic_windows // PURGES_PER_ROLL_OVER)

    def feed_rows(self, rows: pa.RecordBatch, ts: Int64s | None = None) -> Iterator[int]:
        """As ``feed``, for rows of the window's schema; ``by`` must be a column without NULLs."""
        if self.rows is None or self.by is None:
            raise WindrowError(
                where="feed_rows", expected="a window with a schema and a column to index by",
                found="one that keeps positions only", remedy="pass both when creating it",
            )  # fmt: skip
        key = rows.column(self.by)
        if key.null_count:
            raise WindrowError(
                where=self.by, expected="a value in every row", found=f"{key.null_count} NULLs",
                remedy="leave these rows out, as NULL equals nothing",
            )  # fmt: skip
        self._coming = rows
        try:
            yield from self.feed(order_keys(key), ts)
        finally:
            self._coming = None

    def append_rows(self, rows: pa.RecordBatch, ts: Int64s | None = None) -> int:
        """As ``append``, for rows."""
        return sum(1 for _ in self.feed_rows(rows, ts))

    def take(self, positions: Int64s) -> pa.RecordBatch:
        """The rows at some positions of the window, as ``look_up`` finds them."""
        if self.rows is None:
            raise WindrowError(
                where="take", expected="a window that keeps rows", found="positions only",
                remedy="give the window a schema, or use look_up and sorted_positions",
            )  # fmt: skip
        return self.rows.take(positions)

    @property
    def stop(self) -> int:
        """The first position that is not in the window: what is filling begins there."""
        return self._start

    def values_of(self, nodes: Int64s, positions: Int64s) -> Int64s:
        """The values of tuples at ``positions``, which belong to ``nodes``."""
        if isinstance(self.index, GroupIndex):
            assert self._values is not None
            found: Int64s = self._values.take(positions)
            return found
        return self.index.values(nodes)

    def _insert(self, values: Int64s) -> None:
        if self.rows is not None:
            if self._coming is None or self._coming.num_rows < len(values):
                raise WindrowError(
                    where="feed", expected="rows, as the window keeps them", found="values alone",
                    remedy="use feed_rows or append_rows",
                )  # fmt: skip
            self.rows.append(self._coming.slice(0, len(values)))
            self._coming = self._coming.slice(len(values))
        self.ring.insert(values, self.next, self.steps)
        if self._values is not None:
            self._values.append(values)
        self.next += len(values)

    def _close(self) -> PositionRange:
        newest = PositionRange(self._start, self.next)
        self._start = self.next
        return newest

    def _replace(self, newest: PositionRange, oldest: PositionRange | None) -> None:
        self.ring.attach(self.steps)
        if oldest is not None:
            self.ring.expire(oldest, self.steps)
            self.base = oldest.stop
            if self.rows is not None:
                self.rows.drop_before(self.base)
            if self._values is not None:
                self._values.drop_before(self.base)
        if self.turns % self._purge_every == 0:
            self.ring.forget(self.index.purge(self.steps))


def look_up(window: RingWindow, values: Int64s) -> tuple[Int64s, Int64s]:
    """Positions of the tuples with these values, oldest first per value; and which value each has.

    The second array holds indexes into ``values``. This is how a join probes a window.

    >>> import numpy as np
    >>> from windrow.windows import CountBased, DirtyBitRing, RingWindow, h_index, look_up
    >>> window = RingWindow(CountBased(2, 2), DirtyBitRing(h_index()))
    >>> window.append(np.array([7, 3, 7, 5]))
    2
    >>> look_up(window, np.array([3, 7]))
    (array([1, 0, 2]), array([0, 1, 1]))
    """
    values = np.ascontiguousarray(values, np.int64)
    nodes = window.index.find(values)
    asked = np.flatnonzero(nodes >= 0)
    nodes = nodes[asked]
    lengths = window.index.counts(nodes)
    positions = window.ring.tuples(nodes)
    which = np.repeat(asked, lengths)
    if isinstance(window.index, GroupIndex):
        same = window.values_of(nodes, positions) == values[which]
        return positions[same], which[same]
    return positions, which


def sorted_positions(window: RingWindow) -> Int64s:
    """The window's tuples by value, oldest first among equal ones.

    >>> import numpy as np
    >>> from windrow.windows import CountBased, DirtyBitRing, RingWindow, sorted_positions, t_index
    >>> window = RingWindow(CountBased(2, 2), DirtyBitRing(t_index()))
    >>> window.append(np.array([7, 3, 7, 5]))
    2
    >>> sorted_positions(window)
    array([1, 3, 0, 2])
    """
    nodes = window.index.by_value()
    lengths = window.index.counts(nodes)
    held = lengths > 0
    positions = window.ring.tuples(nodes[held])
    if not isinstance(window.index, GroupIndex):
        return positions
    values = window.values_of(nodes, positions)
    return positions[np.lexsort((positions, values))]


def sorted_rows(window: RingWindow) -> pa.RecordBatch:
    """The window's rows in the order of the column that indexes them.

    >>> import pyarrow as pa
    >>> from windrow.windows import CountBased, DirtyBitRing, RingWindow, sorted_rows, t_index
    >>> calls = pa.schema([("caller", pa.int64()), ("seconds", pa.int64())])
    >>> window = RingWindow(CountBased(1, 3), DirtyBitRing(t_index()), calls, by="caller")
    >>> window.append_rows(pa.record_batch([[7, 3, 5], [60, 10, 25]], schema=calls))
    1
    >>> sorted_rows(window).column("seconds").to_pylist()
    [10, 25, 60]
    """
    return window.take(sorted_positions(window))
