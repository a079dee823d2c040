"""GROUP BY with aggregates: one tuple per group, replaced whenever its value changes.

The state is an array per aggregate, indexed by the group's code, and (unless the input is
MONOTONIC) the live input, because what expires must be subtracted (Golab 2006, 2.2.2). In each
interval the arrivals, withdrawals and expiries are sorted by group and time; each accumulator
turns them into its values after each instant at which the group changed, and the old row is
withdrawn where the new one differs. A group without tuples has no row.

With ``every_time`` the row is replaced even where the new one is equal.

With no aggregates this is duplicate elimination by counting, for STRICT input (3.2.2).

Cost: sorting the interval's events; state: the live input, the groups if it is MONOTONIC, or,
if it is WEAKEST and only MIN and MAX are asked for, the tuples that can still become extreme.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.columns.arrays import Int64s
from windrow.columns.delta import Delta, batch_of, split_by_sign
from windrow.columns.evaluate import evaluate
from windrow.columns.growable import Growable, fresh, grow
from windrow.columns.interner import Crowding, Interner
from windrow.core.patterns import UpdatePattern
from windrow.core.thresholds import Threshold
from windrow.operators.aggregates.count_sum_avg import Count
from windrow.operators.aggregates.events import Accumulator, ArgumentValues, Events
from windrow.operators.aggregates.extremes import Extreme
from windrow.operators.aggregates.replaced_rows import replaced_rows
from windrow.operators.base import Saved, below
from windrow.operators.state.buffer import StateBuffer
from windrow.operators.state.held_tuples import HeldInput
from windrow.operators.state.saved_segments import UpsertLog
from windrow.plan.expressions import Expression
from windrow.plan.physical.state_kinds import BufferKind, Kept, Structure

MOSTLY_OTHERS = Threshold(8)
"""Positions for each that is named up to which marking them all is faster than comparing."""


def distinct_positions(positions: Int64s, base: int, count: int) -> Int64s:
    """Each of some positions once, in order; there are ``count`` from ``base`` on.

    >>> distinct_positions(np.array([7, 5, 7]), 4, 6).tolist()
    [5, 7]
    """
    if count > MOSTLY_OTHERS.value * len(positions):
        return np.unique(positions)
    named = np.zeros(count, np.bool_)
    named[positions - base] = True
    return np.flatnonzero(named) + base


class GroupedAggregation:
    """One row per group, replaced when its aggregates change.

    ``arguments`` are the expressions that aggregates need, ``aggregates`` pairs of accumulator
    and the number of the argument that it takes, or None for COUNT(*).
    """

    def __init__(
        self,
        keys: Sequence[Expression],
        arguments: Sequence[Expression],
        aggregates: Sequence[tuple[Accumulator, int] | None],
        pattern: UpdatePattern,
        stored: pa.Schema,
        schema: pa.Schema,
        kind: BufferKind | None = None,
        every_time: bool = False,
    ) -> None:
        self.every_time = every_time
        self.inputs, self.schema = (*keys, *arguments), schema
        self.width, self.stored = len(keys), stored
        self.monotonic = pattern is UpdatePattern.MONOTONIC
        self.buffer = StateBuffer(stored, pattern, kind)
        extremes = [isinstance(slot[0], Extreme) if slot else False for slot in aggregates]
        only_extremes = bool(extremes) and all(extremes)
        # Where each expiry is a change, that of a tuple which no extreme needs is one too.
        self.staircase = only_extremes and pattern is UpdatePattern.WEAKEST and not every_time
        self.codes = Growable(np.int64)
        self.groups = Interner(stored.types[: self.width])
        self.members = Count()
        self.slots = tuple(aggregates)
        self.aggregates = tuple(slot for slot in self.slots if slot is not None)
        self.log = UpsertLog()
        self.dirty = fresh(False, np.bool_)
        self.crowding = Crowding()

    @property
    def state(self) -> tuple[Kept, ...]:
        few = replace(self.buffer.kind, of="what aggregates need")
        needed = any(accumulator.keeps_tuples for accumulator, _ in self.aggregates)
        buffers = (few,) if needed else ()
        return ((*(buffers if self.monotonic else (self.buffer.kind,)), Structure.GROUPS),)

    def process(self, inputs: Sequence[Delta], now: int) -> Delta:
        (delta,) = inputs
        arrays = [evaluate(e, delta.rows) for e in self.inputs]
        delta = delta.with_rows(batch_of(arrays, self.stored, len(delta)))
        events = self._events(delta, now)
        if events is None:
            self._reclaim()
            return Delta.empty(self.schema)
        sizes = self.members.advance(events, None)
        counts = tuple(pa.array(size) for size in sizes)
        values = [self._update(*slot, events) if slot else counts for slot in self.slots]
        answer = replaced_rows(self.groups, events, sizes, values, self.schema, self.every_time)
        self._forget(events, now)
        return answer

    def _events(self, delta: Delta, now: int) -> Events | None:
        """Store what came, and list it with what went."""
        positive, negative = split_by_sign(delta)
        first = self.buffer.insert(positive)
        keys = positive.rows.columns[: self.width]
        self.codes.append(self.groups.codes(keys, len(positive)))
        withdrawn = self.buffer.withdraw(negative)
        expired, expiry = self.buffer.expire(now)
        came = np.arange(first, first + len(positive), dtype=np.int64)
        position = np.concatenate([came, withdrawn, expired])
        if not len(position):
            return None
        sign = np.full(len(position), -1, np.int8)
        sign[: len(came)] = 1
        for accumulator in (self.members, *(a for a, _ in self.aggregates)):
            accumulator.grow(len(self.groups))
        time = np.concatenate([positive.ts, negative.ts, expiry])
        return Events.sort(self.codes.take(position), time, position, sign)

    def _update(
        self, accumulator: Accumulator, argument: int, events: Events
    ) -> tuple[pa.Array, pa.Array]:
        return accumulator.update(events, self._values(argument))

    def _values(self, argument: int) -> ArgumentValues:
        return ArgumentValues(self.buffer.rows.columns[self.width + argument])

    def _forget(self, events: Events, now: int) -> None:
        if self.monotonic:
            self.dirty = grow(self.dirty, len(self.groups), False)
            self.dirty[events.groups] = True
            self._keep_what_matters(events, now)
        elif self.staircase:
            self._keep_staircase(events, now)
        self._reclaim()
        self._forget_groups()

    def _reclaim(self) -> None:
        """Free what is dead; what is kept by position goes with the tuples."""
        move = self.buffer.reclaim()
        if move is not None:
            move.carry(self.codes)
        self.codes.drop_before(self.buffer.base)
        for accumulator, _ in self.aggregates:
            if move is not None:
                accumulator.follow(move)
            accumulator.drop_before(self.buffer.base)

    def _keep_what_matters(self, events: Events, now: int) -> None:
        """Over MONOTONIC input a tuple stays only while an accumulator points at it."""
        keepers = [(a, argument) for a, argument in self.aggregates if a.keeps_tuples]
        positions = np.concatenate([events.position, *(a.obsolete() for a, _ in keepers)])
        positions = distinct_positions(positions, self.codes.base, len(self.codes))
        kept = np.zeros(len(positions), np.bool_)
        codes = self.codes.take(positions) if keepers else positions
        for accumulator, argument in keepers:
            kept |= accumulator.keeps(positions, codes, self._values(argument))
        self.buffer.kill(positions[~kept], now)
        self.buffer.whole = False

    def _keep_staircase(self, events: Events, now: int) -> None:
        """Over WEAKEST input MIN and MAX need only tuples that no younger one outdoes."""
        useless: Int64s | None = None
        extremes = [(a, i) for a, i in self.aggregates if isinstance(a, Extreme)]
        for extreme, argument in extremes:
            found = extreme.find_dominated(events.groups, self._values(argument))
            useless = found if useless is None else np.intersect1d(useless, found)
        if useless is None or not len(useless):
            return
        codes = self.codes.take(useless)
        for extreme, _ in extremes:
            extreme.leave_out(useless, codes)
        np.subtract.at(self.members.counts, codes, 1)
        self.buffer.kill(useless, now)
        self.buffer.whole = False

    def _forget_groups(self) -> None:
        """Give the living groups new codes, once most groups are dead."""
        size = len(self.groups)
        if self.monotonic or not self.crowding.is_due(size):
            return
        live = np.flatnonzero(self.members.counts[:size] > 0)
        if not self.crowding.renewal_pays(size, len(live)):
            return
        remap = self.groups.compact(live)
        for accumulator in (self.members, *(a for a, _ in self.aggregates)):
            accumulator.regroup(live, remap)
        codes = remap[self.codes.view]
        base = self.codes.base
        self.codes.clear(base)
        self.codes.append(np.maximum(codes, 0))

    def held_inputs(self) -> Mapping[str, HeldInput]:
        return {} if self.monotonic else {"live": HeldInput(0, self.buffer, self.inputs)}

    def size(self) -> int:
        return len(self.buffer) + len(self.groups)

    def save(self) -> Saved:
        saved = Saved()
        saved.add("live", self.buffer.save())
        if self.monotonic:
            dirty = np.flatnonzero(self.dirty[: len(self.groups)])
            saved.add("groups", self.log.save(dirty, len(self.groups), self._dump))
            self.dirty[:] = False
        return saved

    def _dump(self, codes: Int64s) -> pa.RecordBatch:
        arrays = [*self.groups.rows(codes), *self.members.dump(codes)]
        for accumulator, _ in self.aggregates:
            arrays += accumulator.dump(codes)
        return pa.RecordBatch.from_arrays(arrays, [str(i) for i in range(len(arrays))])

    def load(self, segments: Mapping[str, pa.RecordBatch], meta: Mapping[str, Any]) -> None:
        self.buffer.load(below("live", segments), meta["live"])
        accumulators = [a for a, _ in self.aggregates]
        if self.monotonic:
            for batch in self.log.load(below("groups", segments), meta["groups"]):
                codes = self.groups.codes(batch.columns[: self.width], batch.num_rows)
                columns = batch.columns[self.width :]
                for accumulator in (self.members, *accumulators):
                    accumulator.grow(len(self.groups))
                    taken = len(accumulator.dump(codes[:0]))
                    accumulator.restore(codes, columns[:taken])
                    columns = columns[taken:]
        everything = np.arange(self.buffer.base, self.buffer.next, dtype=np.int64)
        keys = self.buffer.rows.take(everything).columns[: self.width]
        self.codes.clear(self.buffer.base)
        self.codes.append(self.groups.codes(keys, len(everything)))
        self._replay(self.buffer.living())

    def _replay(self, living: Int64s) -> None:
        """Let accumulators take in the stored tuples as if they had just come."""
        if not len(living):
            return
        codes = self.codes.take(living)
        sign = np.ones(len(living), np.int8)
        events = Events.sort(codes, np.zeros(len(living), np.int64), living, sign)
        for accumulator in (self.members, *(a for a, _ in self.aggregates)):
            accumulator.grow(len(self.groups))
        if not self.monotonic:
            self.members.advance(events, None)
        for accumulator, argument in self.aggregates:
            if not self.monotonic or not accumulator.dump(codes[:0]):
                self._update(accumulator, argument, events)
