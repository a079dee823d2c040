"""What flows along an edge of a plan per second, and what it costs to keep it.

One unit is one simple step on one tuple: a comparison, an insertion, a removal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import exp

from windrow.core.patterns import UpdatePattern
from windrow.plan.costs.stream_statistics import StreamStatistics
from windrow.plan.expressions import Column, Expression, columns_of
from windrow.plan.nodes import Node
from windrow.plan.strategy import Strategy

SCANS = 20.0
"""How often the DIRECT strategy looks through a window while its length passes: at every
twentieth of it, which is how often the experiments of Golab 2006, 3.6 purge state."""


@dataclass(frozen=True)
class Flow:
    """Insertions and negative tuples per second, live tuples, and values in use by column."""

    inserts: float
    negatives: float
    size: float
    distinct: tuple[float, ...]

    @property
    def tuples(self) -> float:
        """All tuples that an operator on this edge has to process."""
        return self.inserts + self.negatives

    @property
    def lifetime(self) -> float:
        """How long a tuple lives, in seconds (Little's law)."""
        return self.size / self.inserts if self.inserts else 0.0

    def sample(self, share: float) -> Flow:
        """The flow of a random sample; values become fewer as tuples do."""
        size = self.size * share
        return Flow(
            self.inserts * share,
            self.negatives * share,
            size,
            tuple(present(d, size) for d in self.distinct),
        )

    def with_columns(self, distinct: tuple[float, ...]) -> Flow:
        return replace(self, distinct=distinct)


def present(values: float, size: float) -> float:
    """How many of so many values occur among so many tuples that choose theirs at random."""
    if values <= 0 or size <= 0:
        return 0.0
    return values * (1 - exp(-size / values))


def upkeep(flow: Flow, pattern: UpdatePattern, strategy: Strategy) -> float:
    """Steps per second for keeping the live tuples of an edge in the buffer of its pattern.

    A list only grows. A FIFO buffer gives up its oldest part. A calendar queue files a tuple
    under its expiry and empties one day at a time. A hash table finds the tuple that a negative
    one withdraws, and has to be asked for the rest. DIRECT knows arrival order only, and so looks
    through what does not expire in that order again and again.
    """
    match pattern:
        case UpdatePattern.MONOTONIC:
            return flow.inserts
        case UpdatePattern.WEAKEST:
            return 2 * flow.inserts
        case UpdatePattern.WEAK:
            return flow.inserts * (1 + SCANS if strategy is Strategy.DIRECT else 3)
        case UpdatePattern.STRICT:
            foreseen = max(flow.inserts - flow.negatives, 0.0)
            looked_for = SCANS if strategy is Strategy.DIRECT else 2.0
            return 2 * flow.inserts + 3 * flow.negatives + foreseen * looked_for


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
