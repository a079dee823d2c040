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
from windrow.plan.costs import leaves, n_ary, unary
from windrow.plan.costs.flows import Cost, Model, upkeep
from windrow.plan.costs.stream_statistics import StreamStatistics
from windrow.plan.nodes import (
    AppendOnly,
    DuplicateElimination,
    Every,
    GroupBy,
    Join,
    LastingJoin,
    MultiJoin,
    Negation,
    NegativeTuples,
    Node,
    OutputWindow,
    Projection,
    RelationScan,
    Routed,
    Selection,
    SlidingGroupBy,
    StageInput,
    Stamped,
    StreamScan,
    Subscribe,
    TopK,
    ToStream,
    Union,
    Window,
    walk,
)
from windrow.plan.nodes.base import PerNode
from windrow.plan.strategy import Strategy, apply_strategy

COSTS: PerNode[Callable[[Any, Model], Cost]] = PerNode(
    "what a node costs",
    {
        StreamScan: leaves.stream,
        RelationScan: leaves.relation,
        StageInput: leaves.stage_input,
        Window: leaves.window,
        Selection: unary.selection,
        Projection: unary.projection,
        GroupBy: unary.groups,
        SlidingGroupBy: lambda node, model: model.of(node.logical),
        DuplicateElimination: unary.distinct,
        TopK: unary.top,
        Every: unary.every,
        AppendOnly: unary.append_only,
        NegativeTuples: unary.negative_tuples,
        Stamped: unary.stamp,
        ToStream: unary.to_stream,
        OutputWindow: unary.output_window,
        Union: n_ary.union,
        Join: n_ary.join,
        LastingJoin: n_ary.lasting_join,
        MultiJoin: n_ary.multi_join,
        Negation: n_ary.negation,
    },
    absent={
        Subscribe: "the optimiser estimates the plan below it",
        Routed: "plans are shared after they are optimised",
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
