"""Where tuples come from: streams, relations, windows, the output of a stage."""

from __future__ import annotations

from windrow.plan.costs.flows import HORIZON, Cost, Flow, Model
from windrow.plan.costs.stream_statistics import DISTINCT, RATE
from windrow.plan.nodes import RelationScan, StageInput, StreamScan, Window
from windrow.plan.nodes.window_specs import NowWindow, RangeWindow, RowsWindow, WindowSpec


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
        case _:
            size = flow.size
    values = tuple(min(d, size) for d in flow.distinct)
    return Cost(Flow(flow.inserts, negatives, size, values), below.total + steps * flow.inserts)
