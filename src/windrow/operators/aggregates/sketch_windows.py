"""APPROXIMATE COUNT(DISTINCT x) of one query: the sketches of sub-windows, merged for its window.

Nothing can be subtracted from a sketch (``windrow.operators.aggregates.sketch_cells``). So each
group keeps its window as two stacks: newer sketches with what they come to together, and for each
of the older ones what it and those after it come to. When the last of the older ones has left, the
newer ones become older. An answer merges two sketches, and each sketch is merged twice while it is
in the window, however many there are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.columns.arrays import Int64s
from windrow.columns.interner import Interner
from windrow.operators.aggregates.events import Events, renumber_groups
from windrow.operators.aggregates.sketch_cells import READINGS, SketchCells, Whole, whole_numbers
from windrow.operators.base import Saved
from windrow.operators.state.sub_window_store import DueSummaries
from windrow.operators.sub_window_clocks import SubWindowClock
from windrow.synopses.sketches import DistinctSketches


class _TwoStacks:
    """The sketches of one group that are in the window, merged; see the module."""

    __slots__ = ("_content", "_newer", "_older", "_together")

    def __init__(self, content: DistinctSketches) -> None:
        self._content = content
        self._older: list[Any] = []
        self._newer: list[Any] = []
        self._together: Any = None

    def push(self, sketch: Any) -> None:
        self._newer.append(sketch)
        known = [] if self._together is None else [self._together]
        self._together = self._content.unite([*known, sketch])

    def pop(self) -> None:
        """Let the oldest one leave."""
        if not self._older:
            after: list[Any] = []
            for sketch in reversed(self._newer):
                after = [self._content.unite([sketch, *after])]
                self._older += after
            self._newer, self._together = [], None
        self._older.pop()

    def read(self) -> Whole:
        """The estimate and its bounds, in whole numbers."""
        found = self._older[-1:] + ([] if self._together is None else [self._together])
        if not found:
            return 0, 0, 0
        return whole_numbers(self._content, self._content.unite(found))


class SketchWindows:
    """Sketches of the values of one argument, and the windows over them, by group."""

    def __init__(self, content: DistinctSketches | None = None) -> None:
        self.cells = SketchCells(content)
        self._windows: dict[int, _TwoStacks] = {}
        self._read: npt.NDArray[Any] = np.zeros((0, READINGS), np.int64)

    def __len__(self) -> int:
        return len(self.cells)

    def fold(self, codes: Int64s, comes: Int64s, leaves: Int64s, argument: pa.Array) -> None:
        """Take values into the sketches of their sub-windows; each group gets one, if empty."""
        self.cells.fold(codes, comes, leaves, argument)

    def advance(self, clock: SubWindowClock, codes: int) -> list[tuple[pa.Array, pa.Array]]:
        """The estimates and their bounds after what comes and goes by now."""
        return self._update(clock.translate(self.cells.store.advance(clock.now)), codes)

    def replay(self, codes: int) -> None:
        """Take in what is in the window."""
        due = self.cells.store.living()
        if len(due.position):
            self._update(due, codes)

    def _update(self, due: DueSummaries, codes: int) -> list[tuple[pa.Array, pa.Array]]:
        if codes > len(self._read):
            larger = np.zeros((2 * codes, READINGS), np.int64)
            larger[: len(self._read)] = self._read
            self._read = larger
        groups = self.cells.store.cells.take(due.position)
        events = Events.sort_by_code(groups, due.time, due.position, due.sign, codes)
        before = self._read[events.groups]
        after = np.empty((len(events.last), READINGS), np.int64)
        moves = list(zip(events.position.tolist(), events.sign.tolist(), strict=True))
        start = 0
        for number, (last, code) in enumerate(
            zip(events.last.tolist(), events.code[events.last].tolist(), strict=True)
        ):
            window = self._windows.setdefault(code, _TwoStacks(self.cells.content))
            for position, sign in moves[start : last + 1]:
                if sign > 0:
                    window.push(self.cells.sketch(position))
                else:
                    window.pop()
            after[number] = self._read[code] = window.read()
            start = last + 1
        return [(pa.array(before[:, i]), pa.array(after[:, i])) for i in range(READINGS)]

    def forget(self) -> None:
        """Drop the sub-windows that have left, and the windows of groups that have none."""
        self.cells.forget()
        if len(self._windows) > 2 * len(self.cells):
            held = set(self.cells.store.cells.view.tolist())
            self._windows = {code: w for code, w in self._windows.items() if code in held}

    def regroup(self, live: Int64s, remap: Int64s) -> None:
        """Groups got new codes; only ``live`` (old ones) are in use."""
        used = set(live.tolist())
        self._windows = {int(remap[c]): w for c, w in self._windows.items() if c in used}
        self._read = renumber_groups(self._read, live, remap)
        self.cells.regroup(live, remap)

    def save(self, groups: Interner) -> Saved:
        return self.cells.save(groups)

    def load(
        self, segments: Mapping[str, pa.RecordBatch], meta: Mapping[str, Any], groups: Interner
    ) -> None:
        """Fill fresh windows; groups get codes as they are met. ``replay`` is to follow."""
        self.cells.load(segments, meta, groups)
