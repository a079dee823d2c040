"""GROUP BY over ``[RANGE T SLIDE s]``: summaries of sub-windows instead of tuples.

The window is a circular array of sub-windows (Golab 2006, 2.3.4); what one is, also where s does
not divide T, is said in ``windrow.operators.state.sub_window_store``. A row is
folded into the summary of its group in the open sub-window as it comes, and forgotten. At a
multiple of s a whole sub-window comes and another one leaves, and the window of each group takes
summaries in and out. The rows of groups whose aggregates changed are replaced.

The answer at every instant is that of ``Snap`` below ``GroupedAggregation``, which keep all tuples.

Cost: O(1) per row, and O(1) per group that has a summary in a sub-window that comes or leaves (for
counters of values O(log D), as over tuples). State: a summary for each sub-window and group that
occurs in it; for MEDIAN, QUANTILE, DISTINCT and extreme strings also its different values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.columns.delta import Delta
from windrow.columns.evaluate import evaluate
from windrow.columns.interner import Crowding, Interner
from windrow.operators.aggregates.count_sum_avg import Sum
from windrow.operators.aggregates.distinct_values import OfDistinct
from windrow.operators.aggregates.events import Accumulator, Events
from windrow.operators.aggregates.group_summaries import GroupSummaries, Sizes
from windrow.operators.aggregates.replaced_rows import replaced_rows
from windrow.operators.aggregates.sum_summaries import DoubleSumSummary, IntegerSumSummary
from windrow.operators.aggregates.summaries import Summary
from windrow.operators.aggregates.value_counts import ValueCounts
from windrow.operators.base import Saved, below
from windrow.operators.snap import round_up
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


def seen_in_window(delta: Delta, length: int, slide: int) -> tuple[Delta, Int64s, Int64s]:
    """The rows that are ever in the window, with the instants at which they come and leave."""
    comes, leaves = round_up(delta.ts, slide), round_up(delta.ts + length, slide)
    seen = comes < leaves
    return (delta, comes, leaves) if seen.all() else (delta.filter(seen), comes[seen], leaves[seen])


Slot = Summarised | Counted | None
"""How an aggregate is kept; None for COUNT(*)."""


class SlidingAggregation:
    """One row per group, replaced when its aggregates change; ``kept`` is for EXPLAIN.

    If it ``merges``, what comes are summaries: the keys, and the columns of ``GroupSummaries``.
    """

    def __init__(
        self,
        length: int,
        slide: int,
        keys: Sequence[Expression],
        arguments: Sequence[Expression],
        slots: Sequence[Slot],
        stored: pa.Schema,
        schema: pa.Schema,
        kept: Kept,
        every_time: bool = False,
        merges: bool = False,
    ) -> None:
        self.merges = merges
        self.length, self.slide, self.every_time = length, slide, every_time
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

    @property
    def state(self) -> tuple[Kept, ...]:
        return (self.kept,)

    def process(self, inputs: Sequence[Delta], now: int) -> Delta:
        (delta,) = inputs
        if len(delta):
            self._fold(delta)
        events = self.summaries.advance(now, len(self.groups))
        if events is None:
            return Delta.empty(self.schema)
        values = self._values(events, [c.advance(now, len(self.groups)) for c in self.counters])
        answer = replaced_rows(self.groups, events, *values, self.schema, self.every_time)
        for part in self._parts().values():
            part.forget()
        self._forget_groups()
        return answer

    def _fold(self, delta: Delta) -> None:
        """Take rows into the open sub-windows; some rows are never in the window."""
        delta, comes, leaves = seen_in_window(delta, self.length, self.slide)
        if not len(delta):
            return
        if self.merges:
            keys, parts = delta.rows.columns[: self.width], delta.rows.columns[self.width :]
            codes = self.groups.codes(keys, len(delta))
            table = np.stack([part.to_numpy() for part in parts], axis=1)
            self.summaries.merge(codes, comes, leaves, table)
            return
        columns = [evaluate(e, delta.rows) for e in self.inputs]
        codes = self.groups.codes(columns[: self.width], len(delta))
        arguments = columns[self.width :]
        self.summaries.fold(codes, comes, leaves, arguments)
        for argument, counter in zip(self.counted, self.counters, strict=True):
            counter.fold(codes, comes, leaves, arguments[argument])

    def _values(
        self, events: Events, counted: Sequence[Sequence[tuple[pa.Array, pa.Array]]]
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
                case Summarised(summary=(IntegerSumSummary() | DoubleSumSummary()) as summary):
                    yield summary.window

    def size(self) -> int:
        return sum(map(len, self._parts().values())) + len(self.groups)

    def save(self) -> Saved:
        saved = Saved()
        for name, part in self._parts().items():
            saved.add(name, part.save(self.groups))
        return saved

    def _parts(self) -> dict[str, GroupSummaries | ValueCounts]:
        counters = {f"values{a}": c for a, c in zip(self.counted, self.counters, strict=True)}
        return {"summaries": self.summaries, **counters}

    def load(self, segments: Mapping[str, pa.RecordBatch], meta: Mapping[str, Any]) -> None:
        for name, part in self._parts().items():
            part.load(below(name, segments), meta[name], self.groups)
        events = self.summaries.living(len(self.groups))
        if events is not None:
            self.summaries.update(events)
            for counter in self.counters:
                counter.replay(len(self.groups))
