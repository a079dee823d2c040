"""What the estimates of all kinds of nodes share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from windrow.plan.costs.flows import Flow, upkeep
from windrow.plan.costs.stream_statistics import StreamStatistics
from windrow.plan.expressions import Column, Expression, columns_of
from windrow.plan.nodes import Node
from windrow.plan.strategy import Strategy

HORIZON = 3_600.0
"""An unbounded stream counts as a window of one hour."""


@dataclass(frozen=True)
class Cost:
    """The flow out of a node, and the steps per second of the node and all below it."""

    flow: Flow
    total: float


@dataclass(frozen=True)
class Model:
    """``of`` estimates a sub-plan; ``ticks`` are the clock's ticks per second."""

    statistics: StreamStatistics
    strategy: Strategy
    ticks: int
    of: Callable[[Node], Cost]

    def upkeep_of(self, node: Node, flow: Flow) -> float:
        """Steps per second for keeping what ``node`` puts out."""
        return upkeep(flow, node.pattern, self.strategy)


def values_of(expression: Expression, flow: Flow) -> float:
    """How many values an expression takes: at most the combinations of its columns' values."""
    if isinstance(expression, Column):
        return flow.distinct[expression.index]
    values = 1.0
    for column in {c.index for c in columns_of(expression)}:
        values *= max(flow.distinct[column], 1.0)
    return min(values, max(flow.size, 1.0))


def combined_values(expressions: tuple[Expression, ...], flow: Flow) -> float:
    """How many combinations of values several expressions take; at least one."""
    values = 1.0
    for expression in expressions:
        values *= max(values_of(expression, flow), 1.0)
    return min(values, max(flow.size, 1.0))
