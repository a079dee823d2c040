"""NOT EXISTS under any condition: left tuples while no live right tuple goes with them.

Where the condition is an equality, a count per value is enough (``windrow.operators.negation``).
Where it is more, or something else, each left tuple has a count of its own: of the live right
tuples for which the whole condition is true. A right tuple is compared with the left tuples of
its key when it comes and again when it leaves, as a join would compare them; with no key, with
all of them. ``flagged`` is as there.

Cost: per tuple, the other side's tuples of its key, twice for right ones. State: both inputs
(of the right one the columns that the condition names), and a count per left tuple.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.columns.arrays import Int64s
from windrow.columns.delta import Delta, split_by_sign
from windrow.columns.evaluate import evaluate
from windrow.columns.growable import Growable
from windrow.core.patterns import UpdatePattern
from windrow.core.time import BEGINNING
from windrow.operators.base import Saved, below
from windrow.operators.join_pairs import JoinPairs, Pairs
from windrow.operators.join_side import JoinSide
from windrow.operators.open_periods import changes_of, count_and_flip, tuples_of
from windrow.operators.state.held_tuples import HeldInput
from windrow.operators.state.tuple_index import END
from windrow.plan.expressions import Expression
from windrow.plan.physical.state_kinds import BufferKind, Kept, Structure


class UnmatchedTheta:
    """``residual`` is over a left and a right tuple side by side."""

    def __init__(
        self,
        schemas: tuple[pa.Schema, pa.Schema],
        patterns: tuple[UpdatePattern, UpdatePattern],
        keys: tuple[Sequence[Expression], Sequence[Expression]],
        kinds: Sequence[pa.DataType],
        residual: Expression,
        buffers: Sequence[BufferKind | None] = (None, None),
        flagged: pa.Schema | None = None,
    ) -> None:
        self.flagged = flagged
        self.left = JoinSide(schemas[0], patterns[0], keys[0], buffers[0])
        self.right = JoinSide(schemas[1], patterns[1], keys[1], buffers[1])
        both = pa.schema([*schemas[0], *schemas[1]])
        self.pairing = JoinPairs(self.left, self.right, kinds, residual, both)
        self.matches = Growable(np.int64)  # of the left tuple at each position
        self.now = BEGINNING

    @property
    def state(self) -> tuple[Kept, ...]:
        left: Kept = (self.left.buffer.kind, Structure.MATCHES)
        return (left, (self.right.buffer.kind,))

    def process(self, inputs: Sequence[Delta], now: int) -> Delta:
        left, right, pairing = self.left, self.right, self.pairing
        new_left, gone = self._add_left(inputs[0])
        new_right, withdrawn = right.add(inputs[1], pairing.interner)
        expired, _ = right.buffer.expire(now)
        older = expired[expired < right.buffer.next - len(new_right)]
        pairing.make_room()
        # Until the new ones are linked, chains lead to old tuples only.
        ended = pairing.probe(np.concatenate([withdrawn, older]), right, self.now)
        fresh = [pairing.probe(new_left, left, self.now)]
        pairing.link(left, new_left)
        fresh.append(pairing.probe(new_right, right, self.now))
        pairing.link(right, new_right)
        answer = self._emit(Pairs.concatenate(fresh), ended, np.concatenate([new_left, gone]), now)
        self._forget(now)
        return answer

    def _add_left(self, delta: Delta) -> tuple[Int64s, Int64s]:
        """As ``Side.add``, but a tuple with a NULL key stays: nothing goes with it."""
        buffer = self.left.buffer
        positive, negative = split_by_sign(delta)
        first = buffer.insert(positive)
        keys = [evaluate(k, positive.rows) for k in self.left.keys]
        self.left.codes.append(self.pairing.interner.codes(keys, len(positive)))
        self.matches.extend(len(positive), 0)
        gone = buffer.withdraw(negative)
        return np.arange(first, buffer.next, dtype=np.int64), gone[gone < first]

    def _emit(self, fresh: Pairs, ended: Pairs, touched: Int64s, now: int) -> Delta:
        """What the pairs that came and ended make of the left tuples."""
        leaving, left_at = self._end(fresh), self._end(ended)
        gone = leaving <= now
        position = np.concatenate([fresh.left, fresh.left[gone], ended.left])
        time = np.concatenate([fresh.start, leaving[gone], left_at])
        sign = np.full(len(position), -1, np.int8)
        sign[: len(fresh)] = 1
        affected = np.unique(np.concatenate([position, touched]))
        places = np.arange(len(affected), dtype=np.int64)
        counts = self.matches.take(affected)
        flips = count_and_flip(counts, np.searchsorted(affected, position), time, sign)
        self.matches.view[affected - self.matches.base] = counts
        interval, life = (self.now, now), self.left.buffer.life
        shown = [flips] if self.flagged is None else [flips, flips.opposite()]
        parts = [changes_of(affected, places, life, interval, periods) for periods in shown]
        return tuples_of(self.left.buffer, parts, self.flagged)

    def _end(self, pairs: Pairs) -> Int64s:
        """When the right tuple of each pair ends."""
        return np.ascontiguousarray(self.right.buffer.life.take(pairs.right)[:, END])

    def _forget(self, now: int) -> None:
        self.now = now
        move = self.pairing.forget(now)
        if move is not None:
            move.carry(self.matches)
        self.matches.drop_before(self.left.buffer.base)

    def _recount(self) -> None:
        """Count what lives, after a load."""
        buffer = self.left.buffer
        pairs = self.pairing.probe(buffer.living(), self.left, self.now)
        self.matches.clear(buffer.base)
        self.matches.append(np.bincount(pairs.left - buffer.base, minlength=len(buffer.life)))

    def held_inputs(self) -> Mapping[str, HeldInput]:
        return {
            "left": HeldInput(0, self.left.buffer),
            "right": HeldInput(1, self.right.buffer),
        }

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
        self.pairing.restart()
        self._recount()
