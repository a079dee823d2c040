"""The first k rows of each group where nothing ever leaves: over MONOTONIC input.

A row that comes behind the k-th of its group never will be among the first, and one that is pushed
out never will be again. So k rows of each group are all there is to keep, and rows are looked at
one after the other as they come: one that is behind the last of its full group costs one
comparison, and only those that get a place are copied. What goes out is net: a row that gets a
place and is pushed out at the same instant is not said, and no row goes for one that is equal.

The rows of a group are linked from the last to the first. Integers in the order of the keys are
kept of each, so that no value is looked at again. Where these do not decide, because all keys are
equal or strings begin alike, the rest of an interval is ranked with the rows of its groups, once,
by keys and then by all columns (as TOP does), and these ranks decide.

Cost: O(1) for a row that gets no place, O(k) for others; ranking an interval where rows tie.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from numba import types

from windrow.columns.arrays import Int64s, order_keys
from windrow.columns.byte_forms import byte_parts, is_bytes
from windrow.columns.byte_order import leading_keys
from windrow.columns.delta import Delta, Rows, concat_rows
from windrow.columns.evaluate import evaluate
from windrow.columns.growable import Growable, fresh, grow
from windrow.columns.interner import Interner
from windrow.columns.kernels import grid, grid_out, helper, int64, ints, ints_out, kernel
from windrow.columns.types import ARROW
from windrow.columns.value_order import sorted_positions
from windrow.core.patterns import UpdatePattern
from windrow.operators.base import Saved, below
from windrow.operators.state.buffer import StateBuffer
from windrow.operators.state.tuple_index import TS
from windrow.operators.turnover import arrivals_and_departures
from windrow.plan.expressions import Expression
from windrow.plan.nodes import OrderKey
from windrow.plan.physical.state_kinds import BufferKind, Kept
from windrow.windows.chains import walk

UNKNOWN: Int64s = np.empty(0, np.int64)
"""The ranks of an interval that were not needed so far."""


@helper
def _compare(keys, i, ties, places, at):  # type: ignore[no-untyped-def]
    """-1 if row ``i`` is before the one at a place, 1 if it is behind, 0 if that is not known."""
    width = keys.shape[1]
    for j in range(width):
        if keys[i, j] != places[at, j]:
            return -1 if keys[i, j] < places[at, j] else 1
    if not len(ties):
        return 0
    return -1 if ties[i] < places[at, width] else 1


@kernel(
    types.UniTuple(int64, 3), ints, ints, grid, ints, int64, int64, int64, ints_out, ints_out,
    grid_out, int64, int64, ints_out, grid_out,
)  # fmt: skip
def _give_places(  # type: ignore[no-untyped-def]
    codes, times, keys, ties, start, came, left, last, counts, places, base, most, rows, gone
):
    """Let the rows from ``start`` on take their places; where it stopped, and how many came and
    left so far.

    It stops before a row whose place is not known without ``ties``. ``places`` are keys, a rank,
    the position of the next better row and the time of each row, by position; there is room for
    those that come, which are numbers ``rows`` of the interval. ``last`` is the position of the
    last row of each group. ``gone`` are the positions of rows that are pushed out, and when.
    """
    width = keys.shape[1]
    rank, better, time = width, width + 1, width + 2
    next_place = len(places) - len(rows)
    for i in range(start, len(codes)):
        code = codes[i]
        full = counts[code] == most
        ahead, behind = last[code], np.int64(-1)
        while ahead >= 0:
            order = _compare(keys, i, ties, places, ahead - base)
            if order == 0:
                return i, came, left
            if order > 0:
                break
            ahead, behind = places[ahead - base, better], ahead
        if full and behind < 0:
            continue
        at = next_place + came
        for j in range(width):
            places[at, j] = keys[i, j]
        places[at, rank] = ties[i] if len(ties) else 0
        places[at, better], places[at, time] = ahead, times[i]
        if behind < 0:
            last[code] = base + at
        else:
            places[behind - base, better] = base + at
        if full:
            gone[left, 0], gone[left, 1] = last[code], times[i]
            last[code] = places[last[code] - base, better]
            left += 1
        else:
            counts[code] += 1
        rows[came] = i
        came += 1
    return len(codes), came, left


class FirstOfGrowingGroups:
    """See the module. Announced rows live for ever until they are withdrawn."""

    def __init__(
        self,
        schema: pa.Schema,
        groups: Sequence[Expression],
        keys: Sequence[OrderKey],
        count: int,
        kind: BufferKind | None = None,
    ) -> None:
        self.schema, self.keys, self.count = schema, tuple(keys), count
        self.buffer = StateBuffer(schema, UpdatePattern.MONOTONIC, kind)
        self.by, self.groups = tuple(groups), Interner([ARROW[group.type] for group in groups])
        # Of strings the first bytes are known; the keys behind them decide only if they are equal.
        long = [is_bytes(ARROW[key.expression.type]) for key in self.keys]
        self._known = self.keys[: long.index(True) + 1] if any(long) else self.keys
        self._width = 2 * len(self._known)
        self._places = Growable(np.int64, width=self._width + 3)
        self._last, self._counts = fresh(-1), fresh(0)

    @property
    def state(self) -> tuple[Kept, ...]:
        return ((self.buffer.kind,),)

    def process(self, inputs: Sequence[Delta], now: int) -> Delta:
        (delta,) = inputs
        buffer = self.buffer
        buffer.lapse(now)
        if not len(delta):
            return Delta.empty(self.schema)
        rows, gone = self._take_places(delta)
        first = buffer.insert(delta if len(rows) == len(delta) else delta.take(rows))
        answer = arrivals_and_departures(buffer, first, delta.ts[rows], gone)
        buffer.kill(gone[:, 0], now)
        self._reclaim()
        return answer

    def _take_places(self, delta: Delta) -> tuple[Int64s, Int64s]:
        """The numbers of rows that get a place; positions that are pushed out, and when."""
        count, places = len(delta), self._places
        codes = self._codes(delta.content)
        keys, ties = self._integers(delta.content), UNKNOWN
        rows, gone = np.empty(count, np.int64), np.empty((count, 2), np.int64)
        first, start, came, left = places.next, 0, 0, 0
        places.extend(count, 0)
        while start < count:
            start, came, left = _give_places(
                codes, delta.ts, keys, ties, start, came, left, self._last, self._counts,
                places.view, places.base, self.count, rows, gone,
            )  # fmt: skip
            if start < count:
                ties = self._rank(delta, codes, start, rows[:came], first)
        places.cut(first + came)
        return rows[:came], gone[:left]

    def _codes(self, rows: Rows) -> Int64s:
        codes = self.groups.codes([evaluate(g, rows) for g in self.by], rows.num_rows)
        self._last = grow(self._last, len(self.groups), -1)
        self._counts = grow(self._counts, len(self.groups), 0)
        return codes

    def _integers(self, rows: Rows) -> Int64s:
        """Of each key whether it is NULL, and an integer in the order asked for."""
        integers = np.empty((rows.num_rows, self._width), np.int64)
        for i, key in enumerate(self._known):
            column = evaluate(key.expression, rows)
            if is_bytes(column.type):
                values = leading_keys(*byte_parts(column), key.descending)
            else:
                values = ~order_keys(column) if key.descending else order_keys(column)
            integers[:, 2 * i], integers[:, 2 * i + 1] = 0, values
            if column.null_count:
                null = column.is_null().to_numpy(zero_copy_only=False)
                integers[null, 2 * i : 2 * i + 2] = 1, 0
        return integers

    def _rank(self, delta: Delta, codes: Int64s, start: int, came: Int64s, first: int) -> Int64s:
        """The ranks of an interval's rows among all of their groups; those that have a place, of
        which ``came`` just did, are told theirs."""
        view, base = self._places.view, self._places.base
        held = np.sort(walk(np.unique(codes[start:]), self._last, base, self._width + 1, view))
        older, new = held[held < first], held[held >= first]
        rows = concat_rows([self.buffer.rows.take(older), delta.rows], self.schema)
        of = np.concatenate([self._codes(self.buffer.rows.take(older)), codes])
        ranks = np.empty(len(of), np.int64)
        ranks[self._order(of, rows)] = np.arange(len(of))
        mine = ranks[len(older) :]
        view[older - base, self._width] = ranks[: len(older)]
        view[new - base, self._width] = mine[came[new - first]]
        return mine

    def _order(self, codes: Int64s, rows: pa.RecordBatch) -> npt.NDArray[np.int64]:
        """Positions by group, then in the order asked for, ties by all columns."""
        keys = [(evaluate(k.expression, rows), k.descending) for k in self.keys]
        return sorted_positions([(pa.array(codes), False), *keys], rows.columns)

    def _reclaim(self) -> None:
        move = self.buffer.reclaim()
        if move is None:
            self._places.drop_before(self.buffer.base)
            return
        move.carry(self._places)
        better = self._places.view[:, self._width + 1]
        better[:] = move.follow(better)
        self._last = move.follow(self._last)

    def size(self) -> int:
        return len(self.buffer)

    def save(self) -> Saved:
        saved = Saved()
        saved.add("live", self.buffer.save())
        return saved

    def load(self, segments: Mapping[str, pa.RecordBatch], meta: Mapping[str, Any]) -> None:
        buffer = self.buffer
        buffer.load(below("live", segments), meta["live"])
        living = buffer.living()
        rows = buffer.rows.take(living)
        codes = self._codes(rows)
        self._places.clear(buffer.base)
        self._places.extend(buffer.next - buffer.base, 0)
        order = self._order(codes, rows)
        ranked = living[order]
        same_group = codes[order][1:] == codes[order][:-1]
        places = self._places.view
        places[living - buffer.base, : self._width] = self._integers(rows)
        places[living - buffer.base, -1] = buffer.life.take(living)[:, TS]
        better = np.append(-1, np.where(same_group, ranked[:-1], -1))[: len(ranked)]
        places[ranked - buffer.base, self._width + 1] = better
        self._last[codes[order]] = ranked  # the last one of each group stays
        np.add.at(self._counts, codes, 1)
