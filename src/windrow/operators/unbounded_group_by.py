"""GROUP BY of tuples that never leave, where no aggregate goes back to tuples: it keeps none.

Per group there are counts, sums and extremes; for DISTINCT the different values, which aggregates
of one argument share (``windrow.operators.aggregates.seen_values``). A FILTER is no column of
NULLs here but marks on rows: each condition is evaluated once, whichever aggregates have it.

MIN and MAX of texts, quantiles, and what puts values one after the other do go back to tuples:
with one of them ``windrow.operators.group_by`` does the work, as over all other input. Answers are
the same.

Cost: sorting the interval's rows by group, and a pass over them for each aggregate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.columns.arrays import Bools, Int64s, fixed_array, numpy_view, validity
from windrow.columns.delta import Delta
from windrow.columns.evaluate import SharedParts
from windrow.columns.functions.operands import bools
from windrow.columns.growable import fresh, grow
from windrow.columns.interner import Interner
from windrow.operators.aggregates.events import ArgumentValues, Events, Total
from windrow.operators.aggregates.group_counters import GroupCounters
from windrow.operators.aggregates.replaced_rows import replaced_rows
from windrow.operators.aggregates.seen_values import SeenValues
from windrow.operators.base import Saved, below
from windrow.operators.state.saved_segments import UpsertLog
from windrow.plan.expressions import Expression
from windrow.plan.physical.state_kinds import Kept, Structure


@dataclass(frozen=True)
class ChosenRows:
    """Rows where a condition is true and an argument is not NULL, each by its number if any."""

    argument: int | None = None
    condition: int | None = None


ALL = ChosenRows()


@dataclass(frozen=True)
class OfSeen:
    """An aggregate of the different values of an argument in chosen rows; None is COUNT."""

    argument: int
    condition: int | None
    plain: Total | None


Slot = ChosenRows | OfSeen | tuple[Total, int]
"""A COUNT, an aggregate with DISTINCT, or another one and the number of its argument."""


class _Rows:
    """The values and the chosen rows of an interval."""

    def __init__(
        self, arguments: Sequence[pa.Array], conditions: Sequence[pa.Array], n: int
    ) -> None:
        self.arguments, self._length = arguments, n
        self._true = [bools(condition) for condition in conditions]
        self._valid = [validity(argument) for argument in arguments]

    def marks(self, choices: Sequence[ChosenRows]) -> Bools:
        """A line for each choice that marks its rows."""
        found = np.ones((len(choices), self._length), np.bool_)
        for line, choice in enumerate(choices):
            if choice.condition is not None:
                found[line] = self._true[choice.condition]
            valid = None if choice.argument is None else self._valid[choice.argument]
            if valid is not None:
                found[line] &= valid
        return found

    def values(self, argument: int) -> ArgumentValues:
        return ArgumentValues(_RowValues(self.arguments[argument]))


@dataclass(frozen=True)
class _RowValues:
    """A column whose positions are the interval's rows."""

    array: pa.Array

    def take(self, positions: Int64s) -> pa.Array:
        kind = self.array.type
        if self.array.null_count or not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            return self.array.take(pa.array(positions))
        return fixed_array(numpy_view(self.array)[positions], None, kind)


class _Family:
    """The aggregates with DISTINCT of one argument."""

    def __init__(self, argument: int, kind: pa.DataType, members: Sequence[OfSeen]) -> None:
        self.argument, self.members = argument, tuple(members)
        conditions = dict.fromkeys(member.condition for member in members)
        self.choices = [ChosenRows(argument, condition) for condition in conditions]
        self.line = {condition: line for line, condition in enumerate(conditions)}
        self.seen = SeenValues(kind, len(self.choices))
        self.counters = GroupCounters(len(self.choices))

    def totals(self) -> list[Total | GroupCounters]:
        return [self.counters, *(m.plain for m in self.members if m.plain is not None)]

    def update(
        self, events: Events, codes: Int64s, rows: _Rows
    ) -> Iterator[tuple[pa.Array, pa.Array]]:
        """What its members answer."""
        argument = rows.arguments[self.argument]
        pair, new = self.seen.meet(codes, argument, rows.marks(self.choices))
        counts = self.counters.update(events, new)
        for member in self.members:
            line = self.line[member.condition]
            if member.plain is None:
                yield _as_arrays(counts[line])
            else:
                position = events.position
                sign = new[line][position].astype(np.int8)
                of_values = replace(events, position=pair[position], sign=sign)
                yield member.plain.update(of_values, ArgumentValues(self.seen))


