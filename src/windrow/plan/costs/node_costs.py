"""What each kind of node costs, and what comes out of it: sources, then operators."""

from __future__ import annotations

from dataclasses import replace
from math import exp, log2

from windrow.core.patterns import UpdatePattern
from windrow.plan.costs.flows import (
    DISTINCT,
    HORIZON,
    RATE,
    Cost,
    Flow,
    Model,
    combined_values,
    present,
    upkeep,
    values_of,
)
from windrow.plan.costs.join_order import WindowedStream, joined_size, origin_cost
from windrow.plan.expressions import Column, conjuncts
from windrow.plan.nodes import (
    AppendOnly,
    DuplicateElimination,
    Every,
    GroupBy,
    Join,
    LastingJoin,
    LookBack,
    MultiJoin,
    NegativeTuples,
    OutputWindow,
    Projection,
    RelationScan,
    Retimed,
    Selection,
    StageInput,
    Stamped,
    StreamKind,
    StreamScan,
    TopK,
    ToStream,
    Union,
    Unnest,
    Window,
    is_nrr,
)
from windrow.plan.nodes.window_specs import (
    NowWindow,
    RangeWindow,
    RowsWindow,
    SessionWindow,
    WindowSpec,
)
from windrow.plan.strategy import Strategy

VALUES_EACH = 3
"""Values of an ARRAY, of which nothing is known."""


def stream(node: StreamScan, model: Model) -> Cost:
    rate = model.statistics.rate(node.name)
    size = rate * HORIZON
    values = (model.statistics.values(node.name, f.name) for f in node.columns)
    return Cost(Flow(rate, 0, size, tuple(min(v, size) for v in values)), 0)


def relation(node: RelationScan, model: Model) -> Cost:
    size, updates = model.statistics.size(node.name), model.statistics.updates(node.name)
    values = (model.statistics.values(node.name, f.name) for f in node.columns)
    return Cost(Flow(updates / 2, updates / 2, size, tuple(min(v, size) for v in values)), 0)


def stage_input(node: StageInput, _model: Model) -> Cost:
    """Nothing is known of what another stage will send."""
    return Cost(Flow(RATE, 0, RATE, (DISTINCT,) * len(node.schema)), 0)


def window(node: Window, model: Model) -> Cost:
    return apply_window(node.spec, model.of(node.input), model)


def apply_window(spec: WindowSpec, below: Cost, model: Model) -> Cost:
    """What a window leaves of the flow below it."""
    flow, negatives, steps = below.flow, 0.0, 1.0
    match spec:
        case RangeWindow():
            size = flow.inserts * spec.length / model.ticks
            steps = 1 if spec.slide is None else 2
        case NowWindow():
            size = flow.inserts / model.ticks
        case RowsWindow():
            parts = 1.0
            for index in spec.partition_by:
                parts *= flow.distinct[index]
            size, negatives, steps = min(spec.count * parts, flow.size), flow.inserts, 2
        case SessionWindow():  # nobody knows how long sessions are: twice as long as a silence, say
            size, negatives, steps = flow.inserts * 2 * spec.gap / model.ticks, flow.inserts, 2
        case _:
            size = flow.size
    values = tuple(min(d, size) for d in flow.distinct)
    return Cost(Flow(flow.inserts, negatives, size, values), below.total + steps * flow.inserts)


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


def unnest(node: Unnest, model: Model) -> Cost:
    below = model.of(node.input)
    flow = below.flow
    values = (*flow.distinct, *(DISTINCT,) * len(node.columns))
    longer = Flow(
        flow.inserts * VALUES_EACH, flow.negatives * VALUES_EACH, flow.size * VALUES_EACH, values
    )
    return Cost(longer, below.total + flow.tuples * VALUES_EACH)


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
    kept = upkeep(out, node.pattern, model.strategy)
    if direct:  # which keeps its input besides
        kept += model.upkeep_of(node.input, flow)
    return Cost(out, below.total + 2 * flow.inserts + kept)


def top(node: TopK, model: Model) -> Cost:
    below = model.of(node.input)
    flow = below.flow
    events = flow.inserts + max(flow.inserts, flow.negatives)
    groups = 1.0
    for group in node.groups:
        groups *= flow.distinct[group.index] if isinstance(group, Column) else 1.0
    share = min(node.count * groups / max(flow.size, 1.0), 1.0)
    size = min(node.count * groups, flow.size)
    values = (*flow.distinct, *([float(node.count)] if node.numbered else []))
    out = Flow(events * share, events * share, size, tuple(min(d, size) for d in values))
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


def change_time(node: Retimed, model: Model) -> Cost:
    below = model.of(node.input)
    return Cost(below.flow, below.total + 2 * below.flow.inserts)


def look_back(node: LookBack, model: Model) -> Cost:
    below = model.of(node.input)
    more = tuple(below.flow.distinct[column] for column, _ in node.looks)
    flow = replace(below.flow, distinct=(*below.flow.distinct, *more))
    return Cost(flow, below.total + 2 * flow.inserts)


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


