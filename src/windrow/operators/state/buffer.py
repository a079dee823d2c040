"""Stored tuples: by position, by expiry, and for STRICT input by value where that was chosen.

A buffer is a row store with a *life* per tuple: when it came (TS), when it expires by itself
(EXP) and when it really ends (END, earlier if a negative tuple withdrew it). A tuple is dead at
``now`` if END <= now. Dead tuples stay where they are until ``reclaim``, so that an operator can
still fetch those that ended during the interval.

Reclaiming drops the dead at the start. If dead ones further on outnumber the living, the living
move together; they get new, higher positions, and the owner is given the ``Move``.

The tuple that a negative tuple withdraws is found by a hash on the tuple, or by searching the
calendar for those that expire with it (Golab 2006, 3.5.2); its kind says which.

Saving writes the tuples that came since the last save as one segment, the positions of older
ones that were withdrawn as another, and drops segments that lie before the first living tuple:
O(change), and a move pays for the rewriting that it causes. Of many segments the last ones become
one (``buffer_segments``).

What it holds can be *lent*: taken at one moment without copying, and read at any later one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.columns.arrays import Int64s
from windrow.columns.delta import Delta, batch_of, take
from windrow.columns.growable import Growable
from windrow.columns.stored_columns import RowStore
from windrow.core.errors import StateError
from windrow.core.patterns import UpdatePattern
from windrow.core.thresholds import Threshold
from windrow.core.time import BEGINNING, FOREVER
from windrow.operators.base import Saved
from windrow.operators.state.calendar_queue import CalendarQueue
from windrow.operators.state.calendar_search import withdraw_by_search
from windrow.operators.state.move import Move
from windrow.operators.state.saved_segments import ROWS, WITHDRAWN, Segments
from windrow.operators.state.schedules import in_order, schedule_for
from windrow.operators.state.tuple_index import END, EXP, LINK, TS, TupleIndex
from windrow.plan.physical.state_kinds import HASH, BufferKind, Expiry, buffer_kind

WORTH_MOVING = Threshold(4096)
"""Fewer dead tuples than this are not worth a move."""
AT_A_LOOK = Threshold(1024, least=1)
"""Tuples that are first looked at for one that lives."""


@dataclass(frozen=True)
class LentTuples:
    """The tuples of a buffer as they were when they were taken; those of ``end`` <= ``now`` are
    dead. If ``end`` is None all end when they expire."""

    rows: Callable[[], pa.RecordBatch]
    life: Int64s
    end: Int64s | None
    now: int

    def tuples(self) -> Delta:
        """Those that lived, oldest first. Where the living are the last ones, as they are where
        tuples expire in order, their values are not copied.
        """
        exp = np.ascontiguousarray(self.life[:, EXP])
        alive = (exp if self.end is None else self.end) > self.now
        held = Delta.insertions(np.ascontiguousarray(self.life[:, TS]), self.rows(), exp)
        first = int(alive.argmax()) if alive.any() else len(alive)
        return held.slice(first, len(held)) if alive[first:].all() else held.filter(alive)


class StateBuffer:
    """The live tuples of one input; its kind says how they expire and whether by value.

    It is not ``whole`` any more when its owner left tuples out, or forgot some before their end.
    """

    def __init__(
        self, schema: pa.Schema, pattern: UpdatePattern, kind: BufferKind | None = None
    ) -> None:
        self.schema, self.pattern = schema, pattern
        self.kind = kind or buffer_kind(pattern)
        self.rows = RowStore(schema)
        self.life = Growable(np.int64, width=4)
        self.now = BEGINNING
        self._live = 0
        self._in_order = self.kind.expiry in (Expiry.NEVER, Expiry.IN_ORDER)
        self._early = False  # whether any tuple ever ended before its expiry
        self._loaded = False
        self.whole = True
        self._segments = Segments()
        self._saved = 0
        self._gone: list[Int64s] = []
        self.index: TupleIndex | None = None
        self._start_over()

    def _start_over(self) -> None:
        self.schedule = schedule_for(self.kind)
        exact = self.index is not None and self.index.exact
        self.index = TupleIndex(self.rows, exact=exact) if self.kind.by_tuple else None

    def __len__(self) -> int:
        """How many tuples live."""
        return self._live

    @property
    def ends_in_order(self) -> bool:
        """Whether a tuple ends before those that came after it, or with them."""
        return self._in_order and not self._early

    @property
    def base(self) -> int:
        return self.life.base

    @property
    def next(self) -> int:
        return self.life.next

    def start_at(self, position: int) -> None:
        """Let the first tuple that comes have a position."""
        self.rows.start_at(position)
        self.life.clear(position)

    def insert(self, delta: Delta) -> int:
        """Store insertions; the position of the first."""
        return self._insert(delta.ts, delta.exp, delta.exp, delta.rows)

    def _insert(self, ts: Int64s, exp: Int64s, end: Int64s, rows: pa.RecordBatch) -> int:
        first = self.rows.append(rows)
        if not len(ts):
            return first
        if self.kind == HASH and int(exp.min()) < FOREVER:
            raise StateError("a tuple that expires by itself reached state that is a hash alone")
        life = np.empty((len(ts), 4), np.int64)
        life[:, TS], life[:, EXP], life[:, END], life[:, LINK] = ts, exp, end, -1
        self.life.append(life)
        self.schedule.insert(np.arange(first, first + len(ts), dtype=np.int64), exp)
        self._live += len(ts)
        if self.index is not None and not self.index.insert(first, exp, rows, self.life):
            self._index_anew(exact=True)
        return first

    def withdraw(self, delta: Delta) -> Int64s:
        """End the counterparts of negative tuples; their positions."""
        if not len(delta):
            return np.empty(0, np.int64)
        if self.index is not None:
            found, count = self.index.withdraw(delta.ts, delta.exp, delta.rows, self.life)
        elif self.kind.searched and isinstance(self.schedule, CalendarQueue):
            found, count = withdraw_by_search(delta, self.schedule, self.life, self.rows)
        else:
            raise StateError(
                f"a negative tuple reached state that was planned for {self.pattern.name} input"
            )
        if count < len(delta):
            raise StateError(
                "a negative tuple has no live counterpart",
                found=str(take(delta.rows, np.array([count])).to_pylist()),
            )
        self._live -= len(found)
        self._early = True
        self._note_gone(found)
        return found

    def kill(self, positions: Int64s, at: int) -> None:
        """End tuples that their owner no longer needs."""
        self.life.view[positions - self.base, END] = at
        self._live -= len(positions)
        self._early = True
        self._note_gone(positions)

    def _note_gone(self, positions: Int64s) -> None:
        saved = positions[positions < self._saved]
        if len(saved):
            self._gone.append(saved)

    def expire(self, now: int) -> tuple[Int64s, Int64s]:
        """Positions of tuples that expired by themselves up to ``now``, and when, in that order."""
        positions, exp = self.lapse(now)
        return (positions, exp) if self._in_order else in_order(positions, exp)

    def lapse(self, now: int) -> tuple[Int64s, Int64s]:
        """As ``expire``, for those who do not care for the order."""
        self.now = now
        positions, exp = self.schedule.due(now)
        if self._early and len(positions):
            here = positions >= self.base  # others were withdrawn, and are forgotten already
            positions, exp = positions[here], exp[here]
            kept = self.life.take(positions)[:, END] == exp if len(positions) else here[:0]
            positions, exp = positions[kept], exp[kept]
        self._live -= len(positions)
        return positions, exp

    def lend(self, now: int) -> LentTuples:
        """What it holds at ``now``; tuples that come and go later change nothing in it.

        Only ends that no expiry told are copied.
        """
        life = self.life.lend()
        ends = life[:, END].copy() if self._early or self._loaded else None
        return LentTuples(self.rows.lend(), life, ends, now)

    def living(self) -> Int64s:
        """Positions of the tuples that live after ``now``, oldest first."""
        return np.flatnonzero(self.life.view[:, END] > self.now) + self.base

    def reclaim(self) -> Move | None:
        """Free what is dead. If the living moved: where they went; else None."""
        end, start, step = self.life.view[:, END], 0, AT_A_LOOK.value
        while start < len(end) and end[start] <= self.now:
            alive = np.flatnonzero(end[start : start + step] > self.now)
            if len(alive):
                start += int(alive[0])
                break
            start += step
            step *= 2
        if start:
            self._drop_before(self.base + min(start, len(end)))
        holes = len(self.life) - self._live
        if holes > max(self._live, WORTH_MOVING.value):
            return self._move()
        if self.index is not None and len(self.index) > 4 * len(self.life) + WORTH_MOVING.value:
            self._index_anew(exact=self.index.exact)
        return None

    def _index_anew(self, *, exact: bool) -> None:
        """An index that knows only the tuples that are here."""
        self.index = TupleIndex(self.rows, exact=exact)
        living = self.living()
        life = self.life.take(living)
        living = living[life[:, END] == life[:, EXP]]  # what was withdrawn is found no more
        exp = np.ascontiguousarray(self.life.take(living)[:, EXP])
        if not self.index.fill(self.base, living, exp, self.rows.take(living), self.life):
            self._index_anew(exact=True)

    def _drop_before(self, position: int) -> None:
        self.rows.drop_before(position)
        self.life.drop_before(position)
        if self.index is not None:
            self.index.drop_before(position)

    def _move(self) -> Move:
        living = self.living()
        rows, life = self.rows.take(living), self.life.take(living)
        target = self.next
        self._drop_before(target)
        self._live = 0
        self._start_over()
        exp = np.ascontiguousarray(life[:, EXP])
        self._insert(life[:, TS], exp, life[:, END], rows)
        return Move(living, target)

    def save(self) -> Saved:
        saved = Saved()
        fresh = self._living_from(max(self._saved, self.base))
        if len(fresh):
            first = self._segments.join(saved, len(fresh))
            if first is not None:
                fresh = self._living_from(max(first, self.base))
            life = self.life.take(fresh)
            columns = [pa.array(fresh), pa.array(life[:, TS].copy()), pa.array(life[:, EXP].copy())]
            self._segments.put(saved, ROWS, batch(columns, self.rows.take(fresh)))
        gone = [p for p in self._gone if len(p) and int(p.max()) >= self.base]
        if gone:
            again = self._segments.join_withdrawn(saved)
            positions = self._withdrawn() if again else np.concatenate(gone)
            if len(positions):
                self._segments.put(saved, WITHDRAWN, batch([pa.array(positions)], None))
        self._saved, self._gone = self.next, []
        self._segments.drop_before(saved, self.base)
        count = self._segments.counter
        stretch = {"base": self.base, "next": self.next}
        saved.meta = {"now": self.now, **stretch, "count": count, "whole": self.whole}
        return saved

    def _living_from(self, first: int) -> Int64s:
        positions = np.arange(first, self.next, dtype=np.int64)
        return positions[self.life.take(positions)[:, END] > self.now]

    def _withdrawn(self) -> Int64s:
        """The positions of tuples that ended early and would live otherwise."""
        life = self.life.view
        return np.flatnonzero((life[:, END] <= self.now) & (life[:, EXP] > self.now)) + self.base

    def load(self, segments: Mapping[str, pa.RecordBatch], meta: Mapping[str, Any]) -> None:
        """Fill a fresh buffer. Places between living tuples stay empty, so that positions hold."""
        self._loaded, self.whole = True, bool(meta.get("whole", False))
        self.now, self._segments.counter = int(meta["now"]), int(meta["count"])
        base, size = int(meta["base"]), int(meta["next"]) - int(meta["base"])
        alive, order = np.zeros(size, np.bool_), np.full(size, -1, np.int64)
        life = np.full((size, 4), BEGINNING, np.int64)
        parts = [segments[name] for name in sorted(segments) if name.startswith(ROWS)]
        for content in parts:
            positions = content.column(0).to_numpy()
            here = positions >= base
            at = positions[here] - base
            life[at, TS] = content.column(1).to_numpy()[here]
            life[at, EXP] = life[at, END] = content.column(2).to_numpy()[here]
            alive[at] = life[at, EXP] > self.now
        for name in sorted(segments, key=lambda n: int(n[1:])):
            self._segments.remember(name, segments[name])
            if name.startswith(WITHDRAWN):
                positions = segments[name].column(0).to_numpy()
                alive[positions[positions >= base] - base] = False
        done = 0
        for content in parts:
            positions = content.column(0).to_numpy()
            here = np.flatnonzero(positions >= base)
            order[positions[here] - base] = here + done
            done += content.num_rows
        order[~alive], life[~alive, END] = -1, BEGINNING
        self._restore(base, size, life, alive, order, parts)
        self._saved = self.next

    def _restore(
        self,
        base: int,
        size: int,
        life: Int64s,
        alive: npt.NDArray[np.bool_],
        order: Int64s,
        parts: list[pa.RecordBatch],
    ) -> None:
        self.start_at(base)
        if not size:
            return
        indices = pa.array(order, mask=order < 0)
        arrays = [
            pa.chunked_array([p.column(i + 3) for p in parts], kind).take(indices).combine_chunks()
            for i, kind in enumerate(self.schema.types)
        ]
        arrays = [a.combine_chunks() if isinstance(a, pa.ChunkedArray) else a for a in arrays]
        content = batch_of(arrays, self.schema, size)
        self.rows.append(content)
        self.life.append(life)
        living = np.flatnonzero(alive)
        self.schedule.insert(living + base, np.ascontiguousarray(life[living, EXP]))
        self._live = len(living)
        if self.index is not None:
            self._index_anew(exact=self.index.exact)


def batch(columns: list[pa.Array], rows: pa.RecordBatch | None) -> pa.RecordBatch:
    """A segment: control columns, then the columns of the rows by position."""
    arrays = columns + (rows.columns if rows is not None else [])
    return pa.RecordBatch.from_arrays(arrays, [str(i) for i in range(len(arrays))])
