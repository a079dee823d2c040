"""The first k rows of each group in an order: ``ROW_NUMBER() OVER (PARTITION BY ...) <= k``.

Of an interval only the groups matter in which something came or left. Their rows are ranked once,
by group and then as TOP ranks them (``windrow.operators.top_k``), and what happens to each is
played in order of time on a counting tree over its ranks. Rows that tie on the order's keys are
told apart by their other columns, so the answer does not depend on arrival. With ``numbered`` the
place in the group, from 1, is one more column, so a row that moves up is withdrawn and said again.
RANK and DENSE_RANK count places instead of rows.

Over MONOTONIC input nothing leaves, so a row that is not among the first of its group never will
be, and is forgotten; not so for RANK and DENSE_RANK, whose places any number of rows may share.

Cost per interval: ranking the groups that change, then O(k log g) per instant that changes a group
of g rows. State: the live input, linked by group; over MONOTONIC input k rows of each group.

With RANK and DENSE_RANK rows that tie are at one place. A place of RANK is one more than the number
of rows before it, of DENSE_RANK one more than the number of different keys. So a place may have any
number of rows, and what is shown has no limit.

Cost of these: O(s log g) per instant that changes a group of g rows of which s are shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.columns.arrays import Int64s
from windrow.columns.delta import Delta, batch_of, split_by_sign, take
from windrow.columns.evaluate import evaluate
from windrow.columns.interner import Interner
from windrow.columns.kernels import (
    boolean,
    grid_out,
    inline,
    int64,
    ints,
    ints_out,
    kernel,
    likely_room,
    signs,
)
from windrow.columns.types import ARROW
from windrow.columns.value_order import sorted_positions
from windrow.core.patterns import UpdatePattern
from windrow.core.time import FOREVER
from windrow.operators.base import Saved, below
from windrow.operators.join_side import WORTH_RECODING, JoinSide
from windrow.operators.state.tuple_index import END, LINK
from windrow.operators.top_k import counting_tree, nth_present
from windrow.plan.expressions import Expression
from windrow.plan.nodes import OrderKey
from windrow.plan.nodes.relational import ROW_NUMBER
from windrow.plan.physical.state_kinds import BufferKind, Kept


@inline
def say_change(place, rank, time, sign, changes, out):  # type: ignore[no-untyped-def]
    """Note a change at a place, from 0, if there is room; how many there are."""
    if changes < len(out):
        out[changes, 0], out[changes, 1], out[changes, 2] = rank, time, sign
        out[changes, 3] = place + 1
    return changes + 1


@kernel(int64, ints_out, int64, ints, int64, int64, boolean, grid_out)
def _collect(tree, present, ties, low, most, dense, found):  # type: ignore[no-untyped-def]
    """The rows at the first places, as pairs of a rank and a place from 0; how many they are."""
    place, last = -1, -1
    for j in range(present):
        at = nth_present(tree, j + 1)
        if ties[low + at] != last:
            place, last = (place + 1 if dense else j), ties[low + at]
            if place >= most:
                return j
        found[j, 0], found[j, 1] = at, place
    return present


@kernel(int64, ints, ints, signs, ints, ints, ints, ints, int64, boolean, boolean, grid_out)
def changes_of_places(  # type: ignore[no-untyped-def]
    rank, time, sign, events_from, ranks_from, held, ties, most, dense, numbered, out
):
    """Play the events of each group in order of time; how many changes of its first places.

    Group g has the events from ``events_from[g]`` on and the ranks from ``ranks_from[g]`` on;
    ``held`` says which of these are present before, and ranks with equal ``ties`` have equal keys.
    If ``numbered`` a row at another place is another row. ``out`` gets the rank, the time, the sign
    and the place of each change.
    """
    changes = 0
    for g in range(len(ranks_from) - 1):
        low, high = ranks_from[g], ranks_from[g + 1]
        present = held[low:high].sum()
        tree = counting_tree(held[low:high])
        shown, fresh = np.empty((high - low, 2), np.int64), np.empty((high - low, 2), np.int64)
        old = _collect(tree, present, ties, low, most, dense, shown)
        i = events_from[g]
        while i < events_from[g + 1]:
            now = time[i]
            while i < events_from[g + 1] and time[i] == now:
                present += sign[i]
                at = rank[i] - low + 1
                while at < len(tree):
                    tree[at] += sign[i]
                    at += at & -at
                i += 1
            new = _collect(tree, present, ties, low, most, dense, fresh)
            a, b = 0, 0
            while a < old or b < new:
                if a < old and (b >= new or shown[a, 0] < fresh[b, 0]):
                    changes = say_change(shown[a, 1], low + shown[a, 0], now, -1, changes, out)
                    a += 1
                elif b < new and (a >= old or fresh[b, 0] < shown[a, 0]):
                    changes = say_change(fresh[b, 1], low + fresh[b, 0], now, 1, changes, out)
                    b += 1
                else:
                    if numbered and shown[a, 1] != fresh[b, 1]:
                        changes = say_change(shown[a, 1], low + shown[a, 0], now, -1, changes, out)
                        changes = say_change(fresh[b, 1], low + fresh[b, 0], now, 1, changes, out)
                    a, b = a + 1, b + 1
            shown[:new] = fresh[:new]
            old = new
    return changes


@kernel(int64, ints, ints, signs, ints, ints, ints, int64, boolean, grid_out)
def _changes_of_groups(  # type: ignore[no-untyped-def]
    rank, time, sign, events_from, ranks_from, held, most, numbered, out
):
    """Play the events of each group in order of time; how many changes of its first rows.

    Group g has the events from ``events_from[g]`` on and the ranks from ``ranks_from[g]`` on;
    ``held`` says which of these are present before. If ``numbered`` a row at another place is
    another row. ``out`` gets the rank, the time, the sign and the place of each change.
    """
    changes = 0
    for g in range(len(ranks_from) - 1):
        low, high = ranks_from[g], ranks_from[g + 1]
        count, present = min(most, high - low), held[low:high].sum()
        tree = counting_tree(held[low:high])
        shown, fresh = np.full(count, -1, np.int64), np.empty(count, np.int64)
        for j in range(min(count, present)):
            shown[j] = nth_present(tree, j + 1)
        i = events_from[g]
        while i < events_from[g + 1]:
            now = time[i]
            while i < events_from[g + 1] and time[i] == now:
                present += sign[i]
                at = rank[i] - low + 1
                while at < len(tree):
                    tree[at] += sign[i]
                    at += at & -at
                i += 1
            for j in range(count):
                fresh[j] = nth_present(tree, j + 1) if j < present else -1
            a, b = 0, 0
            while a < count or b < count:
                old = shown[a] if a < count else -1
                new = fresh[b] if b < count else -1
                same = old == new
                if old >= 0 and not same and (numbered or new < 0 or old < new):
                    changes = say_change(a, low + old, now, -1, changes, out)
                    if numbered and new >= 0:
                        changes = say_change(b, low + new, now, 1, changes, out)
                    a, b = a + 1, b + numbered
                elif new >= 0 and not same:
                    changes = say_change(b, low + new, now, 1, changes, out)
                    a, b = a + numbered, b + 1
                else:
                    a, b = a + 1, b + 1
            shown[:] = fresh
    return changes


class FirstOfGroups:
    """The first rows of each group. Announced rows live for ever until they are withdrawn.

    ``schema`` is that of the output, which has one more column if ``numbered``.
    """

    def __init__(
        self,
        schema: pa.Schema,
        rows: pa.Schema,
        pattern: UpdatePattern,
        groups: Sequence[Expression],
        keys: Sequence[OrderKey],
        count: int,
        kind: BufferKind | None = None,
        function: str = ROW_NUMBER,
    ) -> None:
        self.schema, self.keys, self.count = schema, tuple(keys), count
        self.function = function
        self.numbered = len(schema) > len(rows)
        self.forgets = pattern is UpdatePattern.MONOTONIC and function == ROW_NUMBER
        self.side = JoinSide(rows, pattern, groups, kind)
        self.kinds = [ARROW[group.type] for group in groups]
        self.groups = Interner(self.kinds)

    @property
    def state(self) -> tuple[Kept, ...]:
        return ((self.side.buffer.kind,),)

    def process(self, inputs: Sequence[Delta], now: int) -> Delta:
        (delta,) = inputs
        buffer, earlier = self.side.buffer, self.side.buffer.now
        positive, negative = split_by_sign(delta)
        first = buffer.insert(positive)
        keys = [evaluate(k, positive.rows) for k in self.side.keys]
        self.side.codes.append(self.groups.codes(keys, len(positive)))
        gone = buffer.withdraw(negative)
        expired, expiry = buffer.expire(now)
        came = np.arange(first, buffer.next, dtype=np.int64)
        moved = np.concatenate([came, gone, expired]).astype(np.int64)
        if not len(moved):
            return Delta.empty(self.schema)
        times = np.concatenate([positive.ts, negative.ts, expiry])
        answer, never = self._play(first, came, moved, times, earlier)
        if self.forgets:
            buffer.kill(never, now)
        self.side.link(came, len(self.groups))
        self.side.forget(now)
        if len(self.groups) > 4 * len(self.side.codes) + WORTH_RECODING.value:
            self._recode()
        return answer

    def _play(
        self, first: int, came: Int64s, moved: Int64s, times: Int64s, earlier: int
    ) -> tuple[Delta, Int64s]:
        """What becomes of the groups of ``moved``, which came or left at these times.

        Also the positions of rows that come behind the first of their group, if none has left.
        """
        side, size = self.side, len(self.groups)
        side.rings.reserve(size)
        touched = np.unique(side.codes.take(moved))
        older = np.sort(side.rings.walk(touched, side.buffer.life, LINK))
        older = older[side.buffer.life.take(older)[:, END] > earlier]
        everything = np.concatenate([older, came])
        codes, rows = side.codes.take(everything), side.buffer.rows.take(everything)
        order = self._order(codes, rows)
        rank = np.empty(len(everything), np.int64)
        rank[order] = np.arange(len(everything))
        held = (everything[order] < first).astype(np.int64)
        at = np.searchsorted(everything, moved)
        sign = np.full(len(moved), -1, np.int8)
        sign[: len(came)] = 1
        by_time = np.lexsort((times, codes[at]))
        at = at[by_time]
        events = (rank[at], times[by_time], sign[by_time])
        starts = (np.append(np.searchsorted(codes[at], touched), len(at)),
                  np.append(np.searchsorted(codes[order], touched), len(order)))  # fmt: skip
        ties = None if self.function == ROW_NUMBER else self._ties(codes, rows, order)
        places = np.arange(len(order)) - np.repeat(starts[1][:-1], np.diff(starts[1]))
        never = everything[order[places >= self.count]]
        room = likely_room(4 * len(moved) + 64)
        while True:
            out = np.empty((room, 4), np.int64)
            if ties is None:
                changes = _changes_of_groups(*events, *starts, held, self.count, self.numbered, out)
            else:
                dense = self.function == "DENSE_RANK"
                changes = changes_of_places(
                    *events, *starts, held, ties, self.count, dense, self.numbered, out
                )
            if changes <= room:
                return self._said(out[:changes], rows, order), never
            room = changes

    def _said(self, changes: Int64s, rows: pa.RecordBatch, order: Int64s) -> Delta:
        ranks, times, signs_out, places = changes[np.argsort(changes[:, 1], kind="stable")].T
        arrays = take(rows, order[ranks]).columns
        arrays += [pa.array(np.ascontiguousarray(places))] if self.numbered else []
        said = batch_of(arrays, self.schema, len(ranks))
        forever = np.full(len(ranks), FOREVER, np.int64)
        return Delta(np.ascontiguousarray(times), forever, signs_out.astype(np.int8), said)

    def _ties(self, codes: Int64s, rows: pa.RecordBatch, order: Int64s) -> Int64s:
        """A number for each rank, the same for rows of one group with equal keys."""
        columns = [pa.array(codes), *(evaluate(k.expression, rows) for k in self.keys)]
        return Interner([column.type for column in columns]).codes(columns, len(codes))[order]

    def _order(self, codes: Int64s, rows: pa.RecordBatch) -> Int64s:
        """The rows' positions by group, then in the order asked for, ties by all columns."""
        keys = [(pa.array(codes), False)]
        keys += [(evaluate(k.expression, rows), k.descending) for k in self.keys]
        return sorted_positions(keys, rows.columns)

    def _recode(self) -> None:
        self.groups = Interner(self.kinds)
        self.side.restart(self.groups)

    def size(self) -> int:
        return len(self.side.buffer)

    def save(self) -> Saved:
        saved = Saved()
        saved.add("live", self.side.buffer.save())
        return saved

    def load(self, segments: Mapping[str, pa.RecordBatch], meta: Mapping[str, Any]) -> None:
        self.side.buffer.load(below("live", segments), meta["live"])
        self._recode()
