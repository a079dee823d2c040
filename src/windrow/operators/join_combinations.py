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
from dataclasses import dataclass

import numpy as np

from windrow.columns.arrays import Int64s
from windrow.columns.growable import fresh, grow
from windrow.columns.kernels import helper, int64, ints, ints_out, kernel, likely_room
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
def _combine(  # type: ignore[no-untyped-def]
    members, starts, groups, me, order, codes, heads, lives, bases, buckets, whole, in_order,
    since, out, lifetimes,
):  # fmt: skip
    """All combinations of tuples of branch ``me``, in groups of one value, with one of each other.

    ``order`` are the other branches in probing order. ``whole[b]`` leaves out partners of branch
    b that were withdrawn; if those of a branch end ``in_order``, none is looked at behind one that
    has ended. Only combinations that end after ``since`` count. Compiled once for each number of
    branches. The answer is how many there are, also beyond the room in ``out``, and how many
    tuples of other branches were visited.
    """
    depth, count, visits = len(order), 0, 0
    place, chosen = np.empty(depth, np.int64), np.empty(depth + 1, np.int64)
    start, end = np.empty(depth + 1, np.int64), np.empty(depth + 1, np.int64)
    exp = np.empty(depth + 1, np.int64)
    mine, room = lives[me], out.shape[1]
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
            if s >= e or (whole[b] and finish != lives[b][row, EXP]):
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
                if count < room:
                    chosen[me] = members[i]
                    for c in range(depth + 1):
                        out[c, count] = chosen[c]
                    lifetimes[TS, count], lifetimes[END, count] = begins, ends
                    lifetimes[EXP, count] = min(x, mine[row, EXP])
                count += 1
    return count, visits


@dataclass(frozen=True)
class Combinations:
    """``places[b]`` are positions of branch b, ``lives`` the TS, EXP and END of combinations."""

    places: Int64s
    lives: Int64s

    def __len__(self) -> int:
        return self.places.shape[1]

    def at(self, numbers: Int64s) -> Combinations:
        """Those with these numbers."""
        return Combinations(np.take(self.places, numbers, 1), np.take(self.lives, numbers, 1))

    @classmethod
    def concatenate(cls, parts: Sequence[Combinations]) -> Combinations:
        places = np.concatenate([part.places for part in parts], axis=1)
        return cls(places, np.concatenate([part.lives for part in parts], axis=1))


class CombinationProbe:
    """Finds combinations over the ``sides``, whose codes are those of one interner."""

    def __init__(self, sides: Sequence[JoinSide], buckets: int) -> None:
        self.sides, self.buckets = sides, buckets
        self.visits = 0
        """How many tuples probes have looked at in chains."""
        self._numbers, self._each = fresh(-1), [2.0] * len(sides)

    def find(
        self, me: int, at: Int64s, order: Sequence[int], since: int, whole_before: int, codes: int
    ) -> Combinations:
        """Combinations of the tuples ``at`` of side ``me``, probing the others in ``order``.

        Only those that end after ``since`` count. Withdrawn partners count, but not those of sides
        before ``whole_before``. ``codes`` is how many codes there are.
        """
        width = len(self.sides)
        if not len(at) or any(not len(s.buffer.life) for s in self.sides):
            return Combinations(np.empty((width, 0), np.int64), np.empty((3, 0), np.int64))
        self._numbers = grow(self._numbers, codes, -1)
        members, starts = np.empty(len(at), np.int64), np.empty(len(at) + 1, np.int64)
        mine = self.sides[me]
        groups = _group(at, mine.codes.view, mine.codes.base, self._numbers, members, starts)
        arguments = (
            members, starts, groups, me, np.array([b for b in order if b != me], np.int64),
            tuple(side.codes.view for side in self.sides),
            tuple(side.heads for side in self.sides),
            tuple(side.buffer.life.view for side in self.sides),
            np.array([side.buffer.base for side in self.sides], np.int64), self.buckets,
            np.arange(width) < whole_before,
            np.array([side.buffer.ends_in_order for side in self.sides]), since,
        )  # fmt: skip
        room = likely_room(int(self._each[me] * len(at)) + 64)
        while True:
            out, lifetimes = np.empty((width, room), np.int64), np.empty((3, room), np.int64)
            count, visits = _combine(*arguments, out, lifetimes)
            self.visits += visits
            self._each[me] = max(2.0, 1.5 * count / len(at))
            if count <= room:
                return Combinations(out[:, :count], lifetimes[:, :count])
            room = count
