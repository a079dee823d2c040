"""Duplicate elimination over MONOTONIC, WEAKEST and WEAK input: the operator with auxiliary state.

For each value it holds the expiry of the tuple that stands for it in the output, and of the
stored duplicate that lives longest (Golab 2006, 3.5.2: the youngest; over WEAK input the longest
lived is what matters, and over a window both are the same). When the standing tuple expires, the
duplicate takes its place, if it still lives. So the state is at most twice the output, instead
of the whole input, and the output needs no negative tuples.

Cost: per tuple O(1); per expiry of an output tuple O(1); state: two integers per distinct value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.columns.arrays import Int64s
from windrow.columns.delta import Delta, batch_of
from windrow.columns.growable import fresh, grow
from windrow.columns.interner import Crowding, Interner
from windrow.columns.kernels import int64, ints, ints_out, kernel
from windrow.core.patterns import UpdatePattern
from windrow.core.time import BEGINNING, FOREVER
from windrow.operators.base import Saved, below
from windrow.operators.state.calendar_queue import CalendarQueue
from windrow.operators.state.saved_segments import UpsertLog
from windrow.operators.state.schedules import Never, Schedule
from windrow.plan.physical.state_kinds import DEFAULT_CALENDAR, CalendarKind, Kept, Structure


@kernel(int64, ints, ints, ints, int64, ints_out, ints_out, ints_out, ints_out, ints_out)
def _distinct(codes, ts, exp, now, standing, spare, out_code, out_time, out_exp):  # type: ignore[no-untyped-def]
    """Tuples in time order; one with a ``ts`` after ``now`` only settles its value."""
    count = 0
    for i in range(len(codes)):
        c = codes[i]
        # The spare tuple takes over where the standing one expired before this arrival.
        if standing[c] <= min(ts[i], now) and spare[c] > standing[c]:
            out_code[count], out_time[count], out_exp[count] = c, standing[c], spare[c]
            standing[c] = spare[c]
            count += 1
        if ts[i] > now:
            continue
        if standing[c] <= ts[i]:
            out_code[count], out_time[count], out_exp[count] = c, ts[i], exp[i]
            standing[c] = exp[i]
            count += 1
        elif exp[i] > spare[c]:
            spare[c] = exp[i]
    return count


class DistinctAuxiliary:
    """Keeps two expiries per value: of the tuple that stands for it, and of the next one."""

    def __init__(
        self,
        schema: pa.Schema,
        pattern: UpdatePattern,
        kind: CalendarKind = DEFAULT_CALENDAR,
    ) -> None:
        self.schema = schema
        self.kind = None if pattern is UpdatePattern.MONOTONIC else kind
        self.values = Interner(schema.types)
        self.standing, self.spare = fresh(BEGINNING), fresh(BEGINNING)
        self.calendar = self._empty_calendar()
        self.log, self.dirty = UpsertLog(), fresh(False, np.bool_)
        self.crowding = Crowding()
        self.now = BEGINNING

    def _empty_calendar(self) -> Schedule:
        return Never() if self.kind is None else CalendarQueue(self.kind.partitions)

    @property
    def state(self) -> tuple[Kept, ...]:
        return ((Structure.OUTPUT,),) if self.kind is None else ((Structure.AUXILIARY, self.kind),)

    def process(self, inputs: Sequence[Delta], now: int) -> Delta:
        (delta,) = inputs
        came = self.values.codes(delta.rows.columns, len(delta))
        self.standing = grow(self.standing, len(self.values), BEGINNING)
        self.spare = grow(self.spare, len(self.values), BEGINNING)
        self.dirty = grow(self.dirty, len(self.values), False)
        due, _ = self.calendar.due(now)
        # One more look at each value whose standing tuple expires, or may come to expire, by now;
        # a second look at the same value finds nothing.
        settle = np.full(len(came) + len(due), FOREVER)
        codes = np.concatenate([came, came, due])
        ts, exp = np.concatenate([delta.ts, settle]), np.concatenate([delta.exp, settle])
        room = 2 * len(codes)
        found = (np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int64))
        count = _distinct(codes, ts, exp, now, self.standing, self.spare, *found)
        code, time, expiry = (a[:count] for a in found)
        # Of several lives of a value in this interval only the last is still to expire.
        self.calendar.insert(code, self.standing[code])
        self.dirty[codes] = True
        order = np.argsort(time, kind="stable")
        code = code[order]
        rows = batch_of(self.values.rows(code), self.schema, count)
        answer = Delta.insertions(time[order], rows, expiry[order])
        self._forget(now)
        return answer

    def _forget(self, now: int) -> None:
        """Drop values that are gone, once they are the most."""
        self.now = now
        size = len(self.values)
        if not self.crowding.is_due(size):
            return
        live = np.flatnonzero(self.standing[:size] > now)
        if not self.crowding.renewal_pays(size, len(live)):
            return
        standing, spare = self.standing[live], self.spare[live]
        codes = self.values.compact(live)[live]
        for name, kept in (("standing", standing), ("spare", spare)):
            values = np.full(len(getattr(self, name)), BEGINNING, np.int64)
            values[codes] = kept
            setattr(self, name, values)
        self.calendar = self._empty_calendar()
        self.calendar.insert(codes, standing)
        self.log.start_over()
        self.dirty[:] = False

    def size(self) -> int:
        """Standing tuples, and the duplicates that will take their place, as of the last look."""
        standing, spare = self.standing[: len(self.values)], self.spare[: len(self.values)]
        live = standing > self.now
        return int(np.count_nonzero(live) + np.count_nonzero(live & (spare > standing)))

    def save(self) -> Saved:
        dirty = np.flatnonzero(self.dirty[: len(self.values)])
        self.dirty[:] = False
        saved = Saved()
        saved.add("values", self.log.save(dirty, len(self.values), self._dump))
        return saved

    def _dump(self, codes: Int64s) -> pa.RecordBatch:
        arrays = [pa.array(self.standing[codes]), pa.array(self.spare[codes])]
        arrays += self.values.rows(codes)
        return pa.RecordBatch.from_arrays(arrays, [str(i) for i in range(len(arrays))])

    def load(self, segments: Mapping[str, pa.RecordBatch], meta: Mapping[str, Any]) -> None:
        for batch in self.log.load(below("values", segments), meta["values"]):
            codes = self.values.codes(batch.columns[2:], batch.num_rows)
            self.standing = grow(self.standing, len(self.values), BEGINNING)
            self.spare = grow(self.spare, len(self.values), BEGINNING)
            self.dirty = grow(self.dirty, len(self.values), False)
            self.standing[codes] = batch.column(0).to_numpy()
            self.spare[codes] = batch.column(1).to_numpy()
        codes = np.arange(len(self.values), dtype=np.int64)
        self.calendar.insert(codes, self.standing[codes])
