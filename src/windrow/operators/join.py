"""Two-way window join: equal keys, lives that overlap, and whatever else the predicate asks.

Each side keeps its live tuples in a buffer; tuples with equal keys are chained from new to old
(after the ring index of Golab et al. 2004), the head of each chain being an array indexed by the
key's code. A probe walks one chain and stops where the window ends; expired tuples at the end of
a chain cost nothing, because chains lead to older positions only and the buffer knows its first.

An interval is one step. Every tuple has a life ``[TS, END)``, also those that ended during the
interval, and a pair lives where both do: it comes at ``max(TS)`` and ends at ``min(END)``. So
    new left  x old right         found by probing before the new right ones are linked,
    all left  x new right         found by probing after the new left ones are,
each pair once, whatever the order of arrival inside the interval. A pair whose end is earlier
than its own expiry ``min(EXP)`` was cut short by a negative tuple and is withdrawn then. The
same holds for pairs of old tuples of which one was withdrawn in the interval; where both were,
the left one's probe finds the pair.

With no keys all tuples have one code, and this is a nested-loops join over the live windows.

Cost: per tuple, one hash look-up and the length of its chain; state: both live windows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.columns.delta import Delta, batch_of
from windrow.columns.evaluate import evaluate, selected
from windrow.columns.growable import Growable
from windrow.columns.interner import Interner
from windrow.columns.kernels import boolean, grid, grid_out, int64, ints, ints_out, kernel, void
from windrow.core.patterns import UpdatePattern
from windrow.core.time import BEGINNING
from windrow.operators.base import Saved, below
from windrow.operators.state.buffer import StateBuffer
from windrow.operators.state.index import END, EXP, LINK, TS, grown
from windrow.plan.expressions import Expression

Int64s = npt.NDArray[np.int64]
PAIRS_AT_A_TIME = 2_000_000
"""How many candidate pairs a nested-loops probe may put into memory at once."""


@kernel(void, ints, ints, int64, ints_out, grid_out)
def _link(codes, at, base, heads, life):  # type: ignore[no-untyped-def]
    for i in range(len(at)):
        code = codes[at[i] - base]
        life[at[i] - base, LINK] = heads[code]
        heads[code] = at[i]


@kernel(int64, ints, ints, grid, int64, ints, grid, int64, int64, boolean, *[ints_out] * 5)
def _probe(  # type: ignore[no-untyped-def]
    at, codes, life, base, heads, other_life, other_base, since, whole,
    mine, theirs, starts, ends, expiries,
):  # fmt: skip
    """Pairs of the positions ``at`` with the other side's chains, and the lives of the pairs.

    Only pairs that end after ``since`` count; with ``whole`` those partners are left out that
    were withdrawn. The answer is how many pairs there are; those that do not fit are counted but
    not written.
    """
    count, room = 0, len(mine)
    for i in range(len(at)):
        row = at[i] - base
        ts, end, exp = life[row, TS], life[row, END], life[row, EXP]
        p = heads[codes[row]]
        while p >= other_base:
            partner = p - other_base
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
            p = other_life[partner, LINK]
    return count


class Side:
    """One input's live tuples, their key codes and the chains over them."""

    def __init__(
        self,
        schema: pa.Schema,
        pattern: UpdatePattern,
        keys: Sequence[Expression],
        scan: bool = False,
    ) -> None:
        self.buffer, self.keys = StateBuffer(schema, pattern, scan), tuple(keys)
        self.codes = Growable(np.int64)
        self.heads = np.full(64, -1, np.int64)

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
            delta = delta.filter(~nulls)
            keys = [evaluate(k, delta.rows) for k in self.keys]
        if bool((delta.sign > 0).all()):
            codes = interner.codes(keys, len(delta))
            first = self.buffer.insert(delta)
            withdrawn = np.empty(0, np.int64)
        else:
            plus = delta.sign > 0
            positive = delta.filter(plus)
            codes = interner.codes([evaluate(k, positive.rows) for k in self.keys], len(positive))
            first = self.buffer.insert(positive)
            withdrawn = self.buffer.withdraw(delta.filter(~plus))
        self.codes.append(codes)
        return np.arange(first, self.buffer.next, dtype=np.int64), withdrawn[withdrawn < first]

    def link(self, positions: Int64s, codes: int) -> None:
        """Put positions at the head of their chains; ``codes`` is how many codes there are."""
        self.heads = grown(self.heads, codes, -1)
        life = self.buffer.life
        _link(self.codes.view, positions, life.base, self.heads, life.view)

    def forget(self, now: int) -> bool:
        """Free what is dead; True if the living moved and have to be linked anew."""
        self.buffer.expire(now)
        moved = self.buffer.reclaim() is not None
        self.codes.drop_before(self.buffer.base)
        return moved

    def restart(self, interner: Interner) -> None:
        """Code and link everything that lives, after a move or a load."""
        buffer = self.buffer
        everything = np.arange(buffer.base, buffer.next, dtype=np.int64)
        rows = buffer.rows.take(everything)
        self.codes.clear(buffer.base)
        self.codes.append(interner.codes([evaluate(k, rows) for k in self.keys], len(everything)))
        self.heads = np.full(64, -1, np.int64)
        self.link(buffer.living(), len(interner))


