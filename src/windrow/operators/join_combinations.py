"""Combinations of tuples of n inputs with equal keys: the probes of an n-way join.

The new tuples of one input come in groups of one value (Golab 2006, 5.2.2, Algorithms 4 and 5): a
group walks the chains of the other inputs once, in the join order, and every combination that it
finds there is compared with each of its tuples. On the way, lives are compared with those of the
whole group: from its least TS to its last END. So 1,000 equal tuples against 5,000 partners visit
5,000 tuples, whatever the number of results.

Cost: per value of an interval, the partial combinations that the order makes it form (and with
buckets, what else is in its buckets); per tuple, its results.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from windrow.columns.arrays import Int64s
from windrow.columns.growable import fresh, grow
from windrow.columns.kernels import (
    grid,
    grid_out,
    helper,
    int64,
    ints,
    ints_out,
    kernel,
    likely_room,
    void,
)
from windrow.core.time import BEGINNING, FOREVER
from windrow.operators.join_side import JoinSide
from windrow.operators.state.tuple_index import END, EXP, LINK, TS
from windrow.windows.chains import chain_of, older


@kernel(int64, ints, ints, int64, ints_out, ints_out, ints_out)
def _group(at, codes, base, numbers, members, starts):  # type: ignore[no-untyped-def]
    """Put tuples of one value side by side, in the order in which values and tuples come.

    ``numbers`` by code are -1, and are so afterwards. ``starts[g]`` is where group g begins, and
    where the last one ends; the answer is how many groups there are.
    """
    groups = 0
    starts[:] = 0
    for i in range(len(at)):
        code = codes[at[i] - base]
        if numbers[code] < 0:
            numbers[code] = groups
            groups += 1
        starts[numbers[code] + 1] += 1
    for g in range(groups):
        starts[g + 1] += starts[g]
    for i in range(len(at)):
        g = numbers[codes[at[i] - base]]
        members[starts[g]] = at[i]
        starts[g] += 1
    for g in range(groups, 0, -1):
        starts[g] = starts[g - 1]
    starts[0] = 0
    for i in range(len(at)):
        numbers[codes[at[i] - base]] = -1
    return groups


@helper
def _combine(  # type: ignore[no-untyped-def]  # noqa: PLR0915
    members, starts, groups, me, order, codes, heads, lives, bases, in_order, buckets,
    whole_before, since, count, out, times,
):  # fmt: skip
    """All combinations of tuples of branch ``me``, in groups of one value, with one of each other.

    ``order`` are the other branches in probing order. Partners that were withdrawn count, but not
    those of branches before ``whole_before``; if those of a branch end ``in_order``, none is looked
    at behind one that has ended. Only combinations that end after ``since`` count. They are
    written behind the first ``count``: to ``out`` a position for each branch, then TS, EXP and
    END, and to ``times`` TS again. Compiled once for each number of branches.

    The answer is how many there are then, also beyond the room in ``out``, how many were cut short
    by a negative tuple, and how many tuples of other branches were visited.
    """
    depth, short, visits = len(order), 0, 0
    place, chosen = np.empty(depth, np.int64), np.empty(depth + 1, np.int64)
    start, end = np.empty(depth + 1, np.int64), np.empty(depth + 1, np.int64)
    exp = np.empty(depth + 1, np.int64)
    mine, room, width = lives[me], len(out), depth + 1
    for g in range(groups):
        code = codes[me][members[starts[g]] - bases[me]]
        least, last = FOREVER, BEGINNING
        for i in range(starts[g], starts[g + 1]):
            least = min(least, mine[members[i] - bases[me], TS])
            last = max(last, mine[members[i] - bases[me], END])
        least = max(least, since)
        start[0], end[0], exp[0] = BEGINNING, last, FOREVER
        level = 0
        place[0] = heads[order[0]][chain_of(code, buckets)]
        while level >= 0:
            b = order[level]
            p = place[level]
            if p < bases[b]:
                level -= 1
                continue
            visits += 1
            row = p - bases[b]
            place[level] = older(p, bases[b], LINK, lives[b])
            if buckets and codes[b][row] != code:
                continue
            finish = lives[b][row, END]
            if finish <= least:
                if in_order[b]:
                    level -= 1
                continue
            s, e = max(start[level], lives[b][row, TS]), min(end[level], finish)
            if s >= e or (b < whole_before and finish != lives[b][row, EXP]):
                continue
            x = min(exp[level], lives[b][row, EXP])
            chosen[b] = p
            if level + 1 < depth:
                level += 1
                start[level], end[level], exp[level] = s, e, x
                place[level] = heads[order[level]][chain_of(code, buckets)]
                continue
            for i in range(starts[g], starts[g + 1]):
                row = members[i] - bases[me]
                begins, ends = max(s, mine[row, TS]), min(e, mine[row, END])
                if begins >= ends or ends <= since:
                    continue
                lapses = min(x, mine[row, EXP])
                short += ends < lapses
                if count < room:
                    chosen[me] = members[i]
                    for c in range(width):
                        out[count, c] = chosen[c]
                    out[count, width + TS], out[count, width + EXP] = begins, lapses
                    out[count, width + END] = ends
                    times[count] = begins
                count += 1
    return count, short, visits


@kernel(void, grid, ints, grid_out, ints_out, ints_out)
def _arrange(found, at, places, times, expiries):  # type: ignore[no-untyped-def]
    """The positions, instants and expiries of combinations in the order ``at``."""
    width = len(places)
    for i in range(len(at)):
        for c in range(width):
            places[c, i] = found[at[i], c]
        times[i], expiries[i] = found[at[i], width + TS], found[at[i], width + EXP]


class CombinationProbe:
    """Finds combinations over the ``sides``, whose codes are those of one interner.

    They are kept, a row each, in an array that is used again after the next ``start``.
    """

    def __init__(self, sides: Sequence[JoinSide], buckets: int) -> None:
        self.sides, self.buckets = sides, buckets
        self.visits = 0
        """How many tuples probes have looked at in chains."""
        self.short = 0
        """How many combinations were cut short by a negative tuple."""
        self._numbers, self._count = fresh(-1), 0
        self._found = np.empty((0, len(sides) + 3), np.int64)
        self._times = np.empty(0, np.int64)
        self._state: tuple[Any, ...] = ()

    def __len__(self) -> int:
        return self._count

    def start(self, codes: int) -> None:
        """Begin with no combinations; the sides have new tuples, and there are so many codes."""
        self._numbers = grow(self._numbers, codes, -1)
        self._count = self.short = 0
        if not len(self._found):
            self._make_room(likely_room(1_024))
        self._state = (
            tuple(side.codes.view for side in self.sides),
            tuple(side.heads for side in self.sides),
            tuple(side.buffer.life.view for side in self.sides),
            np.array([side.buffer.base for side in self.sides], np.int64),
            np.array([side.buffer.ends_in_order for side in self.sides]),
            self.buckets,
        )

    def find(self, me: int, at: Int64s, order: Sequence[int], since: int, whole_before: int) -> int:
        """Add the combinations of the tuples ``at`` of side ``me``, probing the others in
        ``order``; how many there are now.

        Only those that end after ``since`` count. Withdrawn partners count, but not those of sides
        before ``whole_before``.
        """
        if not len(at) or any(not len(s.buffer.life) for s in self.sides):
            return self._count
        members, starts = np.empty(len(at), np.int64), np.empty(len(at) + 1, np.int64)
        codes = self.sides[me].codes
        groups = _group(at, codes.view, codes.base, self._numbers, members, starts)
        others = np.array([b for b in order if b != me], np.int64)
        while True:
            count, short, visits = _combine(
                members, starts, groups, me, others, *self._state, whole_before, since,
                self._count, self._found, self._times,
            )  # fmt: skip
            self.visits += visits
            if count <= len(self._found):
                self._count, self.short = int(count), self.short + int(short)
                return self._count
            self._make_room(count + count // 2)

    def _make_room(self, rows: int) -> None:
        found, times = np.empty((rows, len(self.sides) + 3), np.int64), np.empty(rows, np.int64)
        found[: self._count] = self._found[: self._count]
        times[: self._count] = self._times[: self._count]
        self._found, self._times = found, times

    def keep(self, numbers: Int64s) -> None:
        """Forget all combinations but these."""
        self._found[: len(numbers)] = self._found[numbers]
        self._times[: len(numbers)] = self._times[numbers]
        self._count = len(numbers)
        self.short = int((self.life(END) < self.life(EXP)).sum())

    def life(self, column: int) -> Int64s:
        """The TS, EXP or END of the combinations."""
        if column == TS:
            return self._times[: self._count]
        return self._found[: self._count, len(self.sides) + column]

    def arrange(self, at: Int64s) -> tuple[Int64s, Int64s, Int64s]:
        """Positions for each side, TS and EXP of the combinations ``at`` in this order."""
        places = np.empty((len(self.sides), len(at)), np.int64)
        times, expiries = np.empty(len(at), np.int64), np.empty(len(at), np.int64)
        _arrange(self._found, at, places, times, expiries)
        return places, times, expiries
