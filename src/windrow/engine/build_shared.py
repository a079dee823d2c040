"""The operator of a ``SharedGroupBy``: what the plan says of members, as numbers and places."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from windrow.columns.types import ARROW, arrow_schema
from windrow.core.schema import Type
from windrow.core.time import BEGINNING
from windrow.engine.shared_stores import (
    StoreLayout,
    content_of,
    count_values,
    predicates_together,
    store_of,
)
from windrow.operators.aggregates.count_sum_avg import Sum
from windrow.operators.aggregates.counter_scans import CounterValue, ScannedValue
from windrow.operators.aggregates.decimal_summaries import DecimalSummary
from windrow.operators.aggregates.decimal_sums import DecimalSum
from windrow.operators.aggregates.decimal_variance import DecimalVariance
from windrow.operators.aggregates.extreme_summaries import ExtremeSummary
from windrow.operators.aggregates.long_extreme_summaries import LongExtremeSummary
from windrow.operators.aggregates.rank_summaries import RankValue
from windrow.operators.aggregates.shared_reads import (
    Form,
    Probe,
    ReadAggregate,
    ScannedAggregate,
    Source,
)
from windrow.operators.aggregates.shared_values import (
    CountValue,
    DecimalValue,
    DoubleSumValue,
    ExtremeValue,
    IntegerSumValue,
    LongExtremeValue,
    WindowValue,
)
from windrow.operators.aggregates.shared_variances import VarianceValue
from windrow.operators.aggregates.sum_summaries import (
    PRESENT,
    DoubleSumSummary,
)
from windrow.operators.aggregates.summaries import Summary
from windrow.operators.aggregates.variance_summaries import VarianceSummary
from windrow.operators.shared_group_by import SharedAggregation
from windrow.operators.shared_top import FirstOfMembers
from windrow.operators.state.store_arrangement import Arrangement, Together
from windrow.operators.summarise_rows import SummariseForMany, SummaryBundle, bundles_of
from windrow.operators.top_k import FirstK
from windrow.plan.expressions import Column
from windrow.plan.nodes import Reading
from windrow.plan.nodes import sub_window_groups as plan
from windrow.plan.nodes.sub_window_groups import (
    GroupMember,
    SharedAggregate,
    SharedGroupBy,
    SharedTop,
)
from windrow.plan.physical.buffers import edge_buffer
from windrow.plan.physical.sliding_state import (
    EXTREMES,
    kept_for_many,
    long_extremes,
    schema_of_summaries,
    summaries_of_synopses,
)
from windrow.sharing.rules.periodic_query import Function
from windrow.sharing.schedule import PacedSchedule

SCANNED = frozenset({Function.QUANTILE.value, Function.COUNT_DISTINCT.value})
READ_FROM = {"AVG": "SUM", "STDDEV": "VAR"}
"""What is kept for an aggregate, where that is called otherwise."""
READINGS = (Reading.ESTIMATE, Reading.LOWER, Reading.UPPER)
"""In the order in which sketches say them."""


def shared_aggregation(node: SharedGroupBy, schema: pa.Schema) -> SharedAggregation:
    """The operator; members that have gone are left out of it."""
    return _Builder(node).build(schema)


def shared_summaries(node: SharedGroupBy) -> SummariseForMany:
    """What makes summaries of tuples for it."""
    predicates = [store.predicate for store in node.synopses]
    return SummariseForMany(
        [k.expression for k in node.keys], node.arguments, predicates,
        lambda: [store_of([s], node.arguments, count_values) for s in node.synopses],
        _counted_places(node),
        arrow_schema(schema_of_summaries(node)),
        _long_places(node),
    )  # fmt: skip


def shared_top(node: SharedTop, schema: pa.Schema, scan: bool) -> FirstOfMembers:
    """The operator of TOP for members; each of them has a front."""
    tops, fronts, kind = {}, {}, edge_buffer(node.input, scan)
    for number, (top, slots) in enumerate(zip(node.tops, node.slots, strict=True)):
        if top is not None:
            own = pa.schema([schema.field(1 + slot) for slot in slots])
            tops[number] = top, slots
            fronts[number] = FirstK(own, node.input.pattern, top.keys, top.count, kind)
    return FirstOfMembers(schema, tops, fronts, (kind,))


def _shows_all(member: GroupMember, node: SharedGroupBy) -> bool:
    shown = {column.index for column in member.columns if isinstance(column, Column)}
    aggregates = range(len(node.keys), len(node.keys) + len(member.aggregates))
    return member.having is None and shown.issuperset(aggregates)


def _counted_places(node: SharedGroupBy) -> list[int]:
    return [node.arguments.index(argument) for argument in node.counted_arguments]


def _long_places(node: SharedGroupBy) -> list[tuple[bool, int]]:
    return [(f == "MAX", node.arguments.index(argument)) for f, argument in long_extremes(node)]


def _scanned_value(aggregate: SharedAggregate) -> tuple[str, ScannedValue]:
    """What an aggregate is read from, and how."""
    assert aggregate.argument is not None
    kind, fraction = ARROW[aggregate.argument.type], aggregate.parameter
    if aggregate.reading is Reading.EXACT:
        return plan.COUNTERS, CounterValue(kind, fraction, ARROW[aggregate.type])
    place = READINGS.index(aggregate.reading)
    if fraction is not None:
        return plan.RANKS, RankValue(kind, fraction, place)
    from windrow.operators.aggregates.sketch_cells import SketchValue  # noqa: PLC0415

    return plan.SKETCHES, SketchValue(place)


class _Builder:
    """Numbers probes as members need them."""

    def __init__(self, node: SharedGroupBy) -> None:
        self._node = node
        self._probes: dict[Probe, int] = {}
        self._schedule = None if node.schedule is None else PacedSchedule(node.schedule)
        self._scheduled: list[str] = []
        """Of each probe one of the queries that read it."""
        self._members = [
            (number, member, self._probe(number, member))
            for number, member in enumerate(node.members)
            if member is not None
        ]

    def build(self, schema: pa.Schema) -> SharedAggregation:
        node = self._node
        return SharedAggregation(
            [k.expression for k in node.keys], node.arguments,
            [s.predicate for s in node.synopses], self._arrange, list(self._probes),
            schema, kept_for_many(node), node.merges, _counted_places(node),
            self._schedule, self._scheduled, _long_places(node),
        )  # fmt: skip

    def _probe(self, number: int, member: GroupMember) -> int:
        numbers = sorted({n for a in member.aggregates for n in (*a.added, *a.subtracted)})
        probe = Probe(tuple(numbers), member.window, *self._rhythm(number, member))
        if probe not in self._probes and self._node.schedule is not None:
            self._scheduled.append(self._node.schedule.names[number])
        return self._probes.setdefault(probe, len(self._probes))

    def _rhythm(self, number: int, member: GroupMember) -> tuple[int, tuple[int, int] | None]:
        """The period of a member, and the task that it is executed with."""
        if self._schedule is None or self._node.schedule is None:
            return member.slide, None
        name = self._node.schedule.names[number]
        return self._schedule.period(name), self._schedule.tasks[name]

    def _arrange(self, known: Together) -> Arrangement:
        """The stores, if some predicates share them as is ``known``, and what members read."""
        node = self._node
        together = predicates_together(node.synopses, known)
        reads = _Reads(node, together)
        for number, member, probe in self._members:
            reads.add(number, member, node.slots[number], probe)
        several = [[node.synopses[n] for n in numbers] for numbers in together]
        return Arrangement(
            together, tuple(store_of(each, node.arguments) for each in several),
            tuple(StoreLayout(each, node.arguments).columns(each) for each in several),
            tuple(reads.sources), tuple(reads.forms.values()), tuple(reads.sums),
            () if node.merges else tuple(self._folding(together)),
        )  # fmt: skip

    def _folding(self, together: Together) -> list[SummaryBundle]:
        """What summarises rows for predicates that share a store."""
        node = self._node
        own = {
            number: store_of([node.synopses[number]], node.arguments)
            for numbers in together
            for number in (numbers if len(numbers) > 1 else ())
        }
        width = max((store.summaries.width for store in own.values()), default=0)
        return bundles_of(own, width + 1)


class _Reads:
    """Numbers sources and forms as members need them, of stores of some predicates each."""

    def __init__(self, node: SharedGroupBy, together: Together) -> None:
        self._node = node
        self._homes = {
            number: (store, place)
            for store, numbers in enumerate(together)
            for place, number in enumerate(numbers)
        }
        several = [[node.synopses[n] for n in numbers] for numbers in together]
        self._layouts = [StoreLayout(each, node.arguments) for each in several]
        self._numbered: dict[object, int] = {}
        self.sources: list[Source] = []
        self._read: dict[object, int] = {}
        self.forms: dict[object, Form] = {}
        self.sums: list[Sum] = []

    def add(self, number: int, member: GroupMember, slots: tuple[int, ...], probe: int) -> None:
        reads = tuple(self._place(a, probe) for a in member.aggregates)
        kinds = tuple(ARROW[a.type] for a in member.aggregates)
        key = (member.having, member.columns, slots, kinds)
        if key not in self.forms:
            self.forms[key] = Form(
                member.having, member.columns, slots, kinds, _shows_all(member, self._node)
            )
        form = self.forms[key]
        form.members.append(number)
        form.probes.append(probe)
        form.reads.append(reads)
        form.exists.append(reads[0][0])
        form.since.append(BEGINNING if member.since is None else member.since)

    def _place(self, aggregate: SharedAggregate, probe: int) -> tuple[int, int]:
        """The source of an aggregate, and its place there."""
        number = self._source(aggregate, probe)
        source = self.sources[number]
        columns = tuple(self._column(aggregate, n) for n in _predicates(aggregate))
        places = tuple(place for place, _ in columns)
        read = (number, places, replace(aggregate, type=Type.BIGINT, added=(), subtracted=()))
        if read not in self._read:
            self._read[read] = len(source.aggregates)
            source.aggregates.append(self._reader(aggregate, places, columns[0][1]))
        place = self._read[read]
        if probe not in source.aggregates[place].probes:
            source.aggregates[place].probes.append(probe)
        return number, place

    def _source(self, aggregate: SharedAggregate, probe: int) -> int:
        """One whose stores are those of the aggregate, and in which the probe asks for no other
        predicates."""
        added, subtracted = (
            tuple(self._homes[n][0] for n in numbers)
            for numbers in (aggregate.added, aggregate.subtracted)
        )
        asked = tuple(self._homes[n][1] for n in _predicates(aggregate))
        again = 0
        while (known := self._numbered.get((added, subtracted, again))) is not None:
            if self.sources[known].predicates.get(probe, asked) == asked:
                break
            again += 1
        if known is None:
            known = self._numbered[added, subtracted, again] = len(self.sources)
            self.sources.append(Source(added, subtracted))
        source = self.sources[known]
        if probe not in source.predicates:
            source.predicates[probe] = asked
            source.probes.append(probe)
        return known

    def _reader(
        self, aggregate: SharedAggregate, places: tuple[int, ...], summary: Summary | None
    ) -> ReadAggregate | ScannedAggregate:
        if aggregate.function in SCANNED:
            assert aggregate.argument is not None
            kept, value = _scanned_value(aggregate)
            cells = (kept, self._node.arguments.index(aggregate.argument))
            return ScannedAggregate(value, cells, ARROW[aggregate.type])
        words, width = self._value(aggregate, summary)
        extreme = aggregate.function in EXTREMES
        return ReadAggregate(words, places, width, ARROW[aggregate.type], extreme)

    def _value(
        self, aggregate: SharedAggregate, summary: Summary | None
    ) -> tuple[WindowValue, int]:
        if aggregate.function == "COUNT" or summary is None:
            return CountValue(), 1
        if isinstance(summary, LongExtremeSummary):
            return LongExtremeValue(summary), summary.width
        if isinstance(summary, ExtremeSummary):
            return ExtremeValue(summary), summary.width
        assert aggregate.argument is not None
        if isinstance(summary, VarianceSummary):
            root = aggregate.function == "STDDEV"
            return VarianceValue(ARROW[aggregate.argument.type], root), summary.width
        if isinstance(summary, DecimalSummary):
            exact = _exact_window(aggregate.function, ARROW[aggregate.argument.type])
            self.sums.append(exact)
            return DecimalValue(exact), summary.width
        sums = Sum(ARROW[aggregate.argument.type], mean=aggregate.function == "AVG")
        self.sums.append(sums)
        value = DoubleSumValue(sums) if sums.floating else IntegerSumValue(sums)
        return value, summary.width

    def _column(self, aggregate: SharedAggregate, predicate: int) -> tuple[int, Summary | None]:
        """Where the store of a predicate has an aggregate: a column, or the number of a synopsis of
        extremes."""
        if aggregate.argument is None or aggregate.function in SCANNED:
            return 0, None
        store = self._homes[predicate][0]
        layout = self._layouts[store]
        wanted = READ_FROM.get(aggregate.function, aggregate.function)
        fallback: tuple[int, Summary] | None = None
        for content in summaries_of_synopses(self._node.synopses[predicate]):
            if content.argument != aggregate.argument:
                continue
            summary, at = layout.summaries[content_of(content)], layout.places[content_of(content)]
            if content.function == wanted:
                extreme = wanted in EXTREMES
                return (layout.synopses[layout.synopsis(content)] if extreme else at), summary
            if content.function == "SUM":
                fallback = (at + (PRESENT if isinstance(summary, DoubleSumSummary) else 0), summary)
        assert fallback is not None  # the number of values is part of their sum
        return fallback


def _exact_window(function: str, kind: pa.DataType) -> DecimalSum | DecimalVariance:
    if function in ("VAR", "STDDEV"):
        return DecimalVariance(kind, root=function == "STDDEV")
    return DecimalSum(kind, mean=function == "AVG")


def _predicates(aggregate: SharedAggregate) -> tuple[int, ...]:
    return (*aggregate.added, *aggregate.subtracted)
