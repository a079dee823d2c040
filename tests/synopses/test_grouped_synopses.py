"""Synopses as columns over cells by group: every window is a recount, and the steps are bounded."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.synopses.grouped_synopses import (
    HELD,
    KEY,
    BasicColumns,
    GroupChains,
    IntervalColumns,
    RunningColumns,
)

pytestmark = pytest.mark.usefixtures("sizes")

CELLS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(-9, 9), st.booleans()), max_size=40
)
WINDOWS = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 60), st.integers(0, 30)), min_size=1, max_size=12
)


class Columns:
    """All three over the same cells, with what they should hold: group, instant, value, held."""

    def __init__(self) -> None:
        self.chains = GroupChains()
        self.running = RunningColumns(1)
        self.extremes = (IntervalColumns(1), BasicColumns(1))
        self.parts = np.empty((0, 4), np.int64)
        self.cells: list[tuple[int, int, int, bool]] = []
        self.base = 0

    def extend(self, cells: list[tuple[int, int, int, bool]]) -> None:
        new = np.array([(v, int(held), v, v) for _, _, v, held in cells], np.int64).reshape(-1, 4)
        self.parts = np.concatenate([self.parts, new])
        codes = np.array([c for c, *_ in cells], np.int64)
        self.chains.extend(codes, np.array([at for _, at, *_ in cells], np.int64))
        self.running.extend(codes, new[:, :1])
        for column in self.extremes:
            column.extend(self.chains, self.parts)
        self.cells += cells

    def forget(self, count: int) -> None:
        self.base += count
        for part in (self.chains, self.running, *self.extremes):
            part.forget(self.base)
        self.parts, self.cells = self.parts[count:], self.cells[count:]

    def check(self, windows: list[tuple[int, int, int]], back: int = 0) -> None:
        """Of windows that begin after what was forgotten, and ``back`` instants earlier."""
        codes, until, length = (np.array(column, np.int64) for column in zip(*windows, strict=True))
        self.chains.grow(6)
        self.running.grow(6)
        after = until - length
        sums = self.running.probe(self.chains, codes, length, until, until - back)[:, 0]
        for i, (code, end, span) in enumerate(windows):
            earlier = [c for c in self.cells if c[0] == code and -span < c[1] - end + back <= 0]
            assert sums[i] == sum(value for _, _, value, _ in earlier)
        sums = sums[len(windows) :]
        found = [c.probe(self.chains, self.parts, codes, after, until) for c in self.extremes]
        for i, (code, end, span) in enumerate(windows):
            inside = [c for c in self.cells if c[0] == code and end - span < c[1] <= end]
            assert sums[i] == sum(value for _, _, value, _ in inside)
            held = [value for *_, value, present in inside if present]
            for extreme in found:
                assert extreme[i, HELD] == bool(held)
                assert not held or extreme[i, KEY] == min(held)


@given(
    cells=CELLS,
    windows=WINDOWS,
    cuts=st.sets(st.integers(0, 40)),
    dropped=st.integers(0, 40),
    back=st.integers(0, 20),
)
def test_every_window_is_a_recount(cells, windows, cuts, dropped, back):
    now, timed = 0, []
    for code, distance, value, held in cells:
        now += distance
        if (code, now) not in {(c, at) for c, at, *_ in timed}:  # one for a sub-window and group
            timed.append((code, now, value, held))
    columns, start = Columns(), 0
    for stop in [*sorted(c for c in cuts if c < len(timed)), len(timed)]:
        columns.extend(timed[start:stop])
        start = stop
    columns.check(windows, back)
    gone = min(dropped, len(timed))
    last = timed[gone - 1][1] if gone else -1
    columns.forget(gone)
    columns.check([w for w in windows if w[1] - w[2] >= last] or [(0, now, max(now - last, 0))])


def test_steps_are_those_of_the_three_synopses():
    """Two values of a running synopsis, about log b of intervals, n of a basic one."""
    b = 64
    columns = Columns()
    columns.extend([(0, at, at % 7, True) for at in range(1, 4 * b)])
    windows = [(0, 4 * b - 1, n) for n in range(1, b + 1)]
    columns.check(windows)
    running, interval, basic = (c.work for c in (columns.running, *columns.extremes))
    assert running.combined == 2 * 2 * len(windows)  # earlier and now
    assert interval.combined <= len(windows) * 3 * math.log2(b)
    assert interval.combined > len(windows)
    assert basic.combined == b  # one scan passes all shorter windows
