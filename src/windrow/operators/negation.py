"""NOT EXISTS and NOT IN: left tuples while no right tuple has their value (Golab 2006, 2.2.2).

For each value there is a count of the live right tuples that have it; a value is *open* while
the count is zero. A left tuple is in the answer where its own life and the open periods of its
value meet. So a right tuple that comes may withdraw left tuples before their time, by negative
tuples, and one that expires may bring left tuples back; what merely expires by itself is not
announced (see ``windrow.operators.open_periods``).

``flagged`` shows all left tuples, those with a match too, and says in a last column which are.

NOT IN follows SQL's NULLs: while the right side holds a NULL nothing is in the answer, and a
left NULL is only while the right side is empty. For NOT EXISTS a NULL simply equals nothing.

Cost: sorting the right side's events, plus, for each value that opens or closes, its left
tuples. State: the left input, and the keys of the right one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.columns.arrays import Bools, Int64s
from windrow.columns.delta import Delta, batch_of, split_by_sign
from windrow.columns.evaluate import evaluate
from windrow.columns.growable import Growable, fresh, grow
from windrow.columns.interner import Interner
from windrow.core.patterns import UpdatePattern
from windrow.core.time import BEGINNING
from windrow.operators.base import Saved, below
from windrow.operators.join_side import WORTH_RECODING, JoinSide
from windrow.operators.open_periods import (
    NONE,
    Changes,
    Flips,
    changes_of,
    count_and_flip,
    tuples_of,
)
from windrow.operators.state.buffer import StateBuffer
from windrow.operators.state.held_tuples import HeldInput
from windrow.operators.state.tuple_index import LINK
from windrow.plan.expressions import Expression
from windrow.plan.physical.state_kinds import BufferKind, Kept, Structure


class Unmatched:
    """NOT EXISTS on equal keys. ``null_aware`` makes it NOT IN.

    ``flagged`` is the schema with a column for whether there is a match.
    """

    def __init__(
        self,
        schema: pa.Schema,
        patterns: tuple[UpdatePattern, UpdatePattern],
        keys: tuple[Sequence[Expression], Sequence[Expression]],
        kinds: Sequence[pa.DataType],
        null_aware: bool,
        buffers: Sequence[BufferKind | None] = (None, None),
        flagged: pa.Schema | None = None,
    ) -> None:
        self.schema, self.kinds, self.null_aware = schema, tuple(kinds), null_aware
        self.flagged = flagged
        self.left = JoinSide(schema, patterns[0], keys[0], buffers[0])
        self.right_keys = tuple(keys[1])
        names = [str(i) for i in range(len(self.kinds))]
        self.right_schema = pa.schema(list(zip(names, self.kinds, strict=True)))
        self.right = StateBuffer(self.right_schema, patterns[1], buffers[1])
        self.now = BEGINNING
        self._restart()

    def _restart(self) -> None:
        self.values = Interner(self.kinds)
        self.right_codes = Growable(np.int64)
        self.per_value = fresh(0)
        self.nulls, self.total = np.zeros(1, np.int64), np.zeros(1, np.int64)

    @property
    def state(self) -> tuple[Kept, ...]:
        keys = replace(self.right.kind, of="keys")
        return ((self.left.buffer.kind,), (keys, Structure.KEY_COUNTS))

    def process(self, inputs: Sequence[Delta], now: int) -> Delta:
        new, gone = self._add_left(inputs[0])
        code, time, sign, null = self._add_right(inputs[1], now)
        size = len(self.values)
        self.per_value = grow(self.per_value, size, 0)
        flips = count_and_flip(self.per_value[:size], code[~null], time[~null], sign[~null])
        zeros = np.zeros(len(code), np.int64)
        nulls = count_and_flip(self.nulls, zeros[null], time[null], sign[null])
        total = count_and_flip(self.total, zeros, time, sign)
        self.left.rings.reserve(size)
        affected = self._affected_rows(flips, nulls, total, new, gone)
        answer = self._emit(affected, flips, nulls, total, now)
        self.left.link(new, size)
        self._forget(now)
        return answer

    def _add_left(self, delta: Delta) -> tuple[Int64s, Int64s]:
        buffer = self.left.buffer
        positive, negative = split_by_sign(delta)
        first = buffer.insert(positive)
        keys = [evaluate(k, positive.rows) for k in self.left.keys]
        self.left.codes.append(self.values.codes(keys, len(positive)))
        gone = buffer.withdraw(negative)
        return np.arange(first, buffer.next, dtype=np.int64), gone[gone < first]

    def _add_right(
        self, delta: Delta, now: int
    ) -> tuple[Int64s, Int64s, npt.NDArray[np.int8], Bools]:
        """Codes, times and signs of what came to and left the right side, and which are NULL."""
        arrays = [evaluate(k, delta.rows) for k in self.right_keys]
        delta = delta.with_rows(batch_of(arrays, self.right_schema, len(delta)))
        positive, negative = split_by_sign(delta)
        first = self.right.insert(positive)
        self.right_codes.append(self._right_codes(positive.rows))
        gone = self.right.withdraw(negative)
        expired, expiry = self.right.lapse(now)
        position = np.concatenate([np.arange(first, self.right.next), gone, expired])
        code = self.right_codes.take(position.astype(np.int64))
        sign = np.full(len(code), -1, np.int8)
        sign[: len(positive)] = 1
        return code, np.concatenate([positive.ts, negative.ts, expiry]), sign, code < 0

    def _right_codes(self, rows: pa.RecordBatch) -> Int64s:
        """Codes of right keys, -1 where one of them is NULL and so equals nothing."""
        codes = self.values.codes(rows.columns, rows.num_rows)
        for column in rows.columns:
            if column.null_count:
                codes[column.is_null().to_numpy(zero_copy_only=False)] = -1
        return codes

    def _affected_rows(
        self, flips: Flips, nulls: Flips, total: Flips, new: Int64s, gone: Int64s
    ) -> Int64s:
        if self.null_aware and (len(nulls.at) or len(total.at)):
            return np.arange(self.left.buffer.base, self.left.buffer.next, dtype=np.int64)
        older = self.left.rings.walk(flips.values, self.left.buffer.life, LINK)
        if len(gone):
            return np.unique(np.concatenate([older, new, gone]))
        return np.sort(np.concatenate([older, new]))  # what is new is in no ring yet

    def _emit(self, at: Int64s, flips: Flips, nulls: Flips, total: Flips, now: int) -> Delta:
        if self.null_aware:
            missing = self._null_code()
            is_null = self.left.codes.take(at) == missing
            parts = [
                self._walk(at[~is_null], flips, nulls.at, bool(nulls.was_open[0]), now),
                self._walk(at[is_null], flips.never(), total.at, bool(total.was_open[0]), now),
            ]
        else:
            shown = [flips] if self.flagged is None else [flips, flips.opposite()]
            parts = [self._walk(at, periods, NONE, True, now) for periods in shown]
        return tuples_of(self.left.buffer, parts, self.flagged)

    def _null_code(self) -> int:
        """The code of the row whose one key is NULL."""
        return int(self.values.codes([pa.nulls(1, kind) for kind in self.kinds], 1)[0])

    def _walk(self, at: Int64s, flips: Flips, others: Int64s, all_open: bool, now: int) -> Changes:
        codes, life = self.left.codes.take(at), self.left.buffer.life
        return changes_of(at, codes, life, (self.now, now), flips, others, all_open)

    def _forget(self, now: int) -> None:
        self.now = now
        self.left.forget(now)
        move = self.right.reclaim()
        if move is not None:
            move.carry(self.right_codes)
        self.right_codes.drop_before(self.right.base)
        held = len(self.left.codes) + len(self.right_codes)
        if len(self.values) > 4 * held + WORTH_RECODING.value:
            self._recount()

    def _recount(self) -> None:
        """Code, link and count what lives, after a load or when most codes are dead."""
        self._restart()
        self.left.restart(self.values)
        everything = np.arange(self.right.base, self.right.next, dtype=np.int64)
        self.right_codes.clear(self.right.base)
        self.right_codes.append(self._right_codes(self.right.rows.take(everything)))
        code = self.right_codes.take(self.right.living())
        size = len(self.values)
        self.per_value = np.bincount(code[code >= 0], minlength=size).astype(np.int64)
        self.nulls[0], self.total[0] = (code < 0).sum(), len(code)

    def held_inputs(self) -> Mapping[str, HeldInput]:
        return {"left": HeldInput(0, self.left.buffer)}

    def size(self) -> int:
        return len(self.left.buffer) + len(self.right)

    def save(self) -> Saved:
        saved = Saved()
        saved.add("left", self.left.buffer.save())
        saved.add("right", self.right.save())
        saved.meta["now"] = self.now
        return saved

    def load(self, segments: Mapping[str, pa.RecordBatch], meta: Mapping[str, Any]) -> None:
        self.now = int(meta["now"])
        self.left.buffer.load(below("left", segments), meta["left"])
        self.right.load(below("right", segments), meta["right"])
        self._recount()
