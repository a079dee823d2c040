"""The operator of a ``SharedGroupBy``: what the plan says of members, as numbers and places."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa

from windrow.columns.types import ARROW, arrow_schema
from windrow.core.schema import Type
from windrow.core.time import BEGINNING
from windrow.operators.aggregates.count_sum_avg import Sum
from windrow.operators.aggregates.counter_scans import CounterValue, ScannedValue
from windrow.operators.aggregates.decimal_summaries import DecimalSummary
from windrow.operators.aggregates.decimal_sums import DecimalSum
from windrow.operators.aggregates.decimal_variance import DecimalVariance
from windrow.operators.aggregates.extreme_summaries import ExtremeSummary
from windrow.operators.aggregates.rank_summaries import RankSummaries, RankValue
from windrow.operators.aggregates.shared_reads import (
    Form,
    Probe,
    ReadAggregate,
    ScannedAggregate,
    Source,
)
from windrow.operators.aggregates.shared_values import (
    CountValue,
    DoubleSumValue,
    ExtremeValue,
    IntegerSumValue,
    WindowValue,
)
from windrow.operators.aggregates.sum_summaries import (
    PRESENT,
    DoubleSumSummary,
    IntegerSumSummary,
)
from windrow.operators.aggregates.summaries import CountSummary, Summary
from windrow.operators.aggregates.value_counts import ValueCounts
from windrow.operators.aggregates.variance_summaries import VarianceSummary
from windrow.operators.shared_group_by import SharedAggregation
from windrow.operators.shared_top import FirstOfMembers
from windrow.operators.state.predicate_store import CellsByValue, PredicateStore
from windrow.operators.summarise_rows import SummariseForMany
from windrow.operators.top_k import FirstK
from windrow.plan.expressions import Column, Expression
from windrow.plan.nodes import Reading
from windrow.plan.nodes import sub_window_groups as plan
from windrow.plan.nodes.sub_window_groups import (
    GroupMember,
    KeptContent,
    PredicateSynopses,
    SharedAggregate,
    SharedGroupBy,
    SharedTop,
)
from windrow.plan.physical.buffers import edge_buffer
from windrow.plan.physical.sliding_state import (
    EXTREMES,
    kept_for_many,
    schema_of_summaries,
    summaries_of_synopses,
)
from windrow.sharing.rules.periodic_query import Function
from windrow.sharing.rules.synopsis_shape import SynopsisKind
from windrow.sharing.schedule import PacedSchedule

SCANNED = frozenset({Function.QUANTILE.value, Function.COUNT_DISTINCT.value})
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
        lambda: [_store(s, node.arguments, _count_values) for s in node.synopses],
        _counted_places(node),
        arrow_schema(schema_of_summaries(node)),
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


def summary_for(function: str, kind: pa.DataType) -> Summary | None:
    """What is kept of the values of one sub-window and group."""
    match function:
        case "COUNT":
            return CountSummary()
        case "SUM" | "AVG" if pa.types.is_floating(kind):
            return DoubleSumSummary(kind, mean=function == "AVG")
        case "SUM" | "AVG" if pa.types.is_decimal(kind):
            return DecimalSummary(DecimalSum(kind, mean=function == "AVG"))
        case "SUM" | "AVG":
            return IntegerSumSummary(kind, mean=function == "AVG")
        case "MIN" | "MAX":
            return ExtremeSummary(kind, largest=function == "MAX")
        case "VAR" | "STDDEV" if pa.types.is_decimal(kind):
            return DecimalSummary(DecimalVariance(kind, root=function == "STDDEV"))
        case "VAR" | "STDDEV":
            return VarianceSummary(kind, root=function == "STDDEV")
    return None


def _shows_all(member: GroupMember, node: SharedGroupBy) -> bool:
    shown = {column.index for column in member.columns if isinstance(column, Column)}
    aggregates = range(len(node.keys), len(node.keys) + len(member.aggregates))
    return member.having is None and shown.issuperset(aggregates)


def _count_values(content: KeptContent) -> CellsByValue:
    return ValueCounts(ARROW[content.argument.type], [])


def _keep_values(content: KeptContent) -> CellsByValue:
    """What is kept by value where queries are answered."""
    match content.function:
        case plan.SKETCHES:
            from windrow.operators.aggregates.sketch_cells import SketchCells  # noqa: PLC0415

            return SketchCells()
        case plan.RANKS:
            return RankSummaries(ARROW[content.argument.type], [])
    return _count_values(content)


def _store(
    synopses: PredicateSynopses,
    arguments: tuple[Expression, ...],
    keep: Callable[[KeptContent], CellsByValue] = _keep_values,
) -> PredicateStore:
    sums: list[tuple[Summary, int]] = []
    extremes: list[tuple[Summary, int]] = []
    scanned = []
    for content in summaries_of_synopses(synopses):
        summary = summary_for(content.function, ARROW[content.argument.type])
        assert summary is not None
        kept = (summary, arguments.index(content.argument))
        if content.function in EXTREMES:
            extremes.append(kept)
            scanned.append(content.kind is SynopsisKind.BASIC)
        else:
            sums.append(kept)
    by_value = {
        (c.function, arguments.index(c.argument)): keep(c)
        for c in synopses.contents
        if c.function in plan.BY_VALUE
    }
    return PredicateStore(synopses.s, synopses.keep, sums, extremes, scanned, by_value)


def _counted_places(node: SharedGroupBy) -> list[int]:
    return [node.arguments.index(argument) for argument in node.counted_arguments]


def _scanned_value(aggregate: SharedAggregate) -> tuple[str, ScannedValue]:
    """What an aggregate is read from, and how."""
    assert aggregate.argument is not None
    kind, fraction = ARROW[aggregate.argument.type], aggregate.parameter
    if aggregate.reading is Reading.EXACT:
        return plan.COUNTERS, CounterValue(kind, fraction)
    place = READINGS.index(aggregate.reading)
    if fraction is not None:
        return plan.RANKS, RankValue(kind, fraction, place)
    from windrow.operators.aggregates.sketch_cells import SketchValue  # noqa: PLC0415

    return plan.SKETCHES, SketchValue(place)


class _Builder:
    """Numbers probes, sources and forms as members need them."""

    def __init__(self, node: SharedGroupBy) -> None:
        self._node = node
        self._stores = [_store(synopses, node.arguments) for synopses in node.synopses]
        self._probes: dict[Probe, int] = {}
        self._sources: dict[tuple[tuple[int, ...], tuple[int, ...]], int] = {}
        self._found: list[Source] = []
        self._read: dict[object, int] = {}
        self._forms: dict[object, Form] = {}
        self._sums: list[Sum] = []
        self._schedule = None if node.schedule is None else PacedSchedule(node.schedule)
        self._scheduled: list[str] = []
        """Of each probe one of the queries that read it."""

    def build(self, schema: pa.Schema) -> SharedAggregation:
        node = self._node
        for number, member in enumerate(node.members):
            if member is not None:
                self._add(number, member, node.slots[number])
        return SharedAggregation(
            [k.expression for k in node.keys], node.arguments,
            [s.predicate for s in node.synopses], self._stores, list(self._probes), self._found,
            list(self._forms.values()), schema, kept_for_many(node), self._sums, node.merges,
            _counted_places(node),
            self._schedule, self._scheduled,
        )  # fmt: skip

    def _add(self, number: int, member: GroupMember, slots: tuple[int, ...]) -> None:
        numbers = sorted({n for a in member.aggregates for n in (*a.added, *a.subtracted)})
        probe = Probe(tuple(numbers), member.window, *self._rhythm(number, member))
        if probe not in self._probes and self._node.schedule is not None:
            self._scheduled.append(self._node.schedule.names[number])
        at = self._probes.setdefault(probe, len(self._probes))
        reads = tuple(self._place(a, at) for a in member.aggregates)
        kinds = tuple(ARROW[a.type] for a in member.aggregates)
        key = (member.having, member.columns, slots, kinds)
        if key not in self._forms:
            self._forms[key] = Form(
                member.having, member.columns, slots, kinds, _shows_all(member, self._node)
            )
        form = self._forms[key]
        form.members.append(number)
        form.probes.append(at)
        form.reads.append(reads)
        form.exists.append(reads[0][0])
        form.since.append(BEGINNING if member.since is None else member.since)

    def _rhythm(self, number: int, member: GroupMember) -> tuple[int, tuple[int, int] | None]:
        """The period of a member, and the task that it is executed with."""
        if self._schedule is None or self._node.schedule is None:
            return member.slide, None
        name = self._node.schedule.names[number]
        return self._schedule.period(name), self._schedule.tasks[name]

    def _place(self, aggregate: SharedAggregate, probe: int) -> tuple[int, int]:
        """The source of an aggregate, and its place there."""
        key = (aggregate.added, aggregate.subtracted)
        if key not in self._sources:
            self._sources[key] = len(self._found)
            self._found.append(Source(*key))
        number = self._sources[key]
        source = self._found[number]
        if probe not in source.probes:
            source.probes.append(probe)
        read = (number, replace(aggregate, type=Type.BIGINT))
        if read not in self._read:
            self._read[read] = len(source.aggregates)
            source.aggregates.append(self._reader(aggregate))
        place = self._read[read]
        if probe not in source.aggregates[place].probes:
            source.aggregates[place].probes.append(probe)
        return number, place

    def _reader(self, aggregate: SharedAggregate) -> ReadAggregate | ScannedAggregate:
        if aggregate.function in SCANNED:
            assert aggregate.argument is not None
            kept, value = _scanned_value(aggregate)
            cells = (kept, self._node.arguments.index(aggregate.argument))
            return ScannedAggregate(value, cells, ARROW[aggregate.type])
        found = {n: self._column(aggregate, n) for n in (*aggregate.added, *aggregate.subtracted)}
        summary = next(iter(found.values()))[1]
        places = {n: at for n, (at, _) in found.items()}
        words, width = self._value(aggregate, summary)
        extreme = aggregate.function in EXTREMES
        return ReadAggregate(words, places, width, ARROW[aggregate.type], extreme)

    def _value(
        self, aggregate: SharedAggregate, summary: Summary | None
    ) -> tuple[WindowValue, int]:
        if aggregate.function == "COUNT" or summary is None:
            return CountValue(), 1
        if isinstance(summary, ExtremeSummary):
            return ExtremeValue(summary), summary.width
        assert aggregate.argument is not None
        sums = Sum(ARROW[aggregate.argument.type], mean=aggregate.function == "AVG")
        self._sums.append(sums)
        value = DoubleSumValue(sums) if sums.floating else IntegerSumValue(sums)
        return value, summary.width

    def _column(self, aggregate: SharedAggregate, store: int) -> tuple[int, Summary | None]:
        """Where a store has an aggregate: a column, or the number of an extreme."""
        if aggregate.argument is None:
            return 0, None
        kept = self._stores[store]
        argument = self._node.arguments.index(aggregate.argument)
        contents = summaries_of_synopses(self._node.synopses[store])
        summaries = kept.summaries.aggregates
        extremes = 0
        wanted = "SUM" if aggregate.function == "AVG" else aggregate.function
        fallback: tuple[int, Summary] | None = None
        for content, (summary, of), at in zip(
            contents, summaries, kept.summaries.places, strict=True
        ):
            if of == argument and content.function == wanted:
                return (extremes if wanted in EXTREMES else at), summary
            if of == argument and content.function == "SUM":
                fallback = (at + (PRESENT if isinstance(summary, DoubleSumSummary) else 0), summary)
            extremes += content.function in EXTREMES
        assert fallback is not None  # the number of values is part of their sum
        return fallback
