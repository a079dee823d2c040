"""GROUP BY over a window that slides: summaries of sub-windows instead of tuples.

The window is a circular array of sub-windows (Golab 2006, 2.3.4); what one is, also where s does
not divide T, is said in ``windrow.operators.state.sub_window_store``, and when it comes and leaves,
for ``[ROWS n SLIDE m]`` too, in ``windrow.operators.sub_window_clocks``. A row is
folded into the summary of its group in the open sub-window as it comes, and forgotten. At a
multiple of s a whole sub-window comes and another one leaves, and the window of each group takes
summaries in and out. The rows of groups whose aggregates changed are replaced.

The answer at every instant is that of ``Snap`` or ``LastRows`` below ``GroupedAggregation``, which
keep all tuples; that of APPROXIMATE aggregates comes from sketches, with bounds.

Cost: O(1) per row, and O(1) per group that has a summary in a sub-window that comes or leaves (for
counters of values O(log D), as over tuples). State: a summary for each sub-window and group that
occurs in it; for MEDIAN, QUANTILE, STRING_AGG, ARRAY_AGG and DISTINCT also its different values,
unless they are APPROXIMATE.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.columns.delta import Delta
from windrow.columns.evaluate import evaluate, selection_mask
from windrow.columns.interner import Crowding, Interner
from windrow.operators.aggregates.count_sum_avg import Sum
from windrow.operators.aggregates.decimal_summaries import DecimalSummary
from windrow.operators.aggregates.distinct_values import OfDistinct
from windrow.operators.aggregates.events import Accumulator, Events
from windrow.operators.aggregates.group_summaries import GroupSummaries, Sizes
from windrow.operators.aggregates.replaced_rows import replaced_rows
from windrow.operators.aggregates.sum_summaries import DoubleSumSummary, IntegerSumSummary
from windrow.operators.aggregates.summaries import Summary
from windrow.operators.aggregates.value_counts import ValueCounts
from windrow.operators.base import Saved, below
from windrow.operators.sub_window_clocks import SubWindowClock
from windrow.plan.expressions import Expression
from windrow.plan.physical.state_kinds import Kept

Int64s = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Summarised:
    """An aggregate by summaries of fixed size, and the number of its argument."""

    summary: Summary
    argument: int


@dataclass(frozen=True)
class Counted:
    """An aggregate over counters of the values of its argument."""

    accumulator: Accumulator
    argument: int


class Sketch(Protocol):
    """What is kept in bounded space of an argument, by sub-window and group, and read by group."""

    def __len__(self) -> int: ...

    def fold(self, codes: Int64s, comes: Int64s, leaves: Int64s, argument: pa.Array) -> object:
        """Take values into what is kept of their sub-windows."""
        ...

    def advance(self, clock: SubWindowClock, codes: int) -> list[tuple[pa.Array, pa.Array]]:
        """Estimates and bounds, before and after what comes and goes by now."""
        ...

    def replay(self, codes: int) -> None: ...

    def forget(self) -> None: ...

    def regroup(self, live: Int64s, remap: Int64s) -> None: ...

    def save(self, groups: Interner) -> Saved: ...

    def load(
        self, segments: Mapping[str, pa.RecordBatch], meta: Mapping[str, Any], groups: Interner
    ) -> None: ...


@dataclass(frozen=True, eq=False)
class Sketched:
    """An aggregate in bounded space: the ``place``-th of the answers that a sketch gives."""

    sketch: Sketch
    argument: int
    place: int


Slot = Summarised | Counted | Sketched | None
"""How an aggregate is kept; None for COUNT(*)."""


class SlidingAggregation:
    """One row per group, replaced when its aggregates change; ``kept`` is for EXPLAIN.

    If it ``merges``, what comes are summaries: the keys, the columns of ``GroupSummaries``, and the
    values of its long aggregates.
    """

    def __init__(
        self,
        clock: SubWindowClock,
        keys: Sequence[Expression],
        arguments: Sequence[Expression],
        slots: Sequence[Slot],
        stored: pa.Schema,
        schema: pa.Schema,
        kept: Kept,
        every_time: bool = False,
        merges: bool = False,
        where: Expression | None = None,
    ) -> None:
        self.merges, self.where = merges, where
        self.clock, self.every_time = clock, every_time
        self.inputs, self.width, self.schema = (*keys, *arguments), len(keys), schema
        self.kept, self.slots = kept, tuple(slots)
        self.groups, self.crowding = Interner(stored.types[: self.width]), Crowding()
        self.summaries = GroupSummaries(
            [(s.summary, s.argument) for s in self.slots if isinstance(s, Summarised)]
        )
        over_values = [s for s in self.slots if isinstance(s, Counted)]
        self.counted = tuple(dict.fromkeys(s.argument for s in over_values))
        self.counters = tuple(
            ValueCounts(
                stored.types[self.width + argument],
                [s.accumulator for s in over_values if s.argument == argument],
            )
            for argument in self.counted
        )
        sketched = [(s.sketch, s.argument) for s in self.slots if isinstance(s, Sketched)]
        self.sketches = dict(sketched)

    @property
    def state(self) -> tuple[Kept, ...]:
        return (self.kept,)

    def process(self, inputs: Sequence[Delta], now: int) -> Delta:
        (delta,) = inputs
        self._fold(*choose_rows(delta, now, self.clock, self.where))
        size = len(self.groups)
        events = self.summaries.advance(self.clock, size)
        if events is None and not self.summaries.store.has_gone:
            return Delta.empty(self.schema)
        counted = [counter.advance(self.clock, size) for counter in self.counters]
        sketched = {sketch: sketch.advance(self.clock, size) for sketch in self.sketches}
        answer = Delta.empty(self.schema)
        if events is not None:  # or all that came has left at the same instant
            values = self._values(events, counted, sketched)
            answer = replaced_rows(self.groups, events, *values, self.schema, self.every_time)
        for part in self._parts().values():
            part.forget()
        if events is not None:  # else nobody has made room for the groups that came
            self._forget_groups()
        return answer

    def _fold(self, delta: Delta, comes: Int64s, leaves: Int64s) -> None:
        """Take rows into the open sub-windows."""
        if not len(delta):
            return
        if self.merges:
            behind = self.width + self.summaries.width
            keys, parts = delta.rows.columns[: self.width], delta.rows.columns[self.width : behind]
            codes = self.groups.codes(keys, len(delta))
            table = np.stack([part.to_numpy() for part in parts], axis=1)
            long = delta.rows.columns[behind:]
            self.summaries.merge(codes, comes, leaves, table, long)
            return
        columns = [evaluate(e, delta.rows) for e in self.inputs]
        codes = self.groups.codes(columns[: self.width], len(delta))
        arguments = columns[self.width :]
        self.summaries.fold(codes, comes, leaves, arguments)
        for argument, counter in zip(self.counted, self.counters, strict=True):
            counter.fold(codes, comes, leaves, arguments[argument])
        for sketch, argument in self.sketches.items():
            sketch.fold(codes, comes, leaves, arguments[argument])

    def _values(
        self,
        events: Events,
        counted: Sequence[Sequence[tuple[pa.Array, pa.Array]]],
        sketched: Mapping[Sketch, Sequence[tuple[pa.Array, pa.Array]]],
    ) -> tuple[Sizes, list[tuple[pa.Array, pa.Array]]]:
        """The sizes of groups, and the aggregates in the order of the slots."""
        sizes, summarised = self.summaries.update(events)
        sources = {a: iter(found) for a, found in zip(self.counted, counted, strict=True)}
        following = iter(summarised)
        counts = tuple(map(pa.array, sizes))
        values = []
        for slot in self.slots:
            match slot:
                case None:
                    values.append(counts)
                case Summarised():
                    values.append(next(following))
                case Counted():
                    values.append(next(sources[slot.argument]))
                case Sketched():
                    values.append(sketched[slot.sketch][slot.place])
        return sizes, values

    def _forget_groups(self) -> None:
        """Give groups that have summaries new codes, once most groups have none."""
        size = len(self.groups)
        if not self.crowding.is_due(size):
            return
        held = np.zeros(size, np.bool_)
        held[self.summaries.held_groups()] = True
        live = np.flatnonzero(held)
        if not self.crowding.renewal_pays(size, len(live)):
            return
        remap = self.groups.compact(live)
        for part in self._parts().values():
            part.regroup(live, remap)

    def sums(self) -> Iterator[Sum]:
        """The sums over windows, which count what did not fit."""
        for slot in self.slots:
            match slot:
                case Counted(accumulator=OfDistinct(plain=Sum() as plain)):
                    yield plain
                case Summarised(
                    summary=(IntegerSumSummary() | DoubleSumSummary() | DecimalSummary()) as kept
                ):
                    yield kept.window

    def size(self) -> int:
        return sum(map(len, self._parts().values())) + len(self.groups)

    def save(self) -> Saved:
        saved = Saved()
        saved.meta["clock"] = self.clock.save()
        for name, part in self._parts().items():
            saved.add(name, part.save(self.groups))
        return saved

    def _parts(self) -> dict[str, GroupSummaries | ValueCounts | Sketch]:
        counters = {f"values{a}": c for a, c in zip(self.counted, self.counters, strict=True)}
        sketches = {f"sketch{i}": sketch for i, sketch in enumerate(self.sketches)}
        return {"summaries": self.summaries, **counters, **sketches}

    def load(self, segments: Mapping[str, pa.RecordBatch], meta: Mapping[str, Any]) -> None:
        self.clock.load(meta["clock"])
        for name, part in self._parts().items():
            part.load(below(name, segments), meta[name], self.groups)
        events = self.summaries.living(len(self.groups))
        if events is not None:
            self.summaries.update(events)
            for part in (*self.counters, *self.sketches):
                part.replay(len(self.groups))


def choose_rows(
    delta: Delta, now: int, clock: SubWindowClock, where: Expression | None
) -> tuple[Delta, Int64s, Int64s]:
    """The rows that are ever in the window and for which ``where`` is true, and their instants."""
    delta, comes, leaves = clock.take(delta, now)
    if where is None or not len(delta):
        return delta, comes, leaves
    chosen = selection_mask(where, delta.rows)
    return delta.filter(chosen), comes[chosen], leaves[chosen]
