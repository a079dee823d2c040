"""NOT EXISTS and NOT IN: left tuples while no right tuple has their value (Golab 2006, 2.2.2).

For each value there is a count of the live right tuples that have it; a value is *open* while
the count is zero. A left tuple is in the answer where its own life and the open periods of its
value meet. So a right tuple that comes may withdraw left tuples before their time, by negative
tuples, and one that expires may bring left tuples back; what merely expires by itself is not
announced. Inside an interval the counts' changes are sorted by value and time first; then each
left tuple that can be affected walks through the periods of its value.

NOT IN follows SQL's NULLs: while the right side holds a NULL nothing is in the answer, and a
left NULL is only while the right side is empty. For NOT EXISTS a NULL simply equals nothing.

Cost: sorting the right side's events, plus, for each value that opens or closes, its left
tuples. State: the left input, and the keys of the right one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.columns.delta import Delta, batch_of
from windrow.columns.evaluate import evaluate
from windrow.columns.growable import Growable
from windrow.columns.interner import Interner
from windrow.columns.kernels import (
    boolean,
    flags,
    grid,
    int64,
    ints,
    ints_out,
    kernel,
)
from windrow.core.patterns import UpdatePattern
from windrow.core.time import BEGINNING
from windrow.operators.aggregates.events import Events
from windrow.operators.base import Saved, below
from windrow.operators.side import Side
from windrow.operators.state.buffer import StateBuffer
from windrow.operators.state.index import END, EXP, LINK, TS, grown
from windrow.plan.expressions import Expression

Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


@kernel(
    int64, ints, ints, grid, int64, int64, int64, ints, flags, ints, ints, ints, boolean,
    *[ints_out] * 3,
)  # fmt: skip
def _pieces(  # type: ignore[no-untyped-def]
    at, codes, life, base, before, now, first, was_open, flips, others, stops, all_open,
    out_at, out_time, out_sign,
):  # fmt: skip
    """Changes of the left tuples ``at`` in the interval ``(before, now]``.

    ``flips[first[c]:stops[c]]`` are the instants at which value c opens or closes, ``was_open[c]``
    says how it stood before; ``others`` are the instants at which everything opens or closes and
    ``all_open`` how that stood. The answer is the number of changes, which may exceed the room.
    """
    count, room = 0, len(out_at)
    for i in range(len(at)):
        row = at[i] - base
        ts, end, exp = life[row, TS], life[row, END], life[row, EXP]
        if end <= before:
            continue
        c = codes[row]
        a, z, b = first[c], stops[c], 0
        mine, everything = was_open[c], all_open
        inside = mine and everything and ts <= before
        time = before
        while True:
            # The next instant at which something happens to this tuple.
            step = end
            if ts > time:
                step = min(step, ts)
            if a < z:
                step = min(step, flips[a])
            if b < len(others):
                step = min(step, others[b])
            if step > now:
                break
            time = step
            while a < z and flips[a] <= time:
                mine = not mine
                a += 1
            while b < len(others) and others[b] <= time:
                everything = not everything
                b += 1
            if time >= end:
                if inside and end < exp:
                    if count < room:
                        out_at[count], out_time[count], out_sign[count] = at[i], end, -1
                    count += 1
                break
            stays = mine and everything and ts <= time
            if stays != inside:
                if count < room:
                    out_at[count], out_time[count] = at[i], time
                    out_sign[count] = 1 if stays else -1
                count += 1
                inside = stays
    return count


@kernel(int64, ints, ints, grid, int64, ints_out)
def _chained(values, heads, life, base, out):  # type: ignore[no-untyped-def]
    """All positions in the chains of ``values``; how many."""
    count = 0
    for i in range(len(values)):
        p = heads[values[i]]
        while p >= base:
            if count < len(out):
                out[count] = p
            count += 1
            p = life[p - base, LINK]
    return count


class _Counts:
    """Live right tuples per value, and how the counts moved during an interval."""

    def __init__(self) -> None:
        self.counts = np.zeros(64, np.int64)

    def advance(self, code: Int64s, time: Int64s, sign: npt.NDArray[np.int8], size: int) -> Flips:
        """Take changes in; when each of ``size`` values opened or closed."""
        self.counts = grown(self.counts, size, 0)
        was_open = self.counts[:size] == 0
        none = np.zeros(size, np.int64)
        if not len(code):
            return Flips(was_open, none, none, np.empty(0, np.int64), np.empty(0, np.int64))
        events = Events.sort(code, time, np.zeros(len(code), np.int64), sign)
        before = self.counts[events.groups]
        after = events.running(events.sign.astype(np.int64), before)
        last = events.code[events.last]
        self.counts[last] = after
        earlier = np.where(
            events.opening, before[events.group_of], np.concatenate([[0], after[:-1]])
        )
        flipped = np.flatnonzero((earlier == 0) != (after == 0))
        value, instant = last[flipped], events.time[events.last][flipped]
        first = np.searchsorted(value, np.arange(size), side="left")
        stop = np.searchsorted(value, np.arange(size), side="right")
        return Flips(was_open, first, stop, instant, np.unique(value))


class Flips:
    """``at[first[v]:stop[v]]`` are the instants at which value v opened or closed."""

    def __init__(
        self, was_open: Bools, first: Int64s, stop: Int64s, at: Int64s, values: Int64s
    ) -> None:
        self.was_open, self.first, self.stop, self.at, self.values = (
            was_open,
            first,
            stop,
            at,
            values,
        )


class Unmatched:
    """See the module. ``null_aware`` makes it NOT IN."""

    def __init__(
        self,
        schema: pa.Schema,
        patterns: tuple[UpdatePattern, UpdatePattern],
        keys: tuple[Sequence[Expression], Sequence[Expression]],
        kinds: Sequence[pa.DataType],
        null_aware: bool,
        scan: bool = False,
    ) -> None:
        self.schema, self.kinds, self.null_aware = schema, tuple(kinds), null_aware
        self.left = Side(schema, patterns[0], keys[0], scan)
        self.right_keys = tuple(keys[1])
        names = [str(i) for i in range(len(self.kinds))]
        self.right_schema = pa.schema(list(zip(names, self.kinds, strict=True)))
        self.right = StateBuffer(self.right_schema, patterns[1], scan)
        self.now = BEGINNING
        self._restart()

    def _restart(self) -> None:
        self.values = Interner(self.kinds)
        self.right_codes = Growable(np.int64)
        self.per_value, self.nulls, self.total = _Counts(), _Counts(), _Counts()

    def process(self, inputs: Sequence[Delta], now: int) -> Delta:
        new, gone = self._add_left(inputs[0])
        code, time, sign, null = self._add_right(inputs[1], now)
        size = len(self.values)
        flips = self.per_value.advance(code[~null], time[~null], sign[~null], size)
        zeros = np.zeros(len(code), np.int64)
        nulls = self.nulls.advance(zeros[null], time[null], sign[null], 1)
        total = self.total.advance(zeros, time, sign, 1)
        self.left.heads = grown(self.left.heads, size, -1)
        affected = self._affected(flips, nulls, total, new, gone)
        answer = self._emit(affected, flips, nulls, total, now)
        self.left.link(new, size)
        self._forget(now)
        return answer

    def _add_left(self, delta: Delta) -> tuple[Int64s, Int64s]:
        buffer, plus = self.left.buffer, delta.sign > 0
        positive = delta.filter(plus)
        first = buffer.insert(positive)
        keys = [evaluate(k, positive.rows) for k in self.left.keys]
        self.left.codes.append(self.values.codes(keys, len(positive)))
        gone = buffer.withdraw(delta.filter(~plus))
        return np.arange(first, buffer.next, dtype=np.int64), gone[gone < first]

    def _add_right(
        self, delta: Delta, now: int
    ) -> tuple[Int64s, Int64s, npt.NDArray[np.int8], Bools]:
        """Codes, times and signs of what came to and left the right side, and which are NULL."""
        arrays = [evaluate(k, delta.rows) for k in self.right_keys]
        delta = delta.with_rows(batch_of(arrays, self.right_schema, len(delta)))
        plus = delta.sign > 0
        positive, negative = delta.filter(plus), delta.filter(~plus)
        first = self.right.insert(positive)
        self.right_codes.append(self._right_codes(positive.rows))
        gone = self.right.withdraw(negative)
        expired, expiry = self.right.expire(now)
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

    def _affected(
        self, flips: Flips, nulls: Flips, total: Flips, new: Int64s, gone: Int64s
    ) -> Int64s:
        if self.null_aware and (len(nulls.at) or len(total.at)):
            return np.arange(self.left.buffer.base, self.left.buffer.next, dtype=np.int64)
        life, room = self.left.buffer.life, 256 + 4 * len(flips.values)
        while True:
            out = np.empty(room, np.int64)
            count = _chained(flips.values, self.left.heads, life.view, life.base, out)
            if count <= room:
                return np.unique(np.concatenate([out[:count], new, gone]))
            room = count

    def _emit(self, at: Int64s, flips: Flips, nulls: Flips, total: Flips, now: int) -> Delta:
        if self.null_aware:
            missing = self._null_code()
            is_null = self.left.codes.take(at) == missing
            parts = [
                self._walk(at[~is_null], flips, nulls.at, bool(nulls.was_open[0]), now),
                self._walk(at[is_null], _never(flips), total.at, bool(total.was_open[0]), now),
            ]
        else:
            parts = [self._walk(at, flips, np.empty(0, np.int64), True, now)]
        position, time, sign = (np.concatenate(p) for p in zip(*parts, strict=True))
        order = np.argsort(time, kind="stable")
        position = position[order]
        exp = np.ascontiguousarray(self.left.buffer.life.take(position)[:, EXP])
        rows = self.left.buffer.rows.take(position)
        return Delta(time[order], exp, sign[order].astype(np.int8), rows)

    def _null_code(self) -> int:
        """The code of the row whose one key is NULL."""
        return int(self.values.codes([pa.nulls(1, kind) for kind in self.kinds], 1)[0])

    def _walk(
        self, at: Int64s, flips: Flips, others: Int64s, all_open: bool, now: int
    ) -> tuple[Int64s, Int64s, Int64s]:
        life, room = self.left.buffer.life, 2 * len(at) + 64
        while True:
            out = [np.empty(room, np.int64) for _ in range(3)]
            count = _pieces(
                at, self.left.codes.view, life.view, life.base, self.now, now, flips.first,
                flips.was_open, flips.at, others, flips.stop, all_open, *out,
            )  # fmt: skip
            if count <= room:
                position, time, sign = (a[:count] for a in out)
                return position, time, sign
            room = count

    def _forget(self, now: int) -> None:
        self.now = now
        moved = self.left.forget(now)
        moved |= self.right.reclaim() is not None
        self.right_codes.drop_before(self.right.base)
        held = len(self.left.codes) + len(self.right_codes)
        if moved or len(self.values) > 4 * held + 4096:
            self._recount()

    def _recount(self) -> None:
        """Code, link and count what lives, after a move or a load."""
        self._restart()
        self.left.restart(self.values)
        everything = np.arange(self.right.base, self.right.next, dtype=np.int64)
        self.right_codes.clear(self.right.base)
        self.right_codes.append(self._right_codes(self.right.rows.take(everything)))
        code = self.right_codes.take(self.right.living())
        size = len(self.values)
        for counts, codes, width in (
            (self.per_value, code[code >= 0], size),
            (self.nulls, np.zeros(int((code < 0).sum()), np.int64), 1),
            (self.total, np.zeros(len(code), np.int64), 1),
        ):
            counts.counts = grown(counts.counts, width, 0)
            np.add.at(counts.counts, codes, 1)

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


def _never(flips: Flips) -> Flips:
    """Values that are always open."""
    size = len(flips.was_open)
    none = np.zeros(size, np.int64)
    return Flips(np.ones(size, np.bool_), none, none, np.empty(0, np.int64), flips.values)
