"""The cost of a whole plan per second (Golab 2006, 3.5.3), and the cheapest state for its edges.

Each operator pays for processing what comes, negative tuples as well as positive ones, and for
keeping what it must remember in the buffer that its strategy gives it. ``Flow`` estimates what an
edge carries. The figures are meant for comparing plans of one query: only what differs between such
plans has to be right.

What flows along an edge is kept in partitions of a calendar, searched or hashed (3.5.2). A calendar
queue has as many partitions as keep one of them short, since the one that is not over is read at
each evaluation, and one is searched for each negative tuple. STRICT tuples are hashed if that is
cheaper than searching: it is the share of premature expiries that decides, and how long a search
takes.

The costs of a search and of a hash are in nanoseconds, measured on tuples of five columns, three of
them strings; only what they are to one another counts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

from windrow.core.patterns import UpdatePattern
from windrow.core.time import Clock
from windrow.plan.costs import match_costs, node_costs
from windrow.plan.costs.flows import Cost, Flow, Model, StreamStatistics, upkeep
from windrow.plan.nodes import (
    AppendOnly,
    ConstantRows,
    DuplicateElimination,
    EdgeState,
    Every,
    GroupBy,
    Join,
    JoinLengths,
    LastingJoin,
    LookBack,
    MatchFlag,
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
    StrictState,
    Subscribe,
    TopK,
    ToStream,
    Union,
    Unnest,
    Window,
    walk,
)
from windrow.plan.nodes.base import PerNode
from windrow.plan.nodes.rebuild import map_inputs
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
        Negation: match_costs.negation,
        MatchFlag: match_costs.match_flag,
    },
    absent={
        Subscribe: "the optimiser estimates the plan below it",
        Routed: "plans are shared after they are optimised",
        JoinLengths: "plans are shared after they are optimised",
        SharedGroupBy: "plans are shared after they are optimised",
        SharedTop: "plans are shared after they are optimised",
    },
)


def cost(
    plan: Node, statistics: StreamStatistics | None = None, strategy: Strategy = Strategy.UPA
) -> float:
    """Steps per second of the plan under the strategy, keeping its result included."""
    return cost_by(model_for(plan, statistics, strategy), plan)


def cost_by(model: Model, plan: Node) -> float:
    """The same by a model, which estimates what several plans have in common once."""
    running = apply_strategy(plan, model.strategy)
    top = model.of(running)
    kept = running.pattern is not UpdatePattern.MONOTONIC
    return top.total + (upkeep(top.flow, running.pattern, model.strategy) if kept else 0.0)


def model_for(plan: Node, statistics: StreamStatistics | None, strategy: Strategy) -> Model:
    """What estimates the sub-plans of ``plan``, each of them once."""
    clocks = {n.clock for n in walk(plan) if isinstance(n, StreamScan)}
    ticks = (clocks.pop() if clocks else Clock.INTEGER).ticks_per_second

    @cache
    def of(node: Node) -> Cost:
        return COSTS[node](node, model)

    model = Model(statistics or StreamStatistics(), strategy, ticks, of)
    return model


PER_PARTITION = 500
"""Tuples of a partition at most, as long as there are few partitions."""
STEPS = (10, 20, 50, 100, 200, 500, 1_000, 2_000)
"""How many partitions there may be."""
SEARCH, SEARCH_EACH, COMPARE_EACH = 2_500.0, 10.0, 200.0
"""To search for one tuple, for each tuple of its partition, for each that expires with it."""
HASH = 1_300.0
"""To hash a tuple, when it comes or when it is withdrawn."""


def choose_edge_states(
    plan: Node, statistics: StreamStatistics, strategy: Strategy = Strategy.UPA
) -> Node:
    """The plan with the state of each edge chosen by what is known of the streams."""
    return _choose(plan, model_for(plan, statistics, strategy))


def _choose(node: Node, model: Model) -> Node:
    changed = map_inputs(node, lambda child: _choose(child, model))
    if node.pattern in (UpdatePattern.WEAK, UpdatePattern.STRICT):
        return replace(changed, edge=state_for(model.of(node).flow, node.pattern, model.ticks))
    return changed


def state_for(flow: Flow, pattern: UpdatePattern, ticks: int = 1) -> EdgeState:
    """The state of an edge with this flow; the clock has so many ``ticks`` per second."""
    partitions = partitions_for(flow.size)
    if pattern is not UpdatePattern.STRICT:
        return EdgeState(partitions)
    premature = premature_share(flow)
    together = flow.inserts / ticks
    search = SEARCH + SEARCH_EACH * flow.size / partitions + COMPARE_EACH * together
    cheaper = premature * search < (1 + premature) * HASH
    return EdgeState(partitions, StrictState.SEARCHED if cheaper else StrictState.HASHED, premature)


def partitions_for(size: float) -> int:
    """How many partitions a calendar queue of so many tuples has.

    >>> [partitions_for(size) for size in (100, 6_000, 200_000, 10**9)]
    [10, 20, 500, 2000]
    """
    wanted = size / PER_PARTITION
    return next((step for step in STEPS if step >= wanted), STEPS[-1])


def premature_share(flow: Flow) -> float:
    """The share of tuples that a negative tuple ends before they expire."""
    return min(flow.negatives / flow.inserts, 1.0) if flow.inserts > 0 else 0.0