def union(node: Union, model: Model) -> Cost:
    parts = [model.of(branch) for branch in node.branches]
    flows = [part.flow for part in parts]
    flow = Flow(
        sum(f.inserts for f in flows),
        sum(f.negatives for f in flows),
        sum(f.size for f in flows),
        tuple(max(same) for same in zip(*(f.distinct for f in flows), strict=True)),
    )
    return Cost(flow, sum(part.total for part in parts))


def join(node: Join, model: Model) -> Cost:
    """Each tuple looks through one bucket of the other side and forms what it finds there."""
    left, right = model.of(node.left), model.of(node.right)
    share, buckets = 1.0, (1.0, 1.0)
    for one, other in zip(node.left_keys, node.right_keys, strict=True):
        values = (max(values_of(one, left.flow), 1.0), max(values_of(other, right.flow), 1.0))
        seen = model.overlap_of((one, node.left), (other, node.right))
        share *= 1 / max(values) if seen is None else sum(f * g for f, g in seen)
        buckets = (buckets[0] * values[0], buckets[1] * values[1])
    if node.buckets:
        buckets = (float(node.buckets), float(node.buckets))
    sizes = (left.flow.size, right.flow.size)
    scanned = [max(s / b, 1.0) for s, b in zip(sizes, buckets, strict=True)]
    found = share
    if node.residual is not None:
        found *= model.statistics.selectivity(node.residual, node.schema)
    work = left.flow.tuples * scanned[1] + right.flow.tuples * scanned[0]
    matched = share * (left.flow.tuples * sizes[1] + right.flow.tuples * sizes[0])
    total = left.total + right.total + work + matched
    size = sizes[0] * sizes[1] * found
    distinct = _joined_values(node, left.flow, right.flow, size)
    for nrr, mine, theirs in ((node.right, left, right), (node.left, right, left)):
        if is_nrr(nrr):  # it alone is kept; the other side passes by
            out = mine.flow.sample(theirs.flow.size * found).with_columns(distinct)
            return Cost(out, total + model.upkeep_of(nrr, theirs.flow))
    out = Flow(
        found * (left.flow.inserts * sizes[1] + right.flow.inserts * sizes[0]),
        found * (left.flow.negatives * sizes[1] + right.flow.negatives * sizes[0]),
        size,
        distinct,
    )
    kept = model.upkeep_of(node.left, left.flow) + model.upkeep_of(node.right, right.flow)
    return Cost(out, total + kept)


def lasting_join(node: LastingJoin, model: Model) -> Cost:
    """The cost of the join; but results leave with their left tuples only.

    So there are as many as are made while a left tuple lives, and those that are withdrawn come
    from negative tuples of the left.
    """
    plain = Join(node.left, node.right, node.left_keys, node.right_keys, node.residual)
    made = join(plain, model)
    left = model.of(node.left).flow
    size = max(made.flow.size, made.flow.inserts * left.size / max(left.inserts, 1e-9))
    negatives = made.flow.inserts * min(left.negatives / max(left.inserts, 1e-9), 1.0)
    return Cost(replace(made.flow, size=size, negatives=negatives), made.total)


def _joined_values(node: Join, left: Flow, right: Flow, size: float) -> tuple[float, ...]:
    """Columns that are keys have the values that both sides have in common (5.3.1)."""
    distinct = [*left.distinct, *right.distinct]
    for one, other in zip(node.left_keys, node.right_keys, strict=True):
        common = min(values_of(one, left), values_of(other, right))
        if isinstance(one, Column):
            distinct[one.index] = common
        if isinstance(other, Column):
            distinct[len(left.distinct) + other.index] = common
    return tuple(min(d, size) for d in distinct)


def windows_of(node: MultiJoin, model: Model) -> list[WindowedStream]:
    """The branches of an n-way join as the formulae of 5.3.1 want them, kept as hash tables."""
    streams = []
    for branch, keys in zip(node.branches, node.keys, strict=True):
        flow = model.of(branch).flow
        values, rate = combined_values(keys, flow), max(flow.inserts, 1e-9)
        buckets = node.buckets or values
        streams.append(WindowedStream(rate, flow.size / rate, values, buckets))
    return streams


def multi_join(node: MultiJoin, model: Model) -> Cost:
    parts = [model.of(branch) for branch in node.branches]
    streams = windows_of(node, model)
    everyone = tuple(range(len(streams)))
    combinations = joined_size(streams, everyone)
    share = 1.0
    if node.residual is not None:
        share = model.statistics.selectivity(node.residual, node.schema)
    total = sum(part.total for part in parts)
    inserts = negatives = 0.0
    for origin, (part, branch) in enumerate(zip(parts, node.branches, strict=True)):
        flow, stream = part.flow, streams[origin]
        again = flow.tuples / stream.rate
        total += again * origin_cost(streams, node.order, origin)
        each = combinations / max(stream.size, 1e-9)
        total += flow.tuples * each + model.upkeep_of(branch, flow)
        inserts += flow.inserts * each * share
        negatives += flow.negatives * each * share
    size = combinations * share
    distinct = tuple(min(d, size) for part in parts for d in part.flow.distinct)
    return Cost(Flow(inserts, negatives, size, distinct), total)
