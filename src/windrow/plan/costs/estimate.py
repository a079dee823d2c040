"""The cost of a whole plan per second (Golab 2006, 3.5.3).

Each operator pays for processing what comes, negative tuples as well as positive ones, and for
keeping what it must remember in the buffer that its strategy gives it. ``Flow`` estimates what
an edge carries. The figures are meant for comparing plans of one query: only what differs
between such plans has to be right.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from windrow.core.patterns import UpdatePattern
from windrow.core.time import Clock
from windrow.plan.costs import node_costs
from windrow.plan.costs.flows import Cost, Flow, Model, StreamStatistics, upkeep
from windrow.plan.nodes import (
    AppendOnly,
    ConstantRows,
    DuplicateElimination,
    Every,
    GroupBy,
    Join,
    LastingJoin,
    LookBack,
    MultiJoin,
    Negation,
    NegativeTuples,
    Node,
    OutputWindow,
    Projection,
    RelationScan,
    Retimed,
    Routed,
    Selection,
    SharedGroupBy,
    SharedTop,
    SlidingGroupBy,
    StageInput,
    Stamped,
    StreamScan,
    Subscribe,
    TopK,
    ToStream,
    Union,
    Unnest,
    Window,
    walk,
)
from windrow.plan.nodes.base import PerNode
from windrow.plan.strategy import Strategy, apply_strategy


def _constant_rows(node: ConstantRows, _model: Model) -> Cost:
    """They come once, before everything else."""
    values = (float(len(set(column))) for column in zip(*node.rows, strict=True))
    return Cost(Flow(0, 0, len(node.rows), tuple(values)), 0)


COSTS: PerNode[Callable[[Any, Model], Cost]] = PerNode(
    "what a node costs",
    {
        StreamScan: node_costs.stream,
        RelationScan: node_costs.relation,
        ConstantRows: _constant_rows,
        StageInput: node_costs.stage_input,
        Window: node_costs.window,
        Selection: node_costs.selection,
        Projection: node_costs.projection,
        Unnest: node_costs.unnest,
        GroupBy: node_costs.groups,
        SlidingGroupBy: lambda node, model: model.of(node.logical),
        DuplicateElimination: node_costs.distinct,
        TopK: node_costs.top,
        Every: node_costs.every,
        AppendOnly: node_costs.append_only,
        NegativeTuples: node_costs.negative_tuples,
        Stamped: node_costs.stamp,
        LookBack: node_costs.look_back,
        Retimed: node_costs.change_time,
        ToStream: node_costs.to_stream,
        OutputWindow: node_costs.output_window,
        Union: node_costs.union,
        Join: node_costs.join,
        LastingJoin: node_costs.lasting_join,
        MultiJoin: node_costs.multi_join,
        Negation: node_costs.negation,
    },
    absent={
        Subscribe: "the optimiser estimates the plan below it",
        Routed: "plans are shared after they are optimised",
        SharedGroupBy: "plans are shared after they are optimised",
        SharedTop: "plans are shared after they are optimised",
    },
)


def cost(
    plan: Node, statistics: StreamStatistics | None = None, strategy: Strategy = Strategy.UPA
) -> float:
    """Steps per second of the plan under the strategy, keeping its result included."""
    running = apply_strategy(plan, strategy)
    top = model_for(running, statistics, strategy).of(running)
    kept = running.pattern is not UpdatePattern.MONOTONIC
    return top.total + (upkeep(top.flow, running.pattern, strategy) if kept else 0.0)


def model_for(plan: Node, statistics: StreamStatistics | None, strategy: Strategy) -> Model:
    """What estimates the sub-plans of ``plan``, each of them once."""
    clocks = {n.clock for n in walk(plan) if isinstance(n, StreamScan)}
    ticks = (clocks.pop() if clocks else Clock.INTEGER).ticks_per_second

    @cache
    def of(node: Node) -> Cost:
        return COSTS[node](node, model)

    model = Model(statistics or StreamStatistics(), strategy, ticks, of)
    return model
