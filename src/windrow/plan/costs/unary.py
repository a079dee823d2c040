"""Operators with one input."""

from __future__ import annotations

from dataclasses import replace
from math import exp, log2

from windrow.core.patterns import UpdatePattern
from windrow.plan.costs.flows import (
    HORIZON,
    Cost,
    Flow,
    Model,
    combined_values,
    present,
    upkeep,
    values_of,
)
from windrow.plan.costs.leaves import apply_window
from windrow.plan.expressions import Column, conjuncts
from windrow.plan.nodes import (
    AppendOnly,
    DuplicateElimination,
    Every,
    GroupBy,
    NegativeTuples,
    OutputWindow,
    Projection,
    Selection,
    Stamped,
    StreamKind,
    TopK,
    ToStream,
)
from windrow.plan.strategy import Strategy


def selection(node: Selection, model: Model) -> Cost:
    below = model.of(node.input)
    share = model.statistics.selectivity(node.predicate, node.input.schema)
    work = below.flow.tuples * len(conjuncts(node.predicate))
    return Cost(below.flow.sample(share), below.total + work)


def projection(node: Projection, model: Model) -> Cost:
    below = model.of(node.input)
    computed = sum(not isinstance(c.expression, Column) for c in node.columns)
    values = tuple(values_of(c.expression, below.flow) for c in node.columns)
    return Cost(below.flow.with_columns(values), below.total + computed * below.flow.tuples)


def groups(node: GroupBy, model: Model) -> Cost:
    """Every tuple that comes or goes replaces the result of its group."""
    below = model.of(node.input)
    flow = below.flow
    count = combined_values(tuple(k.expression for k in node.keys), flow)
    forever = node.input.pattern is UpdatePattern.MONOTONIC
    events = flow.inserts if forever else 2 * flow.inserts
    work = events * (1 + len(node.aggregates))
    kept = 0.0 if forever else model.upkeep_of(node.input, flow)
    values = tuple(min(values_of(k.expression, flow), count) for k in node.keys)
    values += (count,) * len(node.aggregates)
    return Cost(Flow(events, events, count, values), below.total + work + kept)


def distinct(node: DuplicateElimination, model: Model) -> Cost:
    """Over foreseeable expiries at most twice the output is kept; else the input (3.5.2)."""
    below = model.of(node.input)
    flow = below.flow
    values = 1.0
    for column in flow.distinct:
        values *= max(column, 1.0)
    values = present(values, flow.size)
    direct = model.strategy is Strategy.DIRECT
    if node.input.pattern is UpdatePattern.STRICT:
        copies = flow.size / max(values, 1.0)
        first = exp(-copies)  # how often a value has no other copy
        out = Flow(flow.inserts * first, flow.negatives * first, values, flow.distinct)
        return Cost(out, below.total + 2 * flow.tuples + model.upkeep_of(node.input, flow))
    if node.input.pattern is UpdatePattern.MONOTONIC:
        rate = flow.inserts * values / max(flow.size, 1.0)
    else:
        rate = min(values / max(flow.lifetime, 1e-9), flow.inserts)
    out = Flow(rate, 0.0, values, flow.distinct)
    kept = (
        model.upkeep_of(node.input, flow) if direct else upkeep(out, node.pattern, model.strategy)
    )
    return Cost(out, below.total + 2 * flow.inserts + kept)


def top(node: TopK, model: Model) -> Cost:
    below = model.of(node.input)
    flow = below.flow
    events = flow.inserts + max(flow.inserts, flow.negatives)
    share = min(node.count / max(flow.size, 1.0), 1.0)
    size = min(float(node.count), flow.size)
    out = Flow(events * share, events * share, size, tuple(min(d, size) for d in flow.distinct))
    work = events * (1 + log2(flow.size + 1))
    return Cost(out, below.total + work + model.upkeep_of(node.input, flow))


def negative_tuples(node: NegativeTuples, model: Model) -> Cost:
    """Every tuple is kept until its expiry, and then sent once more."""
    below = model.of(node.input)
    flow = below.flow
    kept = model.upkeep_of(node.input, flow)
    return Cost(replace(flow, negatives=flow.inserts), below.total + kept + flow.inserts)


def stamp(node: Stamped, model: Model) -> Cost:
    below = model.of(node.input)
    kept = 0.0
    if node.pattern is not UpdatePattern.MONOTONIC:
        kept = 2 * model.upkeep_of(node.input, below.flow)
    flow = replace(below.flow, distinct=(*below.flow.distinct, below.flow.size))
    return Cost(flow, below.total + kept + flow.tuples)


def append_only(node: AppendOnly, model: Model) -> Cost:
    return _never_withdrawn(model.of(node.input))


def output_window(node: OutputWindow, model: Model) -> Cost:
    return apply_window(node.spec, _never_withdrawn(model.of(node.input)), model)


def _never_withdrawn(below: Cost) -> Cost:
    flow = replace(below.flow, negatives=0.0, size=below.flow.inserts * HORIZON)
    return Cost(flow, below.total + below.flow.tuples)


def every(node: Every, model: Model) -> Cost:
    below = model.of(node.input)
    return replace(below, total=below.total + below.flow.tuples)


def to_stream(node: ToStream, model: Model) -> Cost:
    below = model.of(node.input)
    flow = below.flow
    kept = 0.0
    if node.input.pattern is not UpdatePattern.MONOTONIC:
        kept = model.upkeep_of(node.input, flow)
    rate = flow.inserts
    if node.kind in (StreamKind.RSTREAM, StreamKind.RSTREAM_RESTORE):
        rate = flow.size * model.ticks / node.every
    out = Flow(rate, 0.0, rate * HORIZON, flow.distinct)
    return Cost(out, below.total + kept + flow.tuples + rate)
