"""Which tuples of two inputs belong together: equal keys, and whatever else a predicate asks.

Every tuple has a life ``[TS, END)``, also those that ended during the interval, and a pair lives
where both do: from ``max(TS)`` to ``min(END)``. A probe walks the chains of one side's keys on the
other side (``join_side``) and stops where that window ends. With no keys all tuples have one
code, and it is nested loops over the live windows.

One walk serves all tuples of an interval that have the same value (Golab 2006, 5.2.2, Algorithm
5): the partners of the value are written down side by side, and each tuple reads the list. Only
where partners are few does each tuple walk the chain for itself. Lives are compared for each,
because equal values may have come at different instants. Inside an interval longer than the window
most of a chain has ended before the first new tuple came: where tuples end in the order in which
they came (WEAKEST), the walk stops at the first that has.

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
from windrow.columns.evaluate import selection_mask
from windrow.columns.growable import fresh, grow
from windrow.columns.interner import Interner
from windrow.columns.kernels import (
    boolean,
    grid,
    grid_out,
    int64,
    ints,
    ints_out,
    kernel,
    likely_room,
)
from windrow.columns.lazy_rows import LazyRows
from windrow.core.thresholds import Threshold
from windrow.core.time import FOREVER
from windrow.operators.join_side import JoinSide, renew_coding
from windrow.operators.state.move import Move
from windrow.operators.state.tuple_index import END, EXP, LINK, TS
from windrow.plan.expressions import Expression
from windrow.windows.chains import chain_of, older

PAIRS_AT_A_TIME = Threshold(2_000_000, least=1)
"""How many candidate pairs a nested-loops probe may put into memory at once."""
WORTH_A_LIST = Threshold(4, least=0)
"""Partners of a tuple, on average, from which on those of a value are written down for all that
have it: a shorter chain is walked again as fast."""
UNLISTED = -1
"""Of a value: there is no list of its partners."""


@kernel(
    types.UniTuple(int64, 2), ints, ints, grid, int64, ints, ints, grid, int64, int64, int64,
    boolean, boolean, *[ints_out] * 5,
)  # fmt: skip
def _probe(  # type: ignore[no-untyped-def]
    at, codes, life, base, heads, other_codes, other_life, other_base, buckets, since, whole,
    in_order, mine, theirs, starts, ends, expiries,
):  # fmt: skip
    """Pairs of the positions ``at`` with the other side's chains, and the lives of the pairs.

    Only pairs that end after ``since`` count; with ``whole`` those partners are left out that
    were withdrawn. If partners end ``in_order``, none is looked at behind one that has ended. The
    answer is how many pairs there are (those that do not fit are counted but not written), and how
    many tuples of the other side were visited.
    """
    count, room, visits = 0, len(mine), 0
    for i in range(len(at)):
        row = at[i] - base
        code = codes[row]
        ts, end, exp = life[row, TS], life[row, END], life[row, EXP]
        over = max(ts, since)
        p = heads[chain_of(code, buckets)]
        while p >= other_base:
            partner = p - other_base
            visits += 1
            if in_order and other_life[partner, END] <= over:
                break
            start, finish = max(ts, other_life[partner, TS]), min(end, other_life[partner, END])
            withdrawn = other_life[partner, END] < other_life[partner, EXP]
            lives = start < finish and finish > since and not (whole and withdrawn)
            if lives and (buckets == 0 or other_codes[partner] == code):
                if count < room:
                    mine[count] = at[i]
                    theirs[count] = p
                    starts[count] = start
                    ends[count] = finish
                    expiries[count] = min(exp, other_life[partner, EXP])
                count += 1
            p = older(p, other_base, LINK, other_life)
    return count, visits


@kernel(
    int64, ints, ints, grid, int64, ints, ints, grid, int64, int64, int64, boolean, boolean,
    ints_out, grid_out,
)  # fmt: skip
def _list_partners(  # type: ignore[no-untyped-def]
    at, codes, life, base, heads, other_codes, other_life, other_base, buckets, since, whole,
    in_order, values, lists,
):  # fmt: skip
    """Write down the partners of each value of ``at`` once; how many tuples were visited.

    ``values[code]`` is where the list of a value begins: with how many rows follow, each a partner
    and its life. Nobody is on it who ended before the least TS of ``at``, or before ``since``.
    """
    used, visits, over = 0, 0, FOREVER
    for i in range(len(at)):
        over = min(over, life[at[i] - base, TS])
    over = max(over, since)
    for i in range(len(at)):
        code = codes[at[i] - base]
        if values[code] != UNLISTED:
            continue
        first = used
        used += 1
        p = heads[chain_of(code, buckets)]
        while p >= other_base:
            partner = p - other_base
            visits += 1
            end, exp = other_life[partner, END], other_life[partner, EXP]
            if in_order and end <= over:
                break
            wanted = end > over and not (whole and end < exp)
            if wanted and (buckets == 0 or other_codes[partner] == code):
                lists[used, 0], lists[used, 1] = p, other_life[partner, TS]
                lists[used, 2], lists[used, 3] = end, exp
                used += 1
            p = older(p, other_base, LINK, other_life)
        lists[first, 0] = used - first - 1
        values[code] = first
    return visits


@kernel(
    types.UniTuple(int64, 2), ints, ints, grid, int64, ints, grid, int64, boolean,
    *[ints_out] * 5,
)  # fmt: skip
def _read_lists(  # type: ignore[no-untyped-def]
    at, codes, life, base, values, lists, since, in_order, mine, theirs, starts, ends, expiries,
):  # fmt: skip
    """As ``_probe``, from the lists of partners; how many pairs, and how many rows were read."""
    count, room, reads = 0, len(mine), 0
    for i in range(len(at)):
        row = at[i] - base
        ts, end, exp = life[row, TS], life[row, END], life[row, EXP]
        over, first = max(ts, since), values[codes[row]]
        reads += lists[first, 0]
        for j in range(first + 1, first + 1 + lists[first, 0]):
            if in_order and lists[j, 2] <= over:
                break
            start, finish = max(ts, lists[j, 1]), min(end, lists[j, 2])
            if start < finish and finish > since:
                if count < room:
                    mine[count] = at[i]
                    theirs[count] = lists[j, 0]
                    starts[count] = start
                    ends[count] = finish
                    expiries[count] = min(exp, lists[j, 3])
                count += 1
    return count, reads


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
        some = [part for part in parts if len(part)] or parts[:1]
        if len(some) == 1:
            return some[0]
        return cls(*(np.concatenate(a) for a in zip(*(p.arrays() for p in some), strict=True)))

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
        self.interner, self._values = Interner(self.kinds), fresh(UNLISTED)
        self.visits = 0
        """How many tuples probes have looked at in chains."""
        self._each, self._steps = 2.0, 0.0

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
        life, theirs, codes = side.buffer.life, other.buffer.life, side.codes.view
        mine = (at, codes, life.view, life.base)
        chains = (
            other.heads, other.codes.view, theirs.view, theirs.base, other.buckets, since, whole,
            other.buffer.ends_in_order,
        )  # fmt: skip
        listed = self._are_partners_many(other)
        if listed:
            self._values = grow(self._values, len(self.interner), UNLISTED)
            lists = np.empty((len(theirs) + len(at), 4), np.int64)
            visits = _list_partners(*mine, *chains, self._values, lists)
            self.visits += visits
        room = likely_room(int(self._each * len(at)) + 64)
        while True:
            out = [np.empty(room, np.int64) for _ in range(5)]
            if listed:
                in_order = other.buffer.ends_in_order
                count, steps = _read_lists(*mine, self._values, lists, since, in_order, *out)
            else:
                count, steps = _probe(*mine, *chains, *out)
                self.visits += steps
            self._each, self._steps = max(2.0, 1.5 * count / len(at)), steps / len(at)
            if count <= room:
                break
            room = count
        if listed:
            self._values[side.codes.take(at)] = UNLISTED
        own, partners, *lives = (a[:count] for a in out)
        left, right = (own, partners) if side is self.left else (partners, own)
        return self._matching(Pairs(left, right, *lives))

    def _are_partners_many(self, other: JoinSide) -> bool:
        """Whether a tuple is likely to have many: on average, or as those of the last probe had."""
        on_average = len(other.buffer.life) / max(other.buckets or len(self.interner), 1)
        return max(on_average, self._steps) >= WORTH_A_LIST.value

    def _matching(self, pairs: Pairs) -> Pairs:
        """The pairs for which the residual predicate is true."""
        if self.residual is None or not len(pairs):
            return pairs
        return pairs.filter(selection_mask(self.residual, self.rows(pairs.left, pairs.right)))

    def rows(self, left: Int64s, right: Int64s) -> LazyRows:
        """Pairs of tuples, of which only what somebody reads is copied."""
        sides = (self.left.buffer.rows, self.right.buffer.rows)
        columns = [(of, column) for of, rows in enumerate(sides) for column in rows.snapshot()]
        return LazyRows((left, right), columns, self.schema, len(left))

    def forget(self, now: int) -> Move | None:
        """Free what is dead; where the living of the left side went, if they moved."""
        move, _ = self.left.forget(now), self.right.forget(now)
        self.interner = renew_coding(self.interner, (self.left, self.right))
        return move

    def restart(self) -> None:
        """Code and link everything, after a load."""
        for side in (self.left, self.right):
            side.restart(self.interner)
