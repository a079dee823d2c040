"""APPROXIMATE COUNT(DISTINCT x): a sketch for each sub-window and group, and any window from them.

Sketches (CPC, ``windrow.synopses.DistinctSketches``) take values in as they come and can be merged,
but nothing can be subtracted from one. A merged sketch depends on the set of values alone: not on
their order or number, on how input was cut, or on which sketches were merged first. So sub-windows
of any length give the same answer over a window, and many queries can share them: they are a basic
interval synopsis (Golab 2006, 2.3.4), and windows that end at the same instant are read on the way
of one scan from the youngest sub-window to the oldest (CS2 of 8.3.1).

Cost: an update for each value that is new to a batch; for each group and instant that is asked for,
a merge of the sketches of its longest window, about 2 us each, and a reading for each window, up to
50 us. What was read last time is remembered, since the row that goes is what came before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor
from typing import Any

import datasketches as ds
import numpy as np
import pyarrow as pa

from windrow.columns.arrays import Int64s, validity
from windrow.columns.interner import Interner
from windrow.operators.aggregates.counter_scans import AskedWindows
from windrow.operators.base import Saved
from windrow.operators.state.sub_window_store import LEAVES, SubWindows
from windrow.synopses.sketches import DistinctSketches

READINGS = 3
"""The estimate, and its bounds."""
Whole = tuple[int, int, int]


class SketchCells:
    """The sketches of one argument."""

    def __init__(self, content: DistinctSketches | None = None) -> None:
        self.content = content or DistinctSketches()
        self.store = SubWindows(0)
        self._sketches: list[Any] = []  # by position, from the first that is kept
        self.last_readings: dict[Any, Whole] = {}
        self.readings: dict[Any, Whole] = {}
        """Of the last answers and of those before them, by the positions that they are of."""

    def __len__(self) -> int:
        return len(self.store)

    def sketch(self, position: int) -> Any:
        return self._sketches[position - self.store.cells.base]

    def fold(self, codes: Int64s, comes: Int64s, leaves: Int64s, argument: pa.Array) -> Int64s:
        """Take values into the sketches of their sub-windows; each group gets one, if empty. The
        positions of the sketches.
        """
        count = int(codes.max(initial=-1)) + 1
        every, made = self.store.place(codes, comes, leaves, count)
        self._sketches += [self.content.make_empty() for _ in range(len(made))]
        valid, positions = validity(argument), every
        if valid is not None:
            positions, argument = every[valid], argument.filter(pa.array(valid))
        pairs = Interner([pa.int64(), argument.type])
        pairs.codes([pa.array(positions), argument], len(positions))
        where, values = pairs.rows(np.arange(len(pairs)))
        base, sketches = self.store.cells.base, self._sketches
        for position, value in zip(where.to_pylist(), hashable(values), strict=True):
            sketches[position - base].update(value)
        return every

    def merge(
        self, codes: Int64s, comes: Int64s, leaves: Int64s, argument: pa.Array, _: Int64s
    ) -> None:
        """Take values in that senders have counted; how often each occurs makes no difference."""
        self.fold(codes, comes, leaves, argument)

    def close(self, now: int) -> None:
        """Every row up to ``now`` has come."""
        self.store.now = now

    @property
    def stores(self) -> tuple[SubWindows, ...]:
        return (self.store,)

    def forget(self, by: int = LEAVES, until: int | None = None) -> None:
        """Drop the sub-windows that have left, those ``until`` then only if it is given."""
        base = self.store.cells.base
        del self._sketches[: self.store.forget(by, until) - base]
        if self.readings:
            self.last_readings, self.readings = self.readings, {}

    def regroup(self, _: Int64s, remap: Int64s) -> None:
        """Groups got new codes."""
        cells = remap[self.store.cells.view]
        self.store.renumber(cells, int(cells.max(initial=-1)) + 1)

    def save(self, groups: Interner) -> Saved:
        def describe(positions: Int64s) -> Sequence[pa.Array]:
            kept = [self.content.to_bytes(self.sketch(p)) for p in positions.tolist()]
            return [pa.array(kept, pa.binary()), *groups.rows(self.store.cells.take(positions))]

        return self.store.save(describe)

    def load(
        self, segments: Mapping[str, pa.RecordBatch], meta: Mapping[str, Any], groups: Interner
    ) -> None:
        """Fill fresh cells; groups get codes as they are met."""
        codes = [np.empty(0, np.int64)]
        for (kept, *keys), count in self.store.load(segments, meta):
            self._sketches += [self.content.restore(b) for b in kept.to_pylist()]
            codes.append(groups.codes(keys, count))
        cells = np.concatenate(codes)
        self.store.renumber(cells, int(cells.max(initial=-1)) + 1)


def whole_numbers(content: DistinctSketches, merged: Any) -> Whole:
    """The estimate of a merged sketch and its bounds, in whole numbers."""
    estimate, lower, upper = content.read(merged)
    return round(estimate), floor(lower), ceil(upper)


@dataclass(frozen=True)
class ReadSketches:
    """Estimates and bounds, a row for each window."""

    rows: Int64s

    def among(self, start: int, stop: int) -> ReadSketches:
        return ReadSketches(self.rows[start:stop])


class SketchValue:
    """COUNT(DISTINCT) of many windows by sketches: the ``place``-th of what is read."""

    fraction = None

    def __init__(self, place: int) -> None:
        self.place = place

    def scan(self, parts: Sequence[SketchCells], asked: AskedWindows) -> tuple[ReadSketches, int]:
        return scan_sketches(parts, asked)

    def read(self, found: ReadSketches) -> pa.Array:
        return pa.array(np.ascontiguousarray(found.rows[:, self.place]))


def scan_sketches(parts: Sequence[SketchCells], asked: AskedWindows) -> tuple[ReadSketches, int]:
    """What the sketches of an argument say of windows, and how many were merged for it.

    ``parts`` may overlap: a value that is in two of them counts once.
    """
    codes, group = np.unique(asked.group, return_inverse=True)
    spans = [_spans(part.store, codes, group, asked) for part in parts]
    columns = np.stack([stop for _, _, stop in spans] + [-start for _, start, _ in spans])
    order = np.lexsort(columns[::-1])  # those with the same end together, the shorter first
    columns = columns[:, order]
    new = np.append(True, (columns[:, 1:] != columns[:, :-1]).any(axis=0))[: len(order)]
    which = np.empty(len(order), np.int64)
    which[order] = np.cumsum(new) - 1
    stops, starts = columns[: len(parts), new], -columns[len(parts) :, new]
    scan = _Scan(parts, [positions for positions, _, _ in spans])
    rows = np.array(scan.read(starts, stops), np.int64).reshape(-1, READINGS)
    return ReadSketches(rows[which]), scan.merged


def _spans(
    store: SubWindows, codes: Int64s, group: Int64s, asked: AskedWindows
) -> tuple[Int64s, Int64s, Int64s]:
    """The positions of the groups ``codes``, by group and time, and from which to which of them
    those of each window are.
    """
    held = store.cells.view
    places = np.full(1 + max(int(codes.max(initial=-1)), int(held.max(initial=-1))), -1, np.int64)
    places[codes] = np.arange(len(codes))
    of = places[held]
    wanted = np.flatnonzero(of >= 0)
    order = wanted[np.argsort(of[wanted], kind="stable")]
    positions = order + store.cells.base
    comes = store.instants_of(positions)[0] if len(positions) else positions
    instants = np.unique(comes)
    width = len(instants) + 1
    keys = of[order] * width + np.searchsorted(instants, comes)
    start, stop = (
        np.searchsorted(keys, group * width + np.searchsorted(instants, at, side="right"))
        for at in (asked.after, asked.until)
    )
    return positions, start, stop


class _Scan:
    """One way through the sketches of all windows that are asked for."""

    def __init__(self, parts: Sequence[SketchCells], positions: Sequence[Int64s]) -> None:
        self._parts, self._positions, self.merged = parts, positions, 0

    def read(self, starts: Int64s, stops: Int64s) -> list[Whole]:
        """By part from where to where the sketches of each window are; those of windows with the
        same end come one after the other, the shorter before the longer.
        """
        first = self._parts[0]
        content, known, last = first.content, first.readings, first.last_readings
        found, ends, union, reached = [], None, None, None
        names = self._names(starts, stops)
        for name, start, stop in zip(names, _rows(starts), _rows(stops), strict=True):
            reading = known.get(name) or last.get(name)
            if reading is None:
                if union is None or stop != ends:
                    ends, union, reached = stop, ds.cpc_union(content.lg_k), stop
                assert reached is not None
                self._merge(union, start, reached)
                reached = start
                reading = whole_numbers(content, union.get_result())
            known[name] = reading
            found.append(reading)
        return found

    def _names(self, starts: Int64s, stops: Int64s) -> list[tuple[int, ...]]:
        """What the sketches of windows are called as long as they are kept: by the first and the
        last position in each part, -1 if there is none.
        """
        columns = []
        for positions, start, stop in zip(self._positions, starts, stops, strict=True):
            held = np.append(positions, -1)
            columns += [np.where(start < stop, held[at], -1) for at in (start, stop - 1)]
        return _rows(np.stack(columns))

    def _merge(self, union: Any, starts: Sequence[int], reached: Sequence[int]) -> None:
        for part, positions, start, stop in zip(
            self._parts, self._positions, starts, reached, strict=True
        ):
            for position in positions[start:stop].tolist():
                union.update(part.sketch(position))
            self.merged += stop - start


def _rows(columns: Int64s) -> list[tuple[int, ...]]:
    return list(zip(*columns.tolist(), strict=True))


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
