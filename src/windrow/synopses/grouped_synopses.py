"""The three synopses over cells by group, as columns of integers (Golab 2006, 2.3.4).

A cell has the summary of one sub-window and group. On top of the summaries a job keeps what the
rules of sharing ask for:

``RunningColumns``   for each cell, the sum of all cells of its group before it. A window is the
                     difference of two of them: two values a probe, whatever its length.
``IntervalColumns``  for each cell, the least over the stretch that its longer link jumps: the
                     intervals of growing length, of which a window takes about log b.
``scan_extremes``    the summaries themselves (a basic interval synopsis), from the youngest to the
                     oldest. Windows of one group that end together are answered on one way (CS2).

Sums are words of integers (``windrow.columns.exactsum``) and wrap around, so they never drift, and
a difference is right as long as the sum over the window fits. All probes of a batch are one call,
whoever asks; ``Work`` counts what they read.

The cells of a group are linked from new to old (`GroupChains`). A synopsis keeps a value for each
interval and group, but most groups occur in few sub-windows. So what is kept is a *cell* for each
closed sub-window and group that has tuples in it, in the order of time, and each cell knows the one
before it of its group. The value of a group over an interval in which it does not occur is that of
an older interval, or nothing.

A second link leads further back, over 1, 3, 7, ... cells, by the rule of skew-binary numbers (Myers
1983, "An applicative random-access stack"): whoever looks for an instant goes there in O(log n)
steps, and the stretches that these links jump over are the intervals of growing length of an
interval synopsis.

Invariant: cells are by position, which never changes; those that are forgotten have positions
before ``base``, and a link to one of them leads nowhere. Cost: O(1) per cell, O(log n) per search.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from windrow.columns.arrays import Int64s
from windrow.columns.byte_order import NO_TIES, Ties, comes_first, ties_type
from windrow.columns.growable import Growable, fresh, grow
from windrow.columns.kernels import grid, grid_out, helper, int64, ints, ints_out, kernel, void
from windrow.synopses.base import Work

BEFORE, JUMP, SPAN, INSTANT = 0, 1, 2, 3
"""Columns of a link: the cell before, a further one, how many cells that jumps, and its instant."""


@kernel(void, ints, ints, int64, int64, ints_out, grid_out)
def _link(codes, instants, first, base, newest, links):  # type: ignore[no-untyped-def]
    for i in range(len(codes)):
        c, at = codes[i], first + i - base
        before = newest[c] if newest[c] >= base else -1
        links[at, BEFORE], links[at, JUMP], links[at, SPAN] = before, before, 1
        links[at, INSTANT] = instants[i]
        if before >= 0:
            near = before - base
            far = links[near, JUMP]
            if far >= base and links[near, SPAN] == links[far - base, SPAN]:
                links[at, JUMP] = links[far - base, JUMP]
                links[at, SPAN] = 1 + 2 * links[near, SPAN]
        newest[c] = first + i


@helper
def first_after(start, instant, base, links):  # type: ignore[no-untyped-def]
    """The oldest cell from ``start`` back that is after the instant; -1 if ``start`` is not."""
    if start < base or links[start - base, INSTANT] <= instant:
        return -1
    at = start
    while True:
        far = links[at - base, JUMP]
        if far >= base and links[far - base, INSTANT] > instant:
            at = far
            continue
        before = links[at - base, BEFORE]
        if before < base or links[before - base, INSTANT] <= instant:
            return at
        at = before


@helper
def last_until(start, instant, base, links):  # type: ignore[no-untyped-def]
    """The newest cell from ``start`` back that is not after the instant; -1 if there is none."""
    after = first_after(start, instant, base, links)
    found = start if after < 0 else links[after - base, BEFORE]
    return found if found >= base else -1


class GroupChains:
    """The links of all cells; groups, or finer parts of them, are numbered by the owner.

    >>> import numpy as np
    >>> from windrow.synopses.grouped_synopses import GroupChains
    >>> chains = GroupChains()
    >>> chains.extend(np.array([0, 1, 0]), np.array([10, 10, 20]))
    >>> chains.newest[:2].tolist(), len(chains)
    ([2, 1], 3)
    """

    def __init__(self, base: int = 0) -> None:
        self.links = Growable(np.int64, width=4)
        self.links.clear(base)
        self.newest = fresh(-1)

    def __len__(self) -> int:
        return len(self.links)

    def extend(self, codes: Int64s, instants: Int64s) -> None:
        """Append cells, in the order of time."""
        self.newest = grow(self.newest, int(codes.max(initial=-1)) + 1, -1)
        first = self.links.next
        self.links.extend(len(codes), 0)
        _link(codes, instants, first, self.links.base, self.newest, self.links.view)

    def grow(self, codes: int) -> None:
        """Make room for codes below this."""
        self.newest = grow(self.newest, codes, -1)

    def forget(self, position: int) -> None:
        """Forget the cells before this position."""
        self.links.drop_before(position)


HELD, KEY, VALUE = 0, 1, 2
"""Columns of an extreme: whether there is one, its key, which is the least, and its value."""
FindTies = Callable[[], Ties]
"""Says what decides between equal keys, as of now."""


def no_ties() -> Ties:
    return NO_TIES


@kernel(void, ints, grid, grid_out, grid_out)
def _run(codes, parts, totals, before):  # type: ignore[no-untyped-def]
    for i in range(len(codes)):
        c = codes[i]
        for j in range(before.shape[1]):
            before[i, j] = totals[c, j]
            totals[c, j] += parts[i, j]


@kernel(void, ints, ints, ints, ints, ints, int64, grid_out, grid_out, grid_out, grid_out)
def _difference(  # type: ignore[no-untyped-def]
    codes, windows, until, earlier, newest, base, links, before, totals, out
):
    """The sums over the cells of ``codes[i]`` in two windows that end at ``earlier[i]`` and later
    at ``until[i]``: rows i and n + i of ``out``. What is found for one end is near the next one.
    """
    n = len(codes)
    for i in range(n):
        c = codes[i]
        last = first_after(newest[c], until[i], base, links)
        at = newest[c] if last < 0 else last
        if earlier[i] >= until[i] - windows[i]:
            before_last = first_after(at, earlier[i], base, links)
            at = at if before_last < 0 else before_last
            first = first_after(at, until[i] - windows[i], base, links)
        else:
            first = first_after(at, until[i] - windows[i], base, links)
            at = at if first < 0 else first
            before_last = first_after(at, earlier[i], base, links)
            at = at if before_last < 0 else before_last
        at = at if first < 0 else first
        oldest = first_after(at, earlier[i] - windows[i], base, links)
        for j in range(out.shape[1]):
            new = totals[c, j] if last < 0 else before[last - base, j]
            old = totals[c, j] if before_last < 0 else before[before_last - base, j]
            out[i, j] = old - (totals[c, j] if oldest < 0 else before[oldest - base, j])
            out[n + i, j] = new - (totals[c, j] if first < 0 else before[first - base, j])


class RunningColumns:
    """Running sums of ``width`` columns."""

    def __init__(self, width: int, base: int = 0, work: Work | None = None) -> None:
        self.before = Growable(np.int64, width=width)
        self.before.clear(base)
        self.totals = np.zeros((1, width), np.int64)
        self.work = work or Work()

    def extend(self, codes: Int64s, parts: Int64s) -> None:
        """Take in cells that were appended to the chains, with their summaries."""
        self.grow(int(codes.max(initial=-1)) + 1)
        first = len(self.before)
        self.before.extend(len(codes), 0)
        _run(codes, np.ascontiguousarray(parts), self.totals, self.before.view[first:])
        self.work.touched += len(codes)

    def grow(self, codes: int) -> None:
        if codes > len(self.totals):
            larger = np.zeros((codes * 2, self.totals.shape[1]), np.int64)
            larger[: len(self.totals)] = self.totals
            self.totals = larger

    def probe(
        self, chains: GroupChains, codes: Int64s, windows: Int64s, until: Int64s, earlier: Int64s
    ) -> Int64s:
        """The sums over windows of each of ``codes`` that end at ``earlier``, and then over those
        that end at ``until``, which is not before.
        """
        out = np.zeros((2 * len(codes), self.before.view.shape[1]), np.int64)
        links = chains.links
        _difference(
            codes, windows, until, earlier, chains.newest, links.base, links.view,
            self.before.view, self.totals, out,
        )  # fmt: skip
        self.work.combined += 2 * len(out)
        return out

    def forget(self, position: int) -> None:
        self.before.drop_before(position)


@helper
def take_less(best, parts, row, at, ties):  # type: ignore[no-untyped-def]
    """Let ``best`` be the extreme of the row if that is less; of equal ones the younger stays."""
    if parts[row, at + HELD] and (
        best[HELD] == 0
        or comes_first(parts[row, at + KEY], parts[row, at + VALUE], best[KEY], best[VALUE], ties)
    ):
        for j in range(3):
            best[j] = parts[row, at + j]


@kernel(void, int64, int64, grid_out, grid, int64, ties_type, grid_out)
def _combine(first, base, links, parts, at, ties, best):  # type: ignore[no-untyped-def]
    """The extremes of the stretches that end in the cells from ``first`` on."""
    for n in range(first - base, len(best)):
        best[n, HELD] = 0
        take_less(best[n], parts, n, at, ties)
        before = links[n, BEFORE]
        if before >= base and links[n, JUMP] != before:
            take_less(best[n], best, before - base, 0, ties)
            far = links[before - base, JUMP]
            take_less(best[n], best, far - base, 0, ties)


@kernel(int64, ints, ints, ints, ints, int64, grid_out, grid, int64, ties_type, grid_out, grid_out)
def _merge_intervals(  # type: ignore[no-untyped-def]
    codes, after, until, newest, base, links, parts, at, ties, best, out
):
    steps = 0
    for i in range(len(codes)):
        cell = last_until(newest[codes[i]], until[i], base, links)
        while cell >= base and links[cell - base, INSTANT] > after[i]:
            steps += 1
            far = links[cell - base, JUMP]
            if far >= base and links[far - base, INSTANT] > after[i]:
                take_less(out[i], best, cell - base, 0, ties)
                cell = far
            else:
                take_less(out[i], parts, cell - base, at, ties)
                cell = links[cell - base, BEFORE]
    return steps


class IntervalColumns:
    """The extremes in the columns from ``at`` on of the summaries, over growing intervals."""

    def __init__(
        self, at: int, base: int = 0, work: Work | None = None, ties: FindTies = no_ties
    ) -> None:
        self.at, self.ties = at, ties
        self.best = Growable(np.int64, width=3)
        self.best.clear(base)
        self.work = work or Work()

    def extend(self, chains: GroupChains, parts: Int64s) -> None:
        """Take in cells that were appended; ``parts`` are the summaries of all cells."""
        first = self.best.next
        self.best.extend(chains.links.next - first, 0)
        links = chains.links
        _combine(first, links.base, links.view, parts, self.at, self.ties(), self.best.view)
        self.work.touched += links.next - first

    def probe(
        self, chains: GroupChains, parts: Int64s, codes: Int64s, after: Int64s, until: Int64s
    ) -> Int64s:
        """The extremes over ``(after, until]``: HELD, KEY and VALUE for each of ``codes``."""
        out, links = np.zeros((len(codes), 3), np.int64), chains.links
        self.work.combined += _merge_intervals(
            codes, after, until, chains.newest, links.base, links.view, parts, self.at,
            self.ties(), self.best.view, out,
        )  # fmt: skip
        return out

    def forget(self, position: int) -> None:
        self.best.drop_before(position)


@kernel(int64, ints, ints, ints, ints, ints, int64, grid_out, grid, int64, ties_type, grid_out)
def _scan(order, codes, after, until, newest, base, links, parts, at, ties, out):  # type: ignore[no-untyped-def]
    steps = 0
    best, cell, last = np.zeros(3, np.int64), np.int64(-1), np.int64(-1)
    for n in range(len(order)):
        i = order[n]
        if last < 0 or codes[i] != codes[last] or until[i] != until[last]:
            best[HELD] = 0
            cell = last_until(newest[codes[i]], until[i], base, links)
        while cell >= base and links[cell - base, INSTANT] > after[i]:
            take_less(best, parts, cell - base, at, ties)
            cell = links[cell - base, BEFORE]
            steps += 1
        for j in range(3):
            out[i, j] = best[j]
        last = i
    return steps


class BasicColumns:
    """The extremes in the columns from ``at`` on of the summaries, as they are."""

    def __init__(self, at: int, work: Work | None = None, ties: FindTies = no_ties) -> None:
        self.at, self.ties = at, ties
        self.work = work or Work()

    def extend(self, chains: GroupChains, parts: Int64s) -> None:
        """Nothing: the summaries of sub-windows are all that is kept."""

    def probe(
        self, chains: GroupChains, parts: Int64s, codes: Int64s, after: Int64s, until: Int64s
    ) -> Int64s:
        """As ``IntervalColumns.probe``, by one scan for all windows that end together."""
        out, links = np.zeros((len(codes), 3), np.int64), chains.links
        order = np.lexsort((-after, until, codes))
        self.work.combined += _scan(
            order, codes, after, until, chains.newest, links.base, links.view, parts, self.at,
            self.ties(), out,
        )  # fmt: skip
        return out

    def forget(self, position: int) -> None:
        pass
