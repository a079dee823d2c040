"""Join of external windows with INTERNAL ones: a pair lasts as long as its left tuple.

Pairs are found as in ``windrow.operators.join``: tuples meet while both are live. But a pair's
end and expiry are those of the left tuple (Golab 2006, 3.3.2), so when it is known in advance
nothing more is kept than in a join. A left tuple that may be withdrawn (STRICT input) takes its
results with it, also those whose right tuples are long gone; so right tuples that leave while
they are in a result move to a *past*, with the lives that they had, and a withdrawn left tuple
looks there too. The past is gone through when it has doubled, and what is in no result any more
is dropped.

Cost: that of the join, and for STRICT input a second probe when a right tuple leaves. State:
both live windows, and for STRICT input the right tuples in the answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.columns.arrays import Int64s
from windrow.columns.delta import Delta, concat
from windrow.core.patterns import UpdatePattern
from windrow.core.thresholds import Threshold
from windrow.core.time import BEGINNING
from windrow.operators.base import Saved, below
from windrow.operators.join_pairs import JoinPairs, Pairs
from windrow.operators.join_side import JoinSide, renew_coding
from windrow.operators.state.tuple_index import END, EXP, TS
from windrow.plan.expressions import Expression
from windrow.plan.physical.state_kinds import BufferKind, Kept, Structure

CROWDED = Threshold(4096)
"""A past with fewer tuples than this is not gone through."""


class LastingPairs:
    """A pair lasts as long as its left tuple, whatever becomes of the right one."""

    def __init__(
        self,
        schemas: tuple[pa.Schema, pa.Schema],
        patterns: tuple[UpdatePattern, UpdatePattern],
        keys: tuple[Sequence[Expression], Sequence[Expression]],
        kinds: Sequence[pa.DataType],
        residual: Expression | None,
        schema: pa.Schema,
        buffers: Sequence[BufferKind | None] = (None, None),
        past: BufferKind | None = None,
    ) -> None:
        self.schema = schema
        self.left = JoinSide(schemas[0], patterns[0], keys[0], buffers[0])
        self.right = JoinSide(schemas[1], patterns[1], keys[1], buffers[1])
        self.past = JoinSide(schemas[1], UpdatePattern.WEAK, keys[1], past)
        self.pairing = JoinPairs(self.left, self.right, kinds, residual, schema)
        self.earlier = JoinPairs(self.left, self.past, kinds, residual, schema)
        self.withdraws = patterns[0] is UpdatePattern.STRICT
        self.crowded = CROWDED.value
        self._share(self.pairing.interner)

    @property
    def state(self) -> tuple[Kept, ...]:
        past: Kept = (Structure.PAST, self.past.buffer.kind) if self.withdraws else ()
        return ((self.left.buffer.kind,), (self.right.buffer.kind, *past))

    def process(self, inputs: Sequence[Delta], now: int) -> Delta:
        left, right, pairing = self.left, self.right, self.pairing
        new_left, gone_left = left.add(inputs[0], pairing.interner)
        new_right, gone_right = right.add(inputs[1], pairing.interner)
        expired, _ = right.buffer.expire(now)
        pairing.make_room()
        self.earlier.make_room()

        # Until the new ones are linked, chains lead to old tuples only. Right ones that ended
        # before this interval may still be linked, but are in the past as well.
        before = left.buffer.now
        cut = [
            (pairing, pairing.probe(gone_left, left, before)),
            (self.earlier, self.earlier.probe(gone_left, left, BEGINNING)),
        ]
        fresh = [pairing.probe(new_left, left, BEGINNING)]
        pairing.link(left, new_left)
        fresh.append(pairing.probe(new_right, right, BEGINNING))
        pairing.link(right, new_right)

        answer = self._emit(Pairs.concatenate(fresh), cut)
        if self.withdraws:
            ended = np.concatenate([gone_right, expired, self._came_and_went(new_right)])
            self._remember(ended, now)
        self._forget(now)
        return answer

    def _emit(self, fresh: Pairs, cut: list[tuple[JoinPairs, Pairs]]) -> Delta:
        """Pairs that came, and of these and older ones those whose left tuple was withdrawn."""
        life = self.left.buffer.life.take(fresh.left)
        came = Delta(
            fresh.start, life[:, EXP].copy(), np.ones(len(fresh), np.int8),
            self.pairing.rows(fresh.left, fresh.right),
        )  # fmt: skip
        short = life[:, END] < life[:, EXP]
        parts = [self._withdrawn(self.pairing, fresh.filter(short))]
        parts += [self._withdrawn(pairing, pairs) for pairing, pairs in cut]
        return concat([*(p for p in parts if len(p)), came.sorted()], self.schema)

    def _withdrawn(self, pairing: JoinPairs, pairs: Pairs) -> Delta:
        life = self.left.buffer.life.take(pairs.left)
        sign = np.full(len(pairs), -1, np.int8)
        rows = pairing.rows(pairs.left, pairs.right)
        return Delta(life[:, END].copy(), life[:, EXP].copy(), sign, rows).sorted()

    def _came_and_went(self, new: Int64s) -> Int64s:
        """New right tuples that were withdrawn in the same interval."""
        life = self.right.buffer.life.take(new)
        return new[life[:, END] < life[:, EXP]]

    def _remember(self, ended: Int64s, now: int) -> None:
        """Right tuples that ended, if a left tuple that lives has met them, go into the past."""
        pairs = self.pairing.probe(ended, self.right, BEGINNING)
        alive = self.left.buffer.life.take(pairs.left)[:, END] > now
        met = np.unique(pairs.right[alive])
        life = self.right.buffer.life.take(met)
        end = life[:, END].copy()
        rows = self.right.buffer.rows.take(met)
        first = self.past.buffer.insert(
            Delta(life[:, TS].copy(), end, np.ones(len(met), np.int8), rows)
        )
        self.past.codes.append(self.right.codes.take(met))
        self.earlier.link(self.past, np.arange(first, self.past.buffer.next, dtype=np.int64))

    def _forget(self, now: int) -> None:
        self._go_through_past()
        self.left.forget(now)
        self.right.forget(now)
        # No left tuple that lives, or will, is older than the first one; what ended before it
        # came has met none of them.
        life = self.left.buffer.life
        first = int(life.view[0, TS]) if len(life) else now
        self.past.forget(min(first, now))
        self._share(renew_coding(self.pairing.interner, (self.left, self.right, self.past)))

    def _go_through_past(self) -> None:
        if len(self.past.buffer) < self.crowded:
            return
        held = self.past.buffer.living()
        pairs = self.earlier.probe(self.left.buffer.living(), self.left, BEGINNING)
        self.past.buffer.kill(np.setdiff1d(held, pairs.right), BEGINNING)
        self.crowded = max(2 * len(self.past.buffer), CROWDED.value)

    def _share(self, interner: Any) -> None:
        self.pairing.interner = self.earlier.interner = interner

    def size(self) -> int:
        return len(self.left.buffer) + len(self.right.buffer) + len(self.past.buffer)

    def save(self) -> Saved:
        saved = Saved()
        for name, side in self._sides():
            saved.add(name, side.buffer.save())
        return saved

    def _sides(self) -> list[tuple[str, JoinSide]]:
        return [("left", self.left), ("right", self.right), ("past", self.past)]

    def load(self, segments: Mapping[str, pa.RecordBatch], meta: Mapping[str, Any]) -> None:
        for name, side in self._sides():
            side.buffer.load(below(name, segments), meta[name])
            side.restart(self.pairing.interner)
