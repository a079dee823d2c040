"""What flows along an edge of a plan per second, and what it costs to keep it.

It begins with what is known about the streams of a plan, and what is assumed where nothing is. One
unit of cost is one simple step on one tuple: a comparison, an insertion, a removal.

Figures are known of columns of streams; `source_column` says which of them an expression of a plan
is. A checkpoint keeps them as what JSON can hold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from math import exp
from typing import Any

from windrow.core.patterns import UpdatePattern
from windrow.core.schema import Schema
from windrow.plan.expressions import Call, Column, Expression, columns_of, conjuncts, render
from windrow.plan.nodes import (
    Join,
    MatchFlag,
    Negation,
    NegativeTuples,
    Node,
    Projection,
    RelationScan,
    Selection,
    StreamScan,
    Window,
)
from windrow.plan.strategy import Strategy

RATE = 100.0
"""Tuples per second of a stream that nobody has measured."""
DISTINCT = 1_000.0
"""Values of a column that nobody has measured."""
RELATION_SIZE, RELATION_UPDATES = 1_000.0, 0.01
ASSUMED = {"eq": 0.05, "ne": 0.95, "is_null": 0.05, "like": 0.25, "ilike": 0.25, "in": 0.15}
"""Share of the tuples that pass a comparison, by its function; any other: one in three."""
OTHERWISE = 1 / 3
SCANS = 20.0
"""How often the DIRECT strategy looks through a window while its length passes: at every
twentieth of it, which is how often the experiments of Golab 2006, 3.6 purge state."""
LOOK = 0.125
"""To look at a tuple in a scan, in steps: a scan is one pass over an array of expiries."""
HORIZON = 3_600.0
"""An unbounded stream counts as a window of one hour."""


SourceColumn = tuple[str, str]
"""A stream and a column of it."""
Overlap = tuple[tuple[float, float], ...]
"""Of values that are about equally frequent on the other side: which share of its tuples has one
of them, and which share of one's own tuples they have together."""


def overlap_key(one: SourceColumn, other: SourceColumn) -> str:
    """The name of an overlap.

    >>> overlap_key(("Link1", "src"), ("link2", "src"))
    'link1.src=link2.src'
    """
    return "=".join(f"{stream}.{column}".lower() for stream, column in (one, other))


@dataclass(frozen=True)
class StreamStatistics:
    """Observed figures; each of them may be missing.

    ``rates`` are tuples per second by stream (updates per second by relation), ``distinct`` the
    values of a column in use at one time by ``stream.column``, ``selectivities`` the share of
    tuples that pass a condition by its text as EXPLAIN prints it, ``sizes`` the rows of a
    relation, ``overlaps`` how the values of one column are spread over another, by
    ``stream.column=stream.column``. Names are in lower case.
    """

    rates: Mapping[str, float] = field(default_factory=dict)
    distinct: Mapping[str, float] = field(default_factory=dict)
    selectivities: Mapping[str, float] = field(default_factory=dict)
    sizes: Mapping[str, float] = field(default_factory=dict)
    overlaps: Mapping[str, Overlap] = field(default_factory=dict)

    def rate(self, stream: str) -> float:
        return self.rates.get(stream.lower(), RATE)

    def updates(self, relation: str) -> float:
        return self.rates.get(relation.lower(), RELATION_UPDATES)

    def size(self, relation: str) -> float:
        return self.sizes.get(relation.lower(), RELATION_SIZE)

    def values(self, source: str, column: str) -> float:
        return self.distinct.get(f"{source}.{column}".lower(), DISTINCT)

    def overlap(self, one: SourceColumn | None, other: SourceColumn | None) -> Overlap | None:
        """How values of ``one`` are spread over ``other``, if that was seen."""
        if one is None or other is None:
            return None
        return self.overlaps.get(overlap_key(one, other))

    def selectivity(self, predicate: Expression, schema: Schema) -> float:
        """The share that passes all parts of a conjunction, taken as independent."""
        share = 1.0
        for part in conjuncts(predicate):
            known = self.selectivities.get(render(part, schema))
            share *= known if known is not None else _assume_selectivity(part)
        return share


def _assume_selectivity(predicate: Expression) -> float:
    if not isinstance(predicate, Call):
        return OTHERWISE
    match predicate.function:
        case "and":
            return _assume_selectivity(predicate.args[0]) * _assume_selectivity(predicate.args[1])
        case "or":
            failing = (1 - _assume_selectivity(predicate.args[0])) * (
                1 - _assume_selectivity(predicate.args[1])
            )
            return 1 - failing
        case "not":
            return 1 - _assume_selectivity(predicate.args[0])
        case function:
            return ASSUMED.get(function, OTHERWISE)


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
            return flow.inserts * (1 + SCANS * LOOK if strategy is Strategy.DIRECT else 3)
        case UpdatePattern.STRICT:
            foreseen = max(flow.inserts - flow.negatives, 0.0)
            looked_for = SCANS * LOOK if strategy is Strategy.DIRECT else 2.0
            return 2 * flow.inserts + 3 * flow.negatives + foreseen * looked_for


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

    def overlap_of(
        self, one: tuple[Expression, Node], other: tuple[Expression, Node]
    ) -> Overlap | None:
        """How the values of a key of one input are spread over another's, if that was seen."""
        return self.statistics.overlap(source_column(*one), source_column(*other))


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


def source_column(expression: Expression, node: Node) -> SourceColumn | None:
    """Where the value of an expression over what ``node`` gives was read; None if computed."""
    if not isinstance(expression, Column):
        return None
    index = expression.index
    match node:
        case StreamScan() | RelationScan():
            return node.name.lower(), node.columns[index].name.lower()
        case Projection(input=below, columns=columns):
            return source_column(columns[index].expression, below)
        case Selection(input=below) | Window(input=below) | NegativeTuples(input=below):
            return source_column(expression, below)
        case Negation(left=left):
            return source_column(expression, left)
        case MatchFlag(left=left):
            return source_column(expression, left) if index < len(left.schema) else None
        case Join(left=left, right=right):
            own = len(left.schema)
            if index < own:
                return source_column(expression, left)
            moved = Column(index - own, expression.name, expression.type)
            return source_column(moved, right)
        case _:
            return None


FIGURES = ("rates", "distinct", "selectivities", "sizes")


def statistics_record(statistics: StreamStatistics) -> dict[str, Any]:
    """The figures as plain values.

    >>> record = statistics_record(StreamStatistics({"s": 5.0}, overlaps={"s.a=t.a": ((0.1, 1),)}))
    >>> statistics_from(record).overlaps
    {'s.a=t.a': ((0.1, 1.0),)}
    """
    return asdict(statistics)


def statistics_from(record: dict[str, Any]) -> StreamStatistics:
    """The figures of a record; KeyError, TypeError or ValueError if it is none."""
    figures = {name: {str(k): float(v) for k, v in record[name].items()} for name in FIGURES}
    overlaps = {
        str(key): tuple((float(one), float(other)) for one, other in pairs)
        for key, pairs in record["overlaps"].items()
    }
    return StreamStatistics(**figures, overlaps=overlaps)