@dataclass
class _Pairs:
    """Positions on the left and on the right, and the life of each pair."""

    left: Int64s
    right: Int64s
    start: Int64s
    end: Int64s
    exp: Int64s

    def __len__(self) -> int:
        return len(self.left)

    def filter(self, kept: npt.NDArray[np.bool_]) -> _Pairs:
        return _Pairs(*(a[kept] for a in self.arrays()))

    def arrays(self) -> tuple[Int64s, ...]:
        return self.left, self.right, self.start, self.end, self.exp

    @classmethod
    def joined(cls, parts: Sequence[_Pairs]) -> _Pairs:
        return cls(*(np.concatenate(a) for a in zip(*(p.arrays() for p in parts), strict=True)))

    @classmethod
    def none(cls) -> _Pairs:
        return cls(*(np.empty(0, np.int64) for _ in range(5)))


class WindowJoin:
    """See the module."""

    def __init__(
        self,
        schemas: tuple[pa.Schema, pa.Schema],
        patterns: tuple[UpdatePattern, UpdatePattern],
        keys: tuple[Sequence[Expression], Sequence[Expression]],
        kinds: Sequence[pa.DataType],
        residual: Expression | None,
        schema: pa.Schema,
        scan: bool = False,
    ) -> None:
        self.schema, self.residual, self.kinds = schema, residual, tuple(kinds)
        self.interner = Interner(self.kinds)
        self.left = Side(schemas[0], patterns[0], keys[0], scan)
        self.right = Side(schemas[1], patterns[1], keys[1], scan)
        self.now = BEGINNING

    def process(self, inputs: Sequence[Delta], now: int) -> Delta:
        left, right = self.left, self.right
        new_left, gone_left = left.add(inputs[0], self.interner)
        new_right, gone_right = right.add(inputs[1], self.interner)
        for side in (left, right):
            side.heads = grown(side.heads, len(self.interner), -1)

        # Until the new ones are linked, chains lead to old tuples only.
        cut = [
            self._probe(gone_left, left, right),
            self._probe(gone_right, right, left, whole=True),
        ]
        fresh = [self._probe(new_left, left, right)]
        left.link(new_left, len(self.interner))
        fresh.append(self._probe(new_right, right, left))
        right.link(new_right, len(self.interner))

        answer = self._emit(fresh, cut)
        self._forget(now)
        return answer

    def _probe(self, at: Int64s, side: Side, other: Side, whole: bool = False) -> _Pairs:
        if not len(at) or not len(other.buffer.life):
            return _Pairs.none()
        step = len(at)
        if not self.kinds:
            step = max(1, PAIRS_AT_A_TIME // len(other.buffer.life))
        parts = [
            self._probe_some(at[i : i + step], side, other, whole) for i in range(0, len(at), step)
        ]
        return parts[0] if len(parts) == 1 else _Pairs.joined(parts)

    def _probe_some(self, at: Int64s, side: Side, other: Side, whole: bool) -> _Pairs:
        life, theirs = side.buffer.life, other.buffer.life
        room = 2 * len(at) + 64
        while True:
            out = [np.empty(room, np.int64) for _ in range(5)]
            count = _probe(
                at, side.codes.view, life.view, life.base,
                other.heads, theirs.view, theirs.base, self.now, whole, *out,
            )  # fmt: skip
            if count <= room:
                mine, partners, *lives = (a[:count] for a in out)
                left, right = (mine, partners) if side is self.left else (partners, mine)
                return self._matching(_Pairs(left, right, *lives))
            room = count

    def _matching(self, pairs: _Pairs) -> _Pairs:
        """The pairs for which the residual predicate is true."""
        if self.residual is None or not len(pairs):
            return pairs
        return pairs.filter(selected(self.residual, self._rows(pairs.left, pairs.right)))

    def _rows(self, left: Int64s, right: Int64s) -> pa.RecordBatch:
        columns = self.left.buffer.rows.take(left).columns
        columns += self.right.buffer.rows.take(right).columns
        return batch_of(columns, self.schema, len(left))

    def _emit(self, fresh: list[_Pairs], cut: list[_Pairs]) -> Delta:
        pairs = _Pairs.joined(fresh + cut)
        coming = sum(len(p) for p in fresh)
        short = np.flatnonzero(pairs.end < pairs.exp)
        at = np.concatenate([np.arange(coming), short])
        times = np.concatenate([pairs.start[:coming], pairs.end[short]])
        order = np.argsort(times, kind="stable")
        at = at[order]
        sign = np.where(order < coming, 1, -1).astype(np.int8)
        rows = self._rows(pairs.left[at], pairs.right[at])
        return Delta(times[order], pairs.exp[at], sign, rows)

    def _forget(self, now: int) -> None:
        self.now = now
        moved = [side.forget(now) for side in (self.left, self.right)]
        held = len(self.left.codes) + len(self.right.codes)
        if len(self.interner) > 4 * held + 4096:
            self.interner = Interner(self.kinds)
            moved = [True, True]
        for side, restart in zip((self.left, self.right), moved, strict=True):
            if restart:
                side.restart(self.interner)

    def size(self) -> int:
        return len(self.left.buffer) + len(self.right.buffer)

    def save(self) -> Saved:
        saved = Saved()
        saved.add("left", self.left.buffer.save())
        saved.add("right", self.right.buffer.save())
        saved.meta["now"] = self.now
        return saved

    def load(self, segments: Mapping[str, pa.RecordBatch], meta: Mapping[str, Any]) -> None:
        self.now = int(meta["now"])
        for name, side in (("left", self.left), ("right", self.right)):
            side.buffer.load(below(name, segments), meta[name])
            side.restart(self.interner)
