"""EXCEPT: of each row as many copies as the left side has more (Golab 2006, 2.2.2).

With v1 equal rows on the left and v2 on the right, max(v1 - v2, 0) are in the answer. Both sides
are kept for their expiries; which of several equal rows are in the answer nobody can tell, so
the output counts copies: every change of the number is announced when it happens.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.columns.arrays import Int64s
from windrow.columns.delta import Delta, batch_of, split_by_sign
from windrow.columns.growable import Growable
from windrow.columns.interner import FEW
from windrow.core.patterns import UpdatePattern
from windrow.core.time import FOREVER
from windrow.operators.aggregates.events import Events
from windrow.operators.base import Saved, below
from windrow.operators.state.buffer import StateBuffer
from windrow.operators.state.held_tuples import HeldInput
from windrow.plan.physical.state_kinds import BufferKind, Kept
from windrow.windows.row_index import RowIndex

NAMES = ("left", "right")


class BagDifference:
    """EXCEPT of bags. State: both inputs' live rows, and two counts per distinct row."""

    def __init__(
        self,
        schema: pa.Schema,
        patterns: tuple[UpdatePattern, UpdatePattern],
        buffers: Sequence[BufferKind | None] = (None, None),
    ) -> None:
        self.schema = schema
        kinds = zip(patterns, buffers, strict=True)
        self.buffers = tuple(StateBuffer(schema, pattern, kind) for pattern, kind in kinds)
        self._restart()

    def _restart(self) -> None:
        self.rows = RowIndex(self.schema.types, windows=2)
        self.codes = (Growable(np.int64), Growable(np.int64))

    @property
    def state(self) -> tuple[Kept, ...]:
        return tuple((buffer.kind,) for buffer in self.buffers)

    def process(self, inputs: Sequence[Delta], now: int) -> Delta:
        parts = [self._changes(side, inputs[side], now) for side in (0, 1)]
        code, time, sign = (np.concatenate(p) for p in zip(*parts, strict=True))
        if not len(code):
            return self._forget(Delta.empty(self.schema))
        side = np.zeros(len(code), np.int64)
        side[len(parts[0][0]) :] = 1
        events = Events.sort(code, time, side, sign)
        last = events.code[events.last]
        before, after = [], []
        for number, counts in enumerate(self.rows.counts):
            change = np.where(events.position == number, events.sign, 0).astype(np.int64)
            was = counts[events.groups]
            now_held = events.running(change, was)
            counts[last] = now_held
            before.append(was)
            after.append(now_held)
        had, has = (np.maximum(v[0] - v[1], 0) for v in (before, after))
        old = np.where(events.opening, had[events.group_of], np.concatenate([[0], has[:-1]]))
        change = has - old
        copies = np.repeat(np.arange(len(change)), np.abs(change))
        times = events.time[events.last][copies]
        order = np.argsort(times, kind="stable")
        copies = copies[order]
        rows = batch_of(self.rows.rows(last[copies]), self.schema, len(copies))
        signs = np.sign(change[copies]).astype(np.int8)
        exp = np.full(len(copies), FOREVER, np.int64)
        return self._forget(Delta(times[order], exp, signs, rows))

    def _changes(
        self, side: int, delta: Delta, now: int
    ) -> tuple[Int64s, Int64s, npt.NDArray[np.int8]]:
        """Codes, times and signs of everything that came to or left one side."""
        buffer, codes = self.buffers[side], self.codes[side]
        delta = delta.with_rows(batch_of(delta.rows.columns, self.schema, len(delta)))
        positive, negative = split_by_sign(delta)
        first = buffer.insert(positive)
        codes.append(self.rows.locate(positive.rows.columns, len(positive)))
        gone = buffer.withdraw(negative)
        expired, expiry = buffer.expire(now)
        position = np.concatenate([np.arange(first, buffer.next), gone, expired]).astype(np.int64)
        sign = np.full(len(position), -1, np.int8)
        sign[: len(positive)] = 1
        return codes.take(position), np.concatenate([positive.ts, negative.ts, expiry]), sign

    def _forget(self, answer: Delta) -> Delta:
        for buffer, codes in zip(self.buffers, self.codes, strict=True):
            move = buffer.reclaim()
            if move is not None:
                move.carry(codes)
            codes.drop_before(buffer.base)
        held = sum(len(buffer.life) for buffer in self.buffers)
        if len(self.rows) > max(FEW.value, 4 * held):
            self._recount()
        return answer

    def _recount(self) -> None:
        """Code and count what lives, after a load or when most codes are dead."""
        self._restart()
        for side, buffer in enumerate(self.buffers):
            everything = np.arange(buffer.base, buffer.next, dtype=np.int64)
            codes = self.rows.locate(buffer.rows.take(everything).columns, len(everything))
            self.codes[side].clear(buffer.base)
            self.codes[side].append(codes)
        for side, buffer in enumerate(self.buffers):
            np.add.at(self.rows.counts[side], self.codes[side].take(buffer.living()), 1)

    def held_inputs(self) -> Mapping[str, HeldInput]:
        pairs = enumerate(zip(NAMES, self.buffers, strict=True))
        return {name: HeldInput(number, buffer) for number, (name, buffer) in pairs}

    def size(self) -> int:
        return sum(len(buffer) for buffer in self.buffers)

    def save(self) -> Saved:
        saved = Saved()
        for name, buffer in zip(NAMES, self.buffers, strict=True):
            saved.add(name, buffer.save())
        return saved

    def load(self, segments: Mapping[str, pa.RecordBatch], meta: Mapping[str, Any]) -> None:
        for name, buffer in zip(NAMES, self.buffers, strict=True):
            buffer.load(below(name, segments), meta[name])
        self._recount()
