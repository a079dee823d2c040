"""GROUP BYs over one join for several lengths of its windows, from synopses by expiry.

A result of a join of windows that slide together expires with its older tuple. So it is kept with
the sub-window of that tuple, in a basic interval synopsis of joins (BIJ; Golab 2006, 8.3.2), one
for each of the contents that the aggregates need; no result is kept itself. The join of windows of
n sub-windows has the results of the last n of these: one scan from the youngest on answers all
lengths (SS3, CS5). Rows of groups that differ from what was answered last are replaced.

Of the kinds of synopses this is the one whose groups are those of the longest window: a running one
would know every group that there ever was.

Cost: at a multiple of s, what the results that came take, and for each group of the longest window
its b intervals. State: one value for each of the contents, group and sub-window.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.columns.arrays import Int64s
from windrow.columns.delta import Delta, batch_of, concat
from windrow.columns.evaluate import evaluate
from windrow.columns.integer_overflow import note_overflows
from windrow.columns.interner import Crowding, Interner
from windrow.columns.types import ARROW
from windrow.operators.aggregates.replaced_rows import differ
from windrow.operators.base import Saved, below
from windrow.plan.expressions import Expression
from windrow.plan.nodes.relational import Aggregate
from windrow.plan.physical.state_kinds import Kept
from windrow.synopses.basic_interval_synopsis import BasicIntervalSynopsis
from windrow.synopses.grouped_table import GroupedTable
from windrow.synopses.interval_values import mean_column, sum_column
from windrow.synopses.join_synopsis import JoinSynopsis
from windrow.synopses.synopsis_buffers import BOTH, Cell, ClosedJoin
from windrow.synopses.synopsis_factory import content_for

GROUPS, AGAIN = "groups", "@"
KEPT_FOR = {"AVG": "SUM"}
"""What is kept for an aggregate, where that is called otherwise."""


@dataclass(frozen=True)
class _Answer:
    """The rows of a member: groups by code, in order, and the columns of the aggregates."""

    codes: Int64s
    columns: tuple[pa.Array, ...]


class JoinLengthsAggregation:
    """See the module. ``lengths`` are those of the members, in sub-windows of ``s`` ticks; 0 is a
    member that has gone. The windows of the join have ``b`` of them."""

    def __init__(
        self,
        keys: Sequence[Expression],
        aggregates: Sequence[Aggregate],
        s: int,
        b: int,
        lengths: Sequence[int],
        schema: pa.Schema,
        kept: Kept,
    ) -> None:
        self.keys, self.aggregates, self.schema = tuple(keys), tuple(aggregates), schema
        self.s, self.b, self.kept = s, b, kept
        self.lengths = {number: length for number, length in enumerate(lengths) if length}
        self.groups, self.crowding = Interner([ARROW[key.type] for key in keys]), Crowding()
        wanted = {(KEPT_FOR.get(a.function, a.function), a.argument) for a in aggregates}
        self._synopses = {
            content: JoinSynopsis(BasicIntervalSynopsis(content_for(content[0]), s, self.b))
            for content in sorted({("COUNT", None), *wanted}, key=repr)
        }
        self._kinds = schema.types[1 + len(self.keys) :]
        nothing = _Answer(np.empty(0, np.int64), tuple(pa.nulls(0, kind) for kind in self._kinds))
        self._nothing, self._told = nothing, dict.fromkeys(self.lengths, nothing)
        self._number: int | None = None
        self._last = 0  # the last update that had results
        self._saved_groups = self._saves = 0
        self._written: dict[str, int] = {}

    @property
    def state(self) -> tuple[Kept, ...]:
        return (self.kept,)

    def drop(self, number: int) -> None:
        """Nobody asks for a member any more; what is kept for the longest stays."""
        del self.lengths[number], self._told[number]

    def process(self, inputs: Sequence[Delta], now: int) -> Delta:
        (delta,) = inputs
        assert (delta.sign > 0).all(), "results of joins of windows end by expiring"
        came, parts, at = _distinct(delta.ts), [Delta.empty(self.schema)], 0
        ends = np.searchsorted(delta.ts, came, side="right").tolist()
        start = 0
        while True:
            due = [came[at]] if at < len(came) else []
            if self._number is not None and self._number - self._last < self.b:
                due.append((self._number + 1) * self.s)  # something leaves, perhaps
            instant = min(due, default=None)
            if instant is None or instant > now:
                break
            stop = start
            if at < len(came) and instant == came[at]:
                stop, at = ends[at], at + 1
            self._update(instant, delta.slice(start, stop))
            parts.append(self._changes(instant))
            start = stop
        self._forget_groups()
        return concat(parts, self.schema)

    def _update(self, instant: int, results: Delta) -> None:
        """Let the windows slide up to an instant, at which these results came."""
        self._number = instant // self.s
        rows = results.rows
        codes = self.groups.codes([evaluate(key, rows) for key in self.keys], len(results))
        older = (results.exp - self.b * self.s) // self.s
        if len(results):
            self._last = self._number
        for (function, argument), synopsis in self._synopses.items():
            mine, values = np.arange(len(codes)), np.zeros(len(codes), np.int64)
            if argument is not None:
                found = evaluate(argument, rows)
                mine = np.flatnonzero(found.is_valid().to_numpy(zero_copy_only=False))
                if function != "COUNT":
                    values = found.take(pa.array(mine)).cast(pa.int64()).to_numpy()
                else:
                    values = np.zeros(len(mine), np.int64)
            synopsis.update(self._cells(synopsis, codes[mine], values, older[mine]))

    def _cells(
        self, synopsis: JoinSynopsis[Any], codes: Int64s, values: Int64s, older: Int64s
    ) -> ClosedJoin[Any]:
        f, cells = synopsis.synopsis.f, dict[Cell, Any]()
        first = int(older.min()) if len(older) else 0
        for oldest in np.flatnonzero(np.bincount(older - first)).tolist():
            rows = older == oldest + first
            cells[Cell(oldest + first, BOTH, 0)] = f.summarise(codes[rows], values[rows])
        assert self._number is not None
        return ClosedJoin(self._number, cells)

    # --- answers

    def _answers(self) -> dict[int, _Answer]:
        """What each member has now, by one scan for all of them."""
        if self._number is None:
            return dict.fromkeys(self.lengths, self._nothing)
        pairs = {(n, n) for n in self.lengths.values()}
        found = {content: s.scan(pairs) for content, s in self._synopses.items()}
        by_length = {
            n: self._answer({content: tables[n, n] for content, tables in found.items()})
            for n, _ in pairs
        }
        return {number: by_length[n] for number, n in self.lengths.items()}

    def _answer(self, tables: Mapping[tuple[str, Expression | None], GroupedTable]) -> _Answer:
        groups = tables["COUNT", None]
        (codes,), columns = groups.keys, []
        for aggregate, kind in zip(self.aggregates, self._kinds, strict=True):
            function = KEPT_FOR.get(aggregate.function, aggregate.function)
            table = tables[function, aggregate.argument]
            values = _values(aggregate.function, table)
            where = np.searchsorted(table.keys[0], codes)
            where[where == len(table)] = 0
            there = table.keys[0][where] == codes if len(table) else np.zeros(len(codes), np.bool_)
            taken = values.take(pa.array(where, mask=~there))
            if aggregate.function == "COUNT":
                taken = taken.fill_null(0)
            columns.append(taken.cast(kind))
        return _Answer(codes, tuple(columns))

    def _changes(self, instant: int) -> Delta:
        """Old rows out, new rows in, where they differ from what was told last."""
        gone, come = list[pa.RecordBatch](), list[pa.RecordBatch]()
        places = np.full(len(self.groups) + 1, -1, np.int64)
        for number, new in self._answers().items():
            old, self._told[number] = self._told[number], new
            places[old.codes] = np.arange(len(old.codes))
            before = places[new.codes]
            places[old.codes] = -1
            both = np.flatnonzero(before >= 0)
            columns = [
                pa.concat_arrays(pair) for pair in zip(old.columns, new.columns, strict=True)
            ]
            same = (
                both[~differ(columns, before[both], both + len(old.codes))] if len(both) else both
            )
            for rows, answer, kept in ((gone, old, before[same]), (come, new, same)):
                left = np.ones(len(answer.codes), np.bool_)
                left[kept] = False
                if left.any():
                    rows.append(self._rows(number, answer, np.flatnonzero(left)))
        ends = [Delta.withdrawals(_at(instant, batch), batch) for batch in gone]
        begins = [Delta.insertions(_at(instant, batch), batch) for batch in come]
        return concat([*ends, *begins], self.schema)

    def _rows(self, number: int, answer: _Answer, rows: Int64s) -> pa.RecordBatch:
        member, chosen = np.full(len(rows), number, np.int64), pa.array(rows)
        keys = self.groups.rows(answer.codes[rows]) if self.keys else []
        columns = [column.take(chosen) for column in answer.columns]
        return batch_of([pa.array(member), *keys, *columns], self.schema, len(rows))

    # --- state

    def _forget_groups(self) -> None:
        """Give groups that have results new codes, in the same order, once most have none."""
        size = len(self.groups)
        if not self.crowding.is_due(size):
            return
        counts = self._synopses["COUNT", None].synopsis
        (live,) = (counts.f.empty() if self._number is None else counts.probe(self.b)).keys
        if not self.crowding.renewal_pays(size, len(live)):
            return
        remap = self.groups.compact(live)
        for synopsis in self._synopses.values():
            synopsis.synopsis.replace_values(lambda table: _renumbered(table, remap))
        told = self._told.items()
        self._told = {n: replace(each, codes=remap[each.codes]) for n, each in told}
        self._saved_groups = 0

    def size(self) -> int:
        return sum(s.size() for s in self._synopses.values()) + len(self.groups)

    def save(self) -> Saved:
        saved = Saved()
        for number, synopsis in enumerate(self._synopses.values()):
            saved.add(str(number), synopsis.save())
        if self._saved_groups != len(self.groups):
            keys = self.groups.rows(np.arange(len(self.groups)))
            names = [str(i) for i in range(len(keys))]
            saved.put[GROUPS] = pa.RecordBatch.from_arrays(keys, names)
            self._saved_groups = len(self.groups)
        saved = self._as_new_segments(saved)
        saved.meta |= {"number": self._number, "last": self._last, "members": [*self.lengths]}
        return saved

    def _as_new_segments(self, saved: Saved) -> Saved:
        """A segment is written once, and an interval gets results again and again: what is written
        has a number behind its name, and takes the place of what was written before."""
        self._saves += bool(saved.put)
        before = [name for name in (*saved.put, *saved.drop) if name in self._written]
        drop = [f"{name}{AGAIN}{self._written.pop(name)}" for name in before]
        self._written |= dict.fromkeys(saved.put, self._saves)
        put = {f"{name}{AGAIN}{self._saves}": batch for name, batch in saved.put.items()}
        return Saved(put, drop, {**saved.meta, "saves": self._saves})

    def load(self, segments: Mapping[str, pa.RecordBatch], meta: Mapping[str, Any]) -> None:
        self._number, self._last = meta["number"], int(meta["last"])
        self._saves = int(meta["saves"])
        parts = [(name.partition(AGAIN), batch) for name, batch in segments.items()]
        self._written = {name: int(number) for (name, _, number), _ in parts}
        segments = {name: batch for (name, _, _), batch in parts}
        for number in self.lengths.keys() - {*meta["members"]}:
            self.drop(number)
        if GROUPS in segments:
            batch = segments[GROUPS]
            codes = self.groups.codes(batch.columns, batch.num_rows)
            assert np.array_equal(codes, np.arange(len(codes)))
            self._saved_groups = len(self.groups)
        for number, synopsis in enumerate(self._synopses.values()):
            synopsis.load(below(str(number), segments), meta[str(number)])
        self._told = self._answers()


def _distinct(ts: Int64s) -> list[int]:
    """Each of some instants, which are in order, once."""
    new = np.ones(len(ts), np.bool_)
    new[1:] = ts[1:] != ts[:-1]
    found: list[int] = ts[new].tolist()
    return found


def _at(instant: int, batch: pa.RecordBatch) -> Int64s:
    return np.full(batch.num_rows, instant, np.int64)


def _values(function: str, table: GroupedTable) -> pa.Array:
    match function:
        case "COUNT":
            return pa.array(table.rows)
        case "SUM":
            sums = sum_column(table)
            note_overflows(sums.null_count)
            return sums
        case "AVG":
            return mean_column(table, table.rows)
    return pa.array(np.empty(0, np.int64) if table.measure is None else table.measure)


def _renumbered(table: GroupedTable, remap: Int64s) -> GroupedTable:
    """The same groups under new codes, which are in the same order."""
    return replace(table, keys=(remap[table.keys[0]],))
