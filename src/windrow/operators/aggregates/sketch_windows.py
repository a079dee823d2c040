"""APPROXIMATE COUNT(DISTINCT x): a sketch for each sub-window and group, merged for the window.

Sketches (CPC, ``windrow.synopses.DistinctSketches``) take values in as they come and can be merged,
but nothing can be subtracted from one. So each group keeps its window as two stacks: newer sketches
with what they come to together, and for each of the older ones what it and those after it come to.
When the last of the older ones has left, the newer ones become older. An answer merges two
sketches, and each sketch is merged twice while it is in the window, however many there are.

A merged sketch depends on the set of values alone: not on their order or number, on how input was
cut, or on which sketches were merged first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, floor
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.columns.arrays import Int64s, validity
from windrow.columns.interner import Interner
from windrow.operators.aggregates.events import Events, renumber_groups
from windrow.operators.base import Saved
from windrow.operators.state.sub_window_store import DueSummaries, SubWindows
from windrow.operators.sub_window_clocks import SubWindowClock
from windrow.synopses.sketches import DistinctSketches

READINGS = 3
"""The estimate, and its bounds."""


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

    def read(self) -> tuple[int, int, int]:
        """The estimate and its bounds, in whole numbers."""
        found = self._older[-1:] + ([] if self._together is None else [self._together])
        if not found:
            return 0, 0, 0
        estimate, lower, upper = self._content.read(self._content.unite(found))
        return round(estimate), floor(lower), ceil(upper)


class SketchWindows:
    """Sketches of the values of one argument, and the windows over them, by group."""

    def __init__(self, content: DistinctSketches | None = None) -> None:
        self.content = content or DistinctSketches()
        self.store = SubWindows(0)
        self._sketches: list[Any] = []  # by position, from the first that is kept
        self._windows: dict[int, _TwoStacks] = {}
        self._read: npt.NDArray[Any] = np.zeros((0, READINGS), np.int64)

    def __len__(self) -> int:
        return len(self.store)

    def fold(self, codes: Int64s, comes: Int64s, leaves: Int64s, argument: pa.Array) -> None:
        """Take values into the sketches of their sub-windows; each group gets one, if empty."""
        count = int(codes.max(initial=-1)) + 1
        positions, made = self.store.place(codes, comes, leaves, count)
        self._sketches += [self.content.make_empty() for _ in range(len(made))]
        valid = validity(argument)
        if valid is not None:
            positions, argument = positions[valid], argument.filter(pa.array(valid))
        pairs = Interner([pa.int64(), argument.type])
        pairs.codes([pa.array(positions), argument], len(positions))
        where, values = pairs.rows(np.arange(len(pairs)))
        base, sketches = self.store.cells.base, self._sketches
        for position, value in zip(where.to_pylist(), hashable(values), strict=True):
            sketches[position - base].update(value)

    def advance(self, clock: SubWindowClock, codes: int) -> list[tuple[pa.Array, pa.Array]]:
        """The estimates and their bounds after what comes and goes by now."""
        return self._update(clock.translate(self.store.advance(clock.now)), codes)

    def replay(self, codes: int) -> None:
        """Take in what is in the window."""
        due = self.store.living()
        if len(due.position):
            self._update(due, codes)

    def _update(self, due: DueSummaries, codes: int) -> list[tuple[pa.Array, pa.Array]]:
        if codes > len(self._read):
            larger = np.zeros((2 * codes, READINGS), np.int64)
            larger[: len(self._read)] = self._read
            self._read = larger
        groups = self.store.cells.take(due.position)
        events = Events.sort_by_code(groups, due.time, due.position, due.sign, codes)
        before = self._read[events.groups]
        after = np.empty((len(events.last), READINGS), np.int64)
        moves = list(zip((events.position - self.store.cells.base).tolist(),
                         events.sign.tolist(), strict=True))  # fmt: skip
        start = 0
        for number, (last, code) in enumerate(
            zip(events.last.tolist(), events.code[events.last].tolist(), strict=True)
        ):
            window = self._windows.setdefault(code, _TwoStacks(self.content))
            for index, sign in moves[start : last + 1]:
                if sign > 0:
                    window.push(self._sketches[index])
                else:
                    window.pop()
            after[number] = self._read[code] = window.read()
            start = last + 1
        return [(pa.array(before[:, i]), pa.array(after[:, i])) for i in range(READINGS)]

    def forget(self) -> None:
        """Drop the sub-windows that have left, and the windows of groups that have none."""
        base = self.store.cells.base
        del self._sketches[: self.store.forget() - base]
        if len(self._windows) > 2 * len(self.store):
            held = set(self.store.cells.view.tolist())
            self._windows = {code: w for code, w in self._windows.items() if code in held}

    def regroup(self, live: Int64s, remap: Int64s) -> None:
        """Groups got new codes; only ``live`` (old ones) are in use."""
        used = set(live.tolist())
        self._windows = {int(remap[c]): w for c, w in self._windows.items() if c in used}
        self._read = renumber_groups(self._read, live, remap)
        cells = remap[self.store.cells.view]
        self.store.renumber(cells, int(cells.max(initial=-1)) + 1)

    def save(self, groups: Interner) -> Saved:
        def describe(positions: Int64s) -> Sequence[pa.Array]:
            base = self.store.cells.base
            kept = [self.content.to_bytes(self._sketches[p - base]) for p in positions.tolist()]
            return [pa.array(kept, pa.binary()), *groups.rows(self.store.cells.take(positions))]

        return self.store.save(describe)

    def load(
        self, segments: Mapping[str, pa.RecordBatch], meta: Mapping[str, Any], groups: Interner
    ) -> None:
        """Fill fresh windows; groups get codes as they are met. ``replay`` is to follow."""
        codes = [np.empty(0, np.int64)]
        for (kept, *keys), count in self.store.load(segments, meta):
            self._sketches += [self.content.restore(b) for b in kept.to_pylist()]
            codes.append(groups.codes(keys, count))
        cells = np.concatenate(codes)
        self.store.renumber(cells, int(cells.max(initial=-1)) + 1)


def hashable(values: pa.Array) -> list[Any]:
    """Values as sketches hash them: whole numbers, doubles or texts.

    >>> hashable(pa.array([True, None])), hashable(pa.array([3], pa.date32()))
    ([1, None], [3])
    """
    kind = values.type
    if pa.types.is_boolean(kind):
        values = values.cast(pa.int8())
    elif pa.types.is_date32(kind):
        values = values.cast(pa.int32())
    elif pa.types.is_timestamp(kind):
        values = values.cast(pa.int64())
    found: list[Any] = values.to_pylist()
    return found