def _as_arrays(counts: tuple[Int64s, Int64s]) -> tuple[pa.Array, pa.Array]:
    return pa.array(counts[0]), pa.array(counts[1])


class UnboundedAggregation:
    """See the module. ``conditions`` are those of FILTERs, which a slot names by their numbers."""

    def __init__(
        self,
        keys: Sequence[Expression],
        arguments: Sequence[Expression],
        conditions: Sequence[Expression],
        slots: Sequence[Slot],
        stored: pa.Schema,
        schema: pa.Schema,
        every_time: bool = False,
    ) -> None:
        """``stored`` has the types of keys and arguments."""
        self.slots, self.schema, self.every_time = tuple(slots), schema, every_time
        self.width, self._conditions = len(keys), len(keys) + len(arguments)
        self.inputs = SharedParts([*keys, *arguments, *conditions])
        self.groups = Interner(stored.types[: self.width])
        self.chosen = list(dict.fromkeys([ALL, *(s for s in slots if isinstance(s, ChosenRows))]))
        self.counters = GroupCounters(len(self.chosen))
        members = [slot for slot in self.slots if isinstance(slot, OfSeen)]
        self.families = [
            _Family(a, stored.types[self.width + a], [m for m in members if m.argument == a])
            for a in dict.fromkeys(member.argument for member in members)
        ]
        self.log, self.dirty = UpsertLog(), fresh(False, np.bool_)

    @property
    def state(self) -> tuple[Kept, ...]:
        return (((Structure.VALUES,) if self.families else ()) + (Structure.GROUPS,),)

    def totals(self) -> list[Total | GroupCounters]:
        """All that there is for each group, in the order in which it is saved."""
        own = [slot[0] for slot in self.slots if isinstance(slot, tuple)]
        return [self.counters, *own, *(t for family in self.families for t in family.totals())]

    def process(self, inputs: Sequence[Delta], now: int) -> Delta:
        (delta,) = inputs
        if not len(delta):
            return Delta.empty(self.schema)
        arrays = self.inputs.evaluate(delta.rows)
        codes = self.groups.codes(arrays[: self.width], len(delta))
        rows = _Rows(arrays[self.width : self._conditions], arrays[self._conditions :], len(delta))
        self._grow()
        events = Events.sort(codes, delta.ts, np.arange(len(delta)), delta.sign)
        self.dirty[events.groups] = True
        counts = dict(
            zip(self.chosen, self.counters.update(events, rows.marks(self.chosen)), strict=True)
        )
        distinct = {
            id(member): answer
            for family in self.families
            for member, answer in zip(
                family.members, family.update(events, codes, rows), strict=True
            )
        }
        values: list[tuple[pa.Array, pa.Array]] = []
        for slot in self.slots:
            if isinstance(slot, ChosenRows):
                values.append(_as_arrays(counts[slot]))
            elif isinstance(slot, OfSeen):
                values.append(distinct[id(slot)])
            else:
                values.append(slot[0].update(events, rows.values(slot[1])))
        return replaced_rows(self.groups, events, counts[ALL], values, self.schema, self.every_time)

    def _grow(self) -> None:
        self.dirty = grow(self.dirty, len(self.groups), False)
        for total in self.totals():
            total.grow(len(self.groups))

    def size(self) -> int:
        return len(self.groups) + sum(len(family.seen) for family in self.families)

    def save(self) -> Saved:
        saved = Saved()
        dirty = np.flatnonzero(self.dirty[: len(self.groups)])
        saved.add("groups", self.log.save(dirty, len(self.groups), self._dump))
        self.dirty[:] = False
        for number, family in enumerate(self.families):
            saved.add(f"values{number}", family.seen.save(self.groups))
        return saved

    def _dump(self, codes: Int64s) -> pa.RecordBatch:
        arrays = self.groups.rows(codes)
        for total in self.totals():
            arrays += total.dump(codes)
        return pa.RecordBatch.from_arrays(arrays, [str(i) for i in range(len(arrays))])

    def load(self, segments: Mapping[str, pa.RecordBatch], meta: Mapping[str, Any]) -> None:
        for batch in self.log.load(below("groups", segments), meta["groups"]):
            codes = self.groups.codes(batch.columns[: self.width], batch.num_rows)
            columns = batch.columns[self.width :]
            self._grow()
            for total in self.totals():
                taken = len(total.dump(codes[:0]))
                total.restore(codes, columns[:taken])
                columns = columns[taken:]
        for number, family in enumerate(self.families):
            name = f"values{number}"
            family.seen.load(below(name, segments), meta[name], self.groups)
