"""How what flows along each edge is best kept: partitions of a calendar, search or hash (3.5.2).

A calendar queue has as many partitions as keep one of them short, since the one that is not over
is read at each evaluation, and one is searched for each negative tuple. STRICT tuples are hashed
if that is cheaper than searching: it is the share of premature expiries that decides, and how
long a search takes.

The costs of a search and of a hash are in nanoseconds, measured on tuples of five columns, three
of them strings; only what they are to one another counts.
"""

from __future__ import annotations

from dataclasses import replace

from windrow.core.patterns import UpdatePattern
from windrow.plan.costs.estimate import model_for
from windrow.plan.costs.flows import Flow, Model, StreamStatistics
from windrow.plan.nodes import EdgeState, Node, StrictState
from windrow.plan.nodes.rebuild import map_inputs
from windrow.plan.strategy import Strategy

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
