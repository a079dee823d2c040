"""Which tuples of two inputs belong together: equal keys, and whatever else a predicate asks.

A ``JoinSide`` is what lives of one input, found by key. Keys have codes, and tuples with equal keys
form a chain from new to old: an H-INDEX with DB rings (``windrow.windows.chains``; Golab et al.
2004, 5.4). Expired tuples at the end of a chain cost nothing, because chains lead to older
positions only and the buffer knows its first. Inside an interval longer than the window most of a
chain has ended before the tuple that walks it came: where tuples end in the order in which they
came (WEAKEST), the walk stops at the first that has.

Every tuple has a life ``[TS, END)``, also those that ended during the interval, and a pair lives
where both do: from ``max(TS)`` to ``min(END)``. A probe walks the chains of one side's keys on the
other side and stops where that window ends. With no keys all tuples have one code, and it is
nested loops over the live windows.

Cost of a probe: per tuple the length of its chain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.columns.arrays import Int64s
from windrow.columns.delta import Delta, batch_of, split_by_sign
from windrow.columns.evaluate import evaluate, selection_mask
from windrow.columns.growable import Growable
from windrow.columns.interner import Interner
from windrow.columns.kernels import boolean, grid, int64, ints, ints_out, kernel, likely_room
from windrow.core.patterns import UpdatePattern
from windrow.core.thresholds import Threshold
from windrow.operators.state.buffer import StateBuffer
from windrow.operators.state.move import Move
from windrow.operators.state.tuple_index import END, EXP, LINK, TS
from windrow.plan.expressions import Expression
from windrow.windows.chains import Chains, older

PAIRS_AT_A_TIME = Threshold(2_000_000, least=1)
"""How many candidate pairs a nested-loops probe may put into memory at once."""
WORTH_RECODING = Threshold(4096)
"""Codes of keys, beyond four per tuple, that are not worth giving all tuples new ones."""


class JoinSide:
    """One input's live tuples, their key codes and the rings over them."""

    def __init__(
        self,
        schema: pa.Schema,
        pattern: UpdatePattern,
        keys: Sequence[Expression],
        scan: bool = False,
    ) -> None:
        self.buffer, self.keys = StateBuffer(schema, pattern, scan), tuple(keys)
        self.rings = Chains()

    @property
    def codes(self) -> Growable:
        """The key code of each tuple, by position."""
        return self.rings.codes

    @property
    def heads(self) -> Int64s:
        """The newest tuple of each key code, by code."""
        return self.rings.heads

    def add(self, delta: Delta, interner: Interner) -> tuple[Int64s, Int64s]:
        """Store an interval's tuples without linking them yet.

        Positions of the new ones, and of older ones that were withdrawn.
        """
        keys = [evaluate(k, delta.rows) for k in self.keys]
        nulls = np.zeros(len(delta), np.bool_)
        for key in keys:
            if key.null_count:
                nulls |= key.is_null().to_numpy(zero_copy_only=False)
        if nulls.any():  # NULL equals nothing
            delta, self.buffer.whole = delta.filter(~nulls), False
            keys = [evaluate(k, delta.rows) for k in self.keys]
        positive, negative = split_by_sign(delta)
        if len(negative):
            keys = [evaluate(k, positive.rows) for k in self.keys]
        self.codes.append(interner.codes(keys, len(positive)))
        first = self.buffer.insert(positive)
        withdrawn = self.buffer.withdraw(negative)
        return np.arange(first, self.buffer.next, dtype=np.int64), withdrawn[withdrawn < first]

    def link(self, positions: Int64s, codes: int) -> None:
        """Put positions at the heads of their rings; ``codes`` is how many codes there are."""
        self.rings.reserve(codes)
        self.rings.link(positions, self.buffer.life, LINK)

    def forget(self, now: int) -> Move | None:
        """Free what is dead. If the living moved, they are linked again: where they went."""
        self.buffer.lapse(now)
        move = self.buffer.reclaim()
        if move is None:
            self.codes.drop_before(self.buffer.base)
        else:
            self.rings.unlink(self.buffer.base, self.codes.take(move.living))
            self.link(self.buffer.living(), len(self.heads))
        return move

    def restart(self, interner: Interner) -> None:
        """Code and link everything that lives, after a load or under a new coding."""
        buffer = self.buffer
        everything = np.arange(buffer.base, buffer.next, dtype=np.int64)
        rows = buffer.rows.take(everything)
        codes = interner.codes([evaluate(k, rows) for k in self.keys], len(everything))
        self.relink(codes, len(interner))

    def relink(self, codes: Int64s, size: int) -> None:
        """Form the rings of what lives anew; ``codes`` are those of all stored tuples."""
        self.rings.restart(self.buffer.base, codes)
        self.link(self.buffer.living(), size)


@kernel(int64, ints, ints, grid, int64, ints, grid, int64, int64, boolean, boolean, *[ints_out] * 5)
def _probe(  # type: ignore[no-untyped-def]
    at, codes, life, base, heads, other_life, other_base, since, whole, in_order,
    mine, theirs, starts, ends, expiries,
):  # fmt: skip
    """Pairs of the positions ``at`` with the other side's chains, and the lives of the pairs.

    Only pairs that end after ``since`` count; with ``whole`` those partners are left out that
    were withdrawn. If partners end ``in_order``, none is looked at behind one that has ended. The
    answer is how many pairs there are; those that do not fit are counted but not written.
    """
    count, room = 0, len(mine)
    for i in range(len(at)):
        row = at[i] - base
        ts, end, exp = life[row, TS], life[row, END], life[row, EXP]
        over = max(ts, since)
        p = heads[codes[row]]
        while p >= other_base:
            partner = p - other_base
            if in_order and other_life[partner, END] <= over:
                break
            start, finish = max(ts, other_life[partner, TS]), min(end, other_life[partner, END])
            withdrawn = other_life[partner, END] < other_life[partner, EXP]
            if start < finish and finish > since and not (whole and withdrawn):
                if count < room:
                    mine[count] = at[i]
                    theirs[count] = p
                    starts[count] = start
                    ends[count] = finish
                    expiries[count] = min(exp, other_life[partner, EXP])
                count += 1
            p = older(p, other_base, LINK, other_life)
    return count


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
        self.interner = Interner(self.kinds)

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
        room = likely_room(2 * len(at) + 64)
        while True:
            out = [np.empty(room, np.int64) for _ in range(5)]
            count = _probe(
                at, side.codes.view, life.view, life.base,
                other.heads, theirs.view, theirs.base, since, whole, other.buffer.ends_in_order,
                *out,
            )  # fmt: skip
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


def renew_coding(interner: Interner, sides: Sequence[JoinSide]) -> Interner:
    """The coding of the sides' keys; a new one, if most of it is dead."""
    held = sum(len(side.codes) for side in sides)
    if len(interner) <= 4 * held + WORTH_RECODING.value:
        return interner
    interner = Interner(interner.kinds)
    for side in sides:
        side.restart(interner)
    return interner
