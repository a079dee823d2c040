"""Join with a non-retroactive relation: each tuple meets the relation as it was when it came.

Updates of the relation reach only tuples that come at their instant or later (Golab 2006,
3.3.1), so the tuples themselves are not kept: the state is the relation. A result lives as long
as its tuple. Inside an interval the relation's rows keep their lives ``[TS, END)``, and a tuple
meets those that live at its own instant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.columns.delta import Delta, batch_of, take
from windrow.columns.evaluate import evaluate, selection_mask
from windrow.columns.interner import Interner
from windrow.columns.kernels import grid, int64, ints, ints_out, kernel, likely_room
from windrow.core.patterns import UpdatePattern
from windrow.operators.base import Saved, below
from windrow.operators.join_side import JoinSide, renew_coding
from windrow.operators.state.tuple_index import END, LINK, TS
from windrow.plan.expressions import Expression
from windrow.plan.physical.state_kinds import HASH, Kept
from windrow.windows.chains import older


@kernel(int64, ints, ints, ints, grid, int64, ints_out, ints_out)
def _meet(codes, ts, heads, life, base, mine, theirs):  # type: ignore[no-untyped-def]
    """Pairs of a tuple (by index) and a row (by position) that lives at the tuple's instant."""
    count = 0
    for i in range(len(codes)):
        if codes[i] < 0:
            continue
        p = heads[codes[i]]
        while p >= base:
            if life[p - base, TS] <= ts[i] < life[p - base, END]:
                if count < len(mine):
                    mine[count] = i
                    theirs[count] = p
                count += 1
            p = older(p, base, LINK, life)
    return count


class NonRetroactiveJoin:
    """``relation`` is the number (0 or 1) of the input that is the NRR."""

    def __init__(
        self,
        relation: int,
        relation_schema: pa.Schema,
        keys: tuple[Sequence[Expression], Sequence[Expression]],
        kinds: Sequence[pa.DataType],
        residual: Expression | None,
        schema: pa.Schema,
    ) -> None:
        self.relation, self.schema, self.residual = relation, schema, residual
        self.kinds = tuple(kinds)
        self.interner = Interner(self.kinds)
        self.side = JoinSide(relation_schema, UpdatePattern.STRICT, keys[relation], HASH)
        self.keys = tuple(keys[1 - relation])

    @property
    def state(self) -> tuple[Kept, ...]:
        kept: Kept = (self.side.buffer.kind,)
        return ((), kept) if self.relation else (kept, ())

    def process(self, inputs: Sequence[Delta], now: int) -> Delta:
        tuples, updates = inputs[1 - self.relation], inputs[self.relation]
        new, _ = self.side.add(updates, self.interner)
        self.side.link(new, len(self.interner))
        answer = self._meet(tuples)
        self.side.forget(now)
        self.interner = renew_coding(self.interner, (self.side,))
        return answer

    def _meet(self, tuples: Delta) -> Delta:
        if not len(tuples):
            return Delta.empty(self.schema)
        keys = [evaluate(k, tuples.rows) for k in self.keys]
        codes = self.interner.codes(keys, len(tuples))
        for key in keys:
            if key.null_count:
                codes[key.is_null().to_numpy(zero_copy_only=False)] = -1
        self.side.rings.reserve(len(self.interner))
        life, room = self.side.buffer.life, likely_room(2 * len(tuples) + 64)
        while True:
            out = [np.empty(room, np.int64) for _ in range(2)]
            count = _meet(codes, tuples.ts, self.side.heads, life.view, life.base, *out)
            if count <= room:
                break
            room = count
        mine, theirs = (a[:count] for a in out)
        parts = [take(tuples.rows, mine).columns, self.side.buffer.rows.take(theirs).columns]
        if self.relation == 0:
            parts.reverse()
        rows = batch_of(parts[0] + parts[1], self.schema, count)
        found = Delta(tuples.ts[mine], tuples.exp[mine], tuples.sign[mine], rows)
        return found if self.residual is None else found.filter(selection_mask(self.residual, rows))

    def size(self) -> int:
        return len(self.side.buffer)

    def save(self) -> Saved:
        saved = Saved()
        saved.add("relation", self.side.buffer.save())
        return saved

    def load(self, segments: Mapping[str, pa.RecordBatch], meta: Mapping[str, Any]) -> None:
        self.side.buffer.load(below("relation", segments), meta["relation"])
        self.side.restart(self.interner)
