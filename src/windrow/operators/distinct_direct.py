"""Duplicate elimination that keeps its whole input: the direct approach (Golab 2006, 2.2.2).

When the tuple that stands for a value expires, the input is asked for another live one with that
value, the longest lived. It is the rival of ``distinct_auxiliary``, which keeps two
integers per value instead of the input; both put out the same tuples.
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
from windrow.columns.kernels import grid, int64, ints, ints_out, kernel, likely_room
from windrow.core.patterns import UpdatePattern
from windrow.core.time import BEGINNING, FOREVER
from windrow.operators.base import Saved, below
from windrow.operators.join_side import JoinSide
from windrow.operators.state.buffer import StateBuffer
from windrow.operators.state.tuple_index import EXP, LINK, TS
from windrow.plan.physical.state_kinds import Kept, Structure, buffer_kind
from windrow.windows.chains import older

VALUES = pa.schema([("value", pa.int64())])


@kernel(int64, int64, int64, ints, grid, int64)
def _successor(code, at, heads, life, base):  # type: ignore[no-untyped-def]
    """The latest expiry of a tuple with the value that has come by ``at`` and outlives it."""
    best = at
    p = heads[code]
    while p >= base:
        if life[p - base, TS] <= at and life[p - base, EXP] > best:
            best = life[p - base, EXP]
        p = older(p, base, LINK, life)
    return best


@kernel(int64, ints, ints, ints, int64, ints, grid, int64, *[ints_out] * 4)
def _distinct(  # type: ignore[no-untyped-def]
    codes, ts, exp, now, heads, life, base, standing, out_code, out_time, out_exp
):
    """Tuples in time order; one with a ``ts`` after ``now`` only settles its value."""
    count = 0
    for i in range(len(codes)):
        c = codes[i]
        until = min(ts[i], now)
        while BEGINNING < standing[c] <= until:
            heir = _successor(c, standing[c], heads, life, base)
            if heir == standing[c]:
                break
            if count < len(out_code):
                out_code[count], out_time[count], out_exp[count] = c, standing[c], heir
            count += 1
            standing[c] = heir
        if ts[i] <= now and standing[c] <= ts[i]:
            if count < len(out_code):
                out_code[count], out_time[count], out_exp[count] = c, ts[i], exp[i]
            count += 1
            standing[c] = exp[i]
    return count


class DistinctDirect:
    """State: the input, and the tuple that stands for each value."""

    def __init__(self, schema: pa.Schema, pattern: UpdatePattern) -> None:
        self.schema = schema
        self.values = Interner(schema.types)
        self.side = JoinSide(schema, pattern, ())
        self.standing = fresh(BEGINNING)
        self.crowding = Crowding()
        scanned = buffer_kind(UpdatePattern.WEAK, scan=True)
        self.output = StateBuffer(VALUES, UpdatePattern.WEAK, scanned)

    @property
    def state(self) -> tuple[Kept, ...]:
        return ((self.side.buffer.kind, Structure.OUTPUT, self.output.kind),)

    def process(self, inputs: Sequence[Delta], now: int) -> Delta:
        (delta,) = inputs
        buffer = self.side.buffer
        came = self.values.codes(delta.rows.columns, len(delta))
        first = buffer.insert(delta)
        self.side.codes.append(came)
        self.side.link(np.arange(first, buffer.next), len(self.values))
        self.standing = grow(self.standing, len(self.values), BEGINNING)
        due, _ = self.output.lapse(now)
        values = self.output.rows.column(0, due).to_numpy()
        settle = np.full(len(came) + len(values), FOREVER)
        codes = np.concatenate([came, came, values])
        ts, exp = np.concatenate([delta.ts, settle]), np.concatenate([delta.exp, settle])
        answer = self._emit(codes, ts, exp, now)
        self.output.reclaim()
        self.side.forget(now)
        self._forget_values(now)
        return answer

    def _emit(self, codes: Int64s, ts: Int64s, exp: Int64s, now: int) -> Delta:
        life, room = self.side.buffer.life, likely_room(2 * len(codes) + 64)
        while True:
            standing = self.standing.copy()
            out = [np.empty(room, np.int64) for _ in range(3)]
            heads = self.side.heads
            count = _distinct(codes, ts, exp, now, heads, life.view, life.base, standing, *out)
            if count <= room:
                break
            room = count
        self.standing = standing
        code, time, expiry = (a[:count] for a in out)
        order = np.argsort(time, kind="stable")
        code, time, expiry = code[order], time[order], expiry[order]
        lasting = expiry > now
        self._keep(code[lasting], time[lasting], expiry[lasting])
        rows = batch_of(self.values.rows(code), self.schema, count)
        return Delta.insertions(time, rows, expiry)

    def _forget_values(self, now: int) -> None:
        """Give new codes to the values that have a tuple, once most have none."""
        size = len(self.values)
        if not self.crowding.is_due(size):
            return
        live = np.flatnonzero(self.standing[:size] > now)
        if not self.crowding.renewal_pays(size, len(live)):
            return
        standing, held = self.standing[live], self.output.living()
        codes = self.output.rows.column(0, held).to_numpy()
        life = self.output.life.take(held)
        remap = self.values.compact(live)
        self.standing = grow(fresh(BEGINNING), len(self.values), BEGINNING)
        self.standing[remap[live]] = standing
        self.side.relink(np.maximum(remap[self.side.codes.view], 0), len(self.values))
        self.output.kill(held, now)
        self._keep(remap[codes], life[:, TS].copy(), life[:, EXP].copy())

    def _keep(self, codes: Int64s, ts: Int64s, exp: Int64s) -> None:
        """Store which values are in the output, and until when."""
        rows = pa.RecordBatch.from_arrays([pa.array(codes)], schema=self.output.schema)
        self.output.insert(Delta.insertions(ts, rows, exp))

    def _relink(self) -> None:
        buffer = self.side.buffer
        everything = np.arange(buffer.base, buffer.next, dtype=np.int64)
        codes = self.values.codes(buffer.rows.take(everything).columns, len(everything))
        self.side.relink(codes, len(self.values))

    def size(self) -> int:
        return len(self.side.buffer) + len(self.output)

    def save(self) -> Saved:
        saved = Saved()
        saved.add("input", self.side.buffer.save())
        saved.add("output", self.output.save())
        names = self.values.rows(np.arange(len(self.values)))
        arrays = [pa.array(self.standing[: len(self.values)]), *names]
        numbered = [str(i) for i in range(len(arrays))]
        saved.put["values"] = pa.RecordBatch.from_arrays(arrays, numbered)
        return saved

    def load(self, segments: Mapping[str, pa.RecordBatch], meta: Mapping[str, Any]) -> None:
        self.side.buffer.load(below("input", segments), meta["input"])
        self.output.load(below("output", segments), meta["output"])
        values = segments["values"]
        codes = self.values.codes(values.columns[1:], values.num_rows)
        self.standing = grow(self.standing, len(self.values), BEGINNING)
        self.standing[codes] = values.column(0).to_numpy()
        self._relink()
