"""Which tuples of two inputs belong together: equal keys, and whatever else a predicate asks.

Every tuple has a life ``[TS, END)``, also those that ended during the interval, and a pair lives
where both do: from ``max(TS)`` to ``min(END)``. A probe walks the chains of one side's keys on the
other side (``join_side``) and stops where that window ends. With no keys all tuples have one
code, and it is nested loops over the live windows.

One walk serves all tuples of an interval that have the same value (Golab 2006, 5.2.2, Algorithm
5): the first of them walks the chain and writes its partners down side by side, if others are to
come, and these read the list. Lives are compared for each, because equal values may have come at
different instants. Inside an interval longer than the window most of a chain has ended before the
first new tuple came: where tuples end in the order in which they came (WEAKEST), the walk stops at
the first that has.

Cost of a probe: per value the length of its chain (of its bucket, if there are buckets), and per
tuple its partners.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from numba import types

from windrow.columns.arrays import Int64s
from windrow.columns.delta import batch_of
from windrow.columns.evaluate import selection_mask
from windrow.columns.growable import fresh, grow
from windrow.columns.interner import Interner
from windrow.columns.kernels import (
    boolean,
    grid,
    grid_out,
    inline,
    int64,
    ints,
    ints_out,
    kernel,
    likely_room,
)
from windrow.core.thresholds import Threshold
from windrow.core.time import FOREVER
from windrow.operators.join_side import JoinSide, renew_coding
from windrow.operators.state.move import Move
from windrow.operators.state.tuple_index import END, EXP, LINK, TS
from windrow.plan.expressions import Expression
from windrow.windows.chains import chain_of, older

PAIRS_AT_A_TIME = Threshold(2_000_000, least=1)
"""How many candidate pairs a nested-loops probe may put into memory at once."""
UNSEEN, ONCE, OFTEN = -1, -2, -3
"""Of a value: how many tuples of a probe have it. A list of its partners is a number from 0 on."""


@kernel(types.UniTuple(int64, 2), ints, ints, grid, int64, ints_out)
def _note_values(at, codes, life, base, values):  # type: ignore[no-untyped-def]
    """Note of each value of ``at`` whether it comes ONCE or OFTEN.

    How many tuples have a value that came before, and the least TS of all.
    """
    again, least = 0, FOREVER
    for i in range(len(at)):
        row = at[i] - base
        least = min(least, life[row, TS])
        if values[codes[row]] == UNSEEN:
            values[codes[row]] = ONCE
        else:
            values[codes[row]] = OFTEN
            again += 1
    return again, least


@inline
def _put(count, at, partner, start, end, exp, mine, theirs, starts, ends, expiries):  # type: ignore[no-untyped-def]
    """Write down a pair if there is room; how many there are now."""
    if count < len(mine):
        mine[count] = at
        theirs[count] = partner
        starts[count] = start
        ends[count] = end
        expiries[count] = exp
    return count + 1


@kernel(
    types.UniTuple(int64, 2), ints, ints, grid, int64, ints_out, int64, ints, ints, grid, int64,
    int64, int64, boolean, boolean, grid_out, *[ints_out] * 5,
)  # fmt: skip
def _probe(  # type: ignore[no-untyped-def]
    at, codes, life, base, values, least, heads, other_codes, other_life, other_base,
    buckets, since, whole, in_order, lists, mine, theirs, starts, ends, expiries,
):  # fmt: skip
    """Pairs of the positions ``at`` with the other side's chains, and the lives of the pairs.

    Only pairs that end after ``since`` count; with ``whole`` those partners are left out that
    were withdrawn. If partners end ``in_order``, none is looked at behind one that has ended.
    ``values`` are as noted, and all UNSEEN afterwards; ``least`` is the least TS. A row of
    ``lists`` is a partner with its life; before the partners of a value stands their number.

    The answer is how many pairs there are (those that do not fit are counted but not written), and
    how many tuples of the other side were visited.
    """
    count, used, visits = 0, 0, 0
    for i in range(len(at)):
        row = at[i] - base
        code = codes[row]
        ts, end, exp = life[row, TS], life[row, END], life[row, EXP]
        over = max(ts, since)
        known = values[code]
        if known >= 0:
            for j in range(known + 1, known + 1 + lists[known, 0]):
                finish = lists[j, 2]
                if in_order and finish <= over:
                    break
                start, finish = max(ts, lists[j, 1]), min(end, finish)
                if start < finish and finish > since:
                    count = _put(
                        count, at[i], lists[j, 0], start, finish, min(exp, lists[j, 3]),
                        mine, theirs, starts, ends, expiries,
                    )  # fmt: skip
            continue
        listing, first = known == OFTEN, used
        until = max(least, since) if listing else over
        used += listing
        p = heads[chain_of(code, buckets)]
        while p >= other_base:
            partner = p - other_base
            visits += 1
            finish = other_life[partner, END]
            if in_order and finish <= until:
                break
            withdrawn = finish < other_life[partner, EXP]
            wanted = finish > since and not (whole and withdrawn)
            if wanted and (not buckets or other_codes[partner] == code):
                came, lapses = other_life[partner, TS], other_life[partner, EXP]
                if listing:
                    lists[used, 0], lists[used, 1] = p, came
                    lists[used, 2], lists[used, 3] = finish, lapses
                    used += 1
                start, finish = max(ts, came), min(end, finish)
                if start < finish and finish > since:
                    count = _put(
                        count, at[i], p, start, finish, min(exp, lapses),
                        mine, theirs, starts, ends, expiries,
                    )  # fmt: skip
            p = older(p, other_base, LINK, other_life)
        values[code] = UNSEEN
        if listing:
            lists[first, 0] = used - first - 1
            values[code] = first
    if used:
        for i in range(len(at)):
            values[codes[at[i] - base]] = UNSEEN
    return count, visits


@dataclass
class Pairs:
    """Positions on the left and on the right, and the life of each pair."""

    left: Int64s
    right: Int64s
    start: Int64s
    end: Int64s
    exp: Int64s

    def __len__(self) -> int:
        return len(self.left)

    def filter(self, kept: npt.NDArray[np.bool_]) -> Pairs:
        return Pairs(*(a[kept] for a in self.arrays()))

    def arrays(self) -> tuple[Int64s, ...]:
        return self.left, self.right, self.start, self.end, self.exp

    @classmethod
    def concatenate(cls, parts: Sequence[Pairs]) -> Pairs:
        return cls(*(np.concatenate(a) for a in zip(*(p.arrays() for p in parts), strict=True)))

    @classmethod
    def none(cls) -> Pairs:
        return cls(*(np.empty(0, np.int64) for _ in range(5)))


class JoinPairs:
    """Two sides under one coding of their keys, and the predicate over a row of both."""

    def __init__(
        self,
        left: JoinSide,
        right: JoinSide,
        kinds: Sequence[pa.DataType],
        residual: Expression | None,
        schema: pa.Schema,
    ) -> None:
        self.left, self.right, self.kinds = left, right, tuple(kinds)
        self.residual, self.schema = residual, schema
        self.interner, self._values = Interner(self.kinds), fresh(UNSEEN)
        self.visits = 0
        """How many tuples probes have looked at in chains."""
        self._each = 2.0

    def make_room(self) -> None:
        """Heads for all codes that there are; a probe needs them."""
        for side in (self.left, self.right):
            side.rings.reserve(len(self.interner))

    def link(self, side: JoinSide, positions: Int64s) -> None:
        side.link(positions, len(self.interner))

    def probe(self, at: Int64s, side: JoinSide, since: int, whole: bool = False) -> Pairs:
        """Pairs of the tuples ``at`` of one side with what is linked on the other.

        Only pairs that end after ``since`` count; ``whole`` leaves out partners that were
        withdrawn.
        """
        other = self.right if side is self.left else self.left
        if not len(at) or not len(other.buffer.life):
            return Pairs.none()
        step = len(at)
        if not self.kinds:
            step = max(1, PAIRS_AT_A_TIME.value // len(other.buffer.life))
        parts = [
            self._probe(at[i : i + step], side, other, since, whole)
            for i in range(0, len(at), step)
        ]
        return parts[0] if len(parts) == 1 else Pairs.concatenate(parts)

    def _probe(self, at: Int64s, side: JoinSide, other: JoinSide, since: int, whole: bool) -> Pairs:
        life, theirs = side.buffer.life, other.buffer.life
        codes, room = side.codes.view, likely_room(int(self._each * len(at)) + 64)
        self._values = grow(self._values, len(self.interner), UNSEEN)
        while True:
            again, least = _note_values(at, codes, life.view, life.base, self._values)
            # A list has a partner of each value once, and a number for each value.
            lists = np.empty((len(theirs) + len(at) if again else 0, 4), np.int64)
            out = [np.empty(room, np.int64) for _ in range(5)]
            count, visits = _probe(
                at, codes, life.view, life.base, self._values, least,
                other.heads, other.codes.view, theirs.view, theirs.base, other.buckets,
                since, whole, other.buffer.ends_in_order, lists, *out,
            )  # fmt: skip
            self.visits += visits
            self._each = max(2.0, 1.5 * count / len(at))
            if count <= room:
                mine, partners, *lives = (a[:count] for a in out)
                left, right = (mine, partners) if side is self.left else (partners, mine)
                return self._matching(Pairs(left, right, *lives))
            room = count

    def _matching(self, pairs: Pairs) -> Pairs:
        """The pairs for which the residual predicate is true."""
        if self.residual is None or not len(pairs):
            return pairs
        return pairs.filter(selection_mask(self.residual, self.rows(pairs.left, pairs.right)))

    def rows(self, left: Int64s, right: Int64s) -> pa.RecordBatch:
        columns = self.left.buffer.rows.take(left).columns
        columns += self.right.buffer.rows.take(right).columns
        return batch_of(columns, self.schema, len(left))

    def forget(self, now: int) -> Move | None:
        """Free what is dead; where the living of the left side went, if they moved."""
        move, _ = self.left.forget(now), self.right.forget(now)
        self.interner = renew_coding(self.interner, (self.left, self.right))
        return move

    def restart(self) -> None:
        """Code and link everything, after a load."""
        for side in (self.left, self.right):
            side.restart(self.interner)
