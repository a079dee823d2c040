"""Synopses of join results by expiry: RJ, IJ and BIJ (Golab 2006, 8.3.2).

The intervals of a join synopsis are those of a running, interval or basic interval synopsis, but a
result belongs to the sub-window of its *older* tuple: with that it expires. So an update appends a
sub-window and adds new results to all that are there. Space is the same as without a join; an
update touches every interval instead of one or two.

A (n, n)-join is then the last n sub-windows, since a result is in it if its older tuple is. For a
(n1, n2)-join with n1 < n2, of the sub-windows before the last n1 those results are wanted whose
younger tuple is in the last n1. The *generalised* synopsis keeps for these: beside the value of all
results of a sub-window, those whose tuple of the first window is at least d sub-windows younger,
for d = 1 .. g, and the same for the second window. That is 2g + 1 values per sub-window, and
serves every (n1, n2)-join with |n1 - n2| <= g. The dissertation keeps three, which is the same for
g = 1, and not enough from g = 2 on (``docs/design/deviations.md``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Generic

import pyarrow as pa

from windrow.columns.saved_state import Saved, below
from windrow.synopses.base import Synopsis
from windrow.synopses.basic_interval_synopsis import BasicIntervalSynopsis
from windrow.synopses.errors import SynopsisError, UnsuitableSynopsisError
from windrow.synopses.interval_content import ClosedInterval, V
from windrow.synopses.interval_synopsis import IntervalSynopsis
from windrow.synopses.running_synopsis import RunningSynopsis
from windrow.synopses.synopsis_buffers import (
    FIRST,
    SECOND,
    Cell,
    ClosedJoin,
    cell_segment,
    segment_cell,
)

NAMES: dict[type[Synopsis[Any]], str] = {
    RunningSynopsis: "RJ", IntervalSynopsis: "IJ", BasicIntervalSynopsis: "BIJ",
}  # fmt: skip


class JoinSynopsis(Generic[V]):
    """A synopsis whose sub-windows are those of the older tuples of join results.

    >>> import numpy as np
    >>> from windrow.synopses import BasicIntervalSynopsis, JoinBuffer, JoinSynopsis, content_for
    >>> counts = content_for("COUNT")
    >>> synopsis = JoinSynopsis(BasicIntervalSynopsis(counts, s=10, b=4), g=1)
    >>> buffer = JoinBuffer(counts, s=10, g=1)
    >>> first, second = np.array([3, 12, 35, 38]), np.array([9, 35, 14, 39])
    >>> synopsis.follow(buffer.feed(np.zeros(4), first=first, second=second))
    >>> synopsis.follow(buffer.advance(40))
    >>> [synopsis.answer("COUNT", n, n)["value"].to_pylist() for n in (1, 2, 3, 4)]
    [[1], [1], [3], [4]]
    >>> synopsis.answer("COUNT", 2, 3)["value"].to_pylist()  # 35 in the first, 14 in the second
    [2]
    """

    def __init__(self, synopsis: Synopsis[V], g: int = 0) -> None:
        if not 0 <= g < synopsis.b:
            raise SynopsisError(
                where=NAMES[type(synopsis)], expected=f"g from 0 to b - 1 = {synopsis.b - 1}",
                found=str(g), remedy="g is how much the lengths of the two windows may differ",
            )  # fmt: skip
        self.synopsis, self.g = synopsis, g
        self._sides: dict[Cell, V] = {}  # of results whose younger tuple is at least so far away
        self._unsaved: set[Cell] = set()
        self._saved: set[Cell] = set()

    @property
    def name(self) -> str:
        """RJ, IJ or BIJ; with g if it is a generalised one."""
        name = NAMES[type(self.synopsis)]
        return f"{name}, g = {self.g}" if self.g else name

    def follow(self, results: Iterable[ClosedJoin[V]]) -> None:
        """Take in whatever a buffer hands over."""
        for closed in results:
            self.update(closed)

    def update(self, results: ClosedJoin[V]) -> None:
        """Let the windows slide up to this sub-window."""
        number, cells = results
        inner, f = self.synopsis, self.synopsis.f
        parts: dict[int, list[V]] = {}
        for cell, value in cells.items():
            parts.setdefault(cell.oldest, []).append(value)
        merged = {oldest: f.merge(values) for oldest, values in parts.items()}
        inner.update(ClosedInterval(number, merged.pop(number, f.empty())))
        inner.amend(merged)
        for cell, value in cells.items():
            if cell.oldest > number - inner.b:
                for distance in range(1, cell.distance + 1):
                    self._merge_into(cell._replace(distance=distance), value)
        for cell in [c for c in self._sides if c.oldest <= number - inner.b]:
            del self._sides[cell]
            self._unsaved.discard(cell)

    def _merge_into(self, side: Cell, value: V) -> None:
        before = self._sides.get(side)
        f = self.synopsis.f
        self._sides[side] = value if before is None else f.merge([before, value])
        self._unsaved.add(side)
        self.synopsis.work.touched += 1

    def probe(self, n1: int, n2: int) -> V:
        """What is kept of the results of the last ``n1`` and the last ``n2`` sub-windows."""
        self._check_lengths(n1, n2)
        return self._add_sides(self.synopsis.probe(min(n1, n2)), n1, n2)

    def scan(self, lengths: Iterable[tuple[int, int]]) -> dict[tuple[int, int], V]:
        """Joins of several lengths in one scan of a BIJ: no interval is read twice (rule CS5)."""
        pairs, inner = list(lengths), self.synopsis
        if not isinstance(inner, BasicIntervalSynopsis):
            raise UnsuitableSynopsisError(
                where=self.name, expected="a BIJ, whose intervals are scanned one by one",
                found=self.name, remedy="probe it for each pair of lengths (rule CS4)",
            )  # fmt: skip
        for pair in pairs:
            self._check_lengths(*pair)
        shorter = inner.scan(min(pair) for pair in pairs)
        return {pair: self._add_sides(shorter[min(pair)], *pair) for pair in pairs}

    def _check_lengths(self, n1: int, n2: int) -> None:
        if abs(n1 - n2) > self.g:
            raise SynopsisError(
                where=f"({n1}, {n2})-join", expected=f"lengths that differ by at most g = {self.g}",
                found=str(abs(n1 - n2)), remedy="make the synopsis with a greater g",
            )  # fmt: skip
        self.synopsis.check_window(max(n1, n2))

    def _add_sides(self, shorter: V, n1: int, n2: int) -> V:
        """Add what the longer window has: results whose younger tuple is in the shorter one."""
        inner, number = self.synopsis, self.synopsis.number
        if number is None or n1 == n2:
            return shorter
        last = number - min(n1, n2)  # the newest sub-window that only the longer window has
        younger = FIRST if n1 < n2 else SECOND
        wanted = [
            Cell(oldest, younger, last - oldest + 1)
            for oldest in range(number - max(n1, n2) + 1, last + 1)
        ]
        sides = [self._sides[cell] for cell in wanted if cell in self._sides]
        inner.work.combined += len(sides)
        return inner.f.merge([shorter, *sides])

    def answer(
        self, function: str, n1: int, n2: int, parameter: float | None = None
    ) -> pa.RecordBatch:
        """An aggregate over a (n1, n2)-join, by group."""
        return self.synopsis.f.answer(function, self.probe(n1, n2), parameter)

    def extend(self, b: int) -> int:
        """As of a synopsis; the windows of the join have to be extended at the same update."""
        return self.synopsis.extend(b)

    def size(self) -> int:
        """How many values it holds."""
        return self.synopsis.size() + len(self._sides)

    def save(self) -> Saved:
        """The values written and dropped since the last save."""
        saved, sides = Saved(), Saved()
        f = self.synopsis.f
        sides.put = {cell_segment(cell): f.to_batch(self._sides[cell]) for cell in self._unsaved}
        sides.drop = [cell_segment(cell) for cell in sorted(self._saved - self._sides.keys())]
        self._saved, self._unsaved = set(self._sides), set()
        saved.add("intervals", self.synopsis.save())
        saved.add("sides", sides)
        return saved

    def load(self, segments: Mapping[str, pa.RecordBatch], meta: Mapping[str, Any]) -> None:
        """Become what the saved one was, with the same parameters."""
        self.synopsis.load(below("intervals", segments), meta["intervals"])
        f = self.synopsis.f
        sides = below("sides", segments)
        self._sides = {segment_cell(name): f.from_batch(batch) for name, batch in sides.items()}
        self._saved, self._unsaved = set(self._sides), set()
