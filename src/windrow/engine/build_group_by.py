"""Group-by nodes to operators: which accumulator, summary or sketch keeps each aggregate."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from windrow.columns.evaluate import is_partial
from windrow.columns.types import ARROW, arrow_schema
from windrow.core.errors import NotExecutableError
from windrow.core.patterns import UpdatePattern
from windrow.engine.build_shared import shared_summaries
from windrow.engine.shared_stores import summary_for
from windrow.operators.aggregates.concatenation import Concatenation
from windrow.operators.aggregates.count_sum_avg import Count, Sum
from windrow.operators.aggregates.decimal_quantiles import DecimalQuantile
from windrow.operators.aggregates.decimal_sums import DecimalSum
from windrow.operators.aggregates.decimal_variance import DecimalVariance
from windrow.operators.aggregates.distinct_values import OfDistinct
from windrow.operators.aggregates.events import Accumulator, Total
from windrow.operators.aggregates.extremes import Extreme
from windrow.operators.aggregates.quantiles import BoundedQuantile, Quantile
from windrow.operators.aggregates.rank_summaries import RankSummaries
from windrow.operators.aggregates.unbounded_extremes import UnboundedExtreme
from windrow.operators.aggregates.variance import Variance
from windrow.operators.base import Operator
from windrow.operators.count_windows import InOrder
from windrow.operators.frequent_groups import FrequentGroups
from windrow.operators.group_by import GroupedAggregation
from windrow.operators.sliding_group_by import (
    Counted,
    Sketch,
    Sketched,
    SlidingAggregation,
    Slot,
    Summarised,
)
from windrow.operators.sub_window_clocks import InstantClock, RowClock, SubWindowClock
from windrow.operators.summarise_rows import SummariseForMany, SummariseRows
from windrow.operators.unbounded_group_by import ALL, ChosenRows, OfSeen, UnboundedAggregation
from windrow.operators.unbounded_group_by import Slot as UnboundedSlot
from windrow.plan.expressions import Call, Expression, Literal
from windrow.plan.nodes import (
    Aggregate,
    GroupBy,
    Joining,
    Reading,
    SharedGroupBy,
    SlidingGroupBy,
    arrives_in_order,
)
from windrow.plan.nodes.window_specs import RangeWindow, RowsWindow
from windrow.plan.physical.buffers import edge_buffer, needs_tuples
from windrow.plan.physical.sliding_state import (
    counts_values,
    kept_in_sub_windows,
    schema_of_summaries,
)


def grouped_aggregation(node: GroupBy, schema: pa.Schema, scan: bool) -> Operator:
    if not needs_tuples(node):
        return _unbounded_aggregation(node, schema)
    pattern = node.input.pattern
    arguments = _arguments(node)
    aggregates = [
        None
        if a.argument is None
        else (_accumulator(a, a.argument, pattern), arguments[a.argument])
        for a in node.aggregates
    ]
    keys = [k.expression for k in node.keys]
    return GroupedAggregation(
        keys, list(arguments), aggregates, pattern, stored_input([*keys, *arguments]), schema,
        edge_buffer(node.input, scan), node.every_time,
    )  # fmt: skip


def _unbounded_aggregation(node: GroupBy, schema: pa.Schema) -> Operator:
    arguments: dict[Expression, int] = {}
    conditions: dict[Expression, int] = {}

    def chosen_rows(value: Expression, condition: Expression | None) -> ChosenRows:
        constant = isinstance(value, Literal) and value.value is not None
        return ChosenRows(
            None if constant else arguments.setdefault(value, len(arguments)),
            None if condition is None else conditions.setdefault(condition, len(conditions)),
        )

    slots = list[UnboundedSlot]()
    for aggregate in node.aggregates:
        if aggregate.argument is None:
            slots.append(ALL)
            continue
        counts = aggregate.function == "COUNT"
        if not counts and not aggregate.distinct:
            place = arguments.setdefault(aggregate.argument, len(arguments))
            slots.append((_total(aggregate, aggregate.argument), place))
            continue
        value, condition = _split_filter(aggregate.argument)
        if not aggregate.distinct:
            slots.append(chosen_rows(value, condition))
            continue
        place = arguments.setdefault(value, len(arguments))
        which = None if condition is None else chosen_rows(value, condition).condition
        plain = None if counts else _total(replace(aggregate, distinct=False), value)
        slots.append(OfSeen(place, which, plain))
    keys = [k.expression for k in node.keys]
    return UnboundedAggregation(
        keys, list(arguments), list(conditions), slots, stored_input([*keys, *arguments]), schema,
        node.every_time,
    )  # fmt: skip


def _total(aggregate: Aggregate, argument: Expression) -> Total:
    if aggregate.function in ("MIN", "MAX"):
        return UnboundedExtreme(ARROW[argument.type], aggregate.function == "MAX")
    return _accumulator(aggregate, argument, UpdatePattern.MONOTONIC)


def _split_filter(argument: Expression) -> tuple[Expression, Expression | None]:
    """What is aggregated, and in which rows: of CASE WHEN c THEN x END these are x and c, if both
    have a value for every row, so that it makes no difference on which rows x is evaluated."""
    match argument:
        case Call("case", (condition, value, Literal(None))) if (
            value.type == argument.type and not is_partial(value) and not is_partial(condition)
        ):
            return value, condition
    return argument, None


def _arguments(node: GroupBy | SlidingGroupBy) -> dict[Expression, int]:
    """What aggregates are of, each once, numbered."""
    found = (a.argument for a in node.aggregates if a.argument is not None)
    return {argument: number for number, argument in enumerate(dict.fromkeys(found))}


def sliding_aggregation(node: SlidingGroupBy, schema: pa.Schema, _scan: bool) -> Operator:
    keys, arguments = [k.expression for k in node.keys], _arguments(node)
    stored, kept = stored_input([*keys, *arguments]), kept_in_sub_windows(node)
    operator: Operator
    if node.lists is not None:
        operator = FrequentGroups(
            _sub_windows(node.spec), keys, node.lists.size, node.lists.certain, stored, schema,
            kept, node.every_time, node.where,
        )  # fmt: skip
    else:
        operator = SlidingAggregation(
            _sub_windows(node.spec), keys, list(arguments), _slots(node), stored, schema, kept,
            node.every_time, node.merges, node.where,
        )  # fmt: skip
    by_rows = isinstance(node.spec, RowsWindow)
    return InOrder(operator) if by_rows and not arrives_in_order(node.input) else operator


def _sub_windows(spec: RangeWindow | RowsWindow) -> SubWindowClock:
    assert spec.slide is not None
    if isinstance(spec, RangeWindow):
        return InstantClock(spec.length, spec.slide)
    return RowClock(spec.count, spec.slide)


def summaries_of(node: SlidingGroupBy | SharedGroupBy) -> SummariseRows | SummariseForMany:
    """What makes summaries of tuples for a group-by that merges them."""
    if isinstance(node, SharedGroupBy):
        return shared_summaries(node)
    assert isinstance(node.spec, RangeWindow)
    assert node.spec.slide is not None
    keys, arguments = [k.expression for k in node.keys], list(_arguments(node))
    schema = arrow_schema(schema_of_summaries(node))
    return SummariseRows(
        node.spec.length, node.spec.slide, keys, arguments, lambda: _slots(node), schema
    )


def _slots(node: SlidingGroupBy) -> list[Slot]:
    arguments, slots = _arguments(node), list[Slot]()
    sketches = _sketches(node)
    for aggregate in node.aggregates:
        argument = aggregate.argument
        if argument is None:
            slots.append(None)
        elif not aggregate.exact:
            sketch, first = sketches[argument, aggregate.distinct, fraction_of(aggregate)]
            place = first + BOUNDED.index(aggregate.reading)
            slots.append(Sketched(sketch, arguments[argument], place))
        elif counts_values(aggregate):
            accumulator = _accumulator(aggregate, argument, UpdatePattern.WEAKEST)
            slots.append(Counted(accumulator, arguments[argument]))
        else:
            summary = summary_for(aggregate.function, ARROW[argument.type])
            if summary is None:
                raise NotExecutableError(aggregate.function, span=aggregate.span)
            slots.append(Summarised(summary, arguments[argument]))
    return slots


BOUNDED = (Reading.ESTIMATE, Reading.LOWER, Reading.UPPER)
"""The answers of a sketch, in this order."""


def _sketches(
    node: SlidingGroupBy,
) -> dict[tuple[Expression, bool, float | None], tuple[Sketch, int]]:
    """What is kept in bounded space, and where in its answers an aggregate begins.

    All quantiles of an argument are read from the same ranks.
    """
    found: dict[tuple[Expression, bool, float | None], tuple[Sketch, int]] = {}
    ranks: dict[Expression, list[float]] = {}
    for aggregate in node.aggregates:
        argument, fraction = aggregate.argument, fraction_of(aggregate)
        if argument is None or aggregate.exact:
            continue
        if aggregate.distinct:
            # The library of sketches is large, and few queries need it.
            from windrow.operators.aggregates.sketch_windows import SketchWindows  # noqa: PLC0415

            if (argument, True, None) not in found:
                found[argument, True, None] = SketchWindows(), 0
        elif fraction is not None and fraction not in ranks.setdefault(argument, []):
            ranks[argument].append(fraction)
    for argument, fractions in ranks.items():
        summaries = RankSummaries(ARROW[argument.type], list(map(BoundedQuantile, fractions)))
        for number, fraction in enumerate(fractions):
            found[argument, False, fraction] = summaries, number * len(BOUNDED)
    return found


def fraction_of(aggregate: Aggregate) -> float | None:
    if aggregate.function == "MEDIAN":
        return 0.5
    return aggregate.parameter if isinstance(aggregate.parameter, float) else None


def stored_input(expressions: list[Expression]) -> pa.Schema:
    return pa.schema([pa.field(str(i), ARROW[e.type]) for i, e in enumerate(expressions)])


def _accumulator(aggregate: Aggregate, argument: Expression, pattern: UpdatePattern) -> Accumulator:
    kind, departs = ARROW[argument.type], pattern is not UpdatePattern.MONOTONIC
    if aggregate.distinct:
        return OfDistinct(kind, _accumulator(replace(aggregate, distinct=False), argument, pattern))
    match aggregate.function:
        case "COUNT":
            return Count()
        case "SUM" | "AVG":
            made = DecimalSum if pa.types.is_decimal(kind) else Sum
            return made(kind, mean=aggregate.function == "AVG")
        case "MIN" | "MAX":
            return Extreme(kind, aggregate.function == "MAX", departs)
        case "MEDIAN" | "QUANTILE" if (fraction := fraction_of(aggregate)) is not None:
            if pa.types.is_decimal(kind):
                return DecimalQuantile(fraction, kind, ARROW[aggregate.type])
            return Quantile(fraction)
        case "STRING_AGG" | "ARRAY_AGG" if isinstance(aggregate.parameter, Joining):
            element = aggregate.type.element
            item = None if element is None else ARROW[element]
            return Concatenation(aggregate.parameter, aggregate.parameter.paired, item)
        case "VAR" | "STDDEV":
            spread = DecimalVariance if pa.types.is_decimal(kind) else Variance
            return spread(kind, root=aggregate.function == "STDDEV")
        case function:
            raise NotExecutableError(function, span=aggregate.span)
