"""What is known about the streams of a plan, and what is assumed where nothing is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from windrow.core.schema import Schema
from windrow.plan.expressions import Call, Expression, conjuncts, render

RATE = 100.0
"""Tuples per second of a stream that nobody has measured."""
DISTINCT = 1_000.0
"""Values of a column that nobody has measured."""
RELATION_SIZE, RELATION_UPDATES = 1_000.0, 0.01
ASSUMED = {"eq": 0.05, "ne": 0.95, "is_null": 0.05, "like": 0.25, "ilike": 0.25, "in": 0.15}
"""Share of the tuples that pass a comparison, by its function; any other: one in three."""
OTHERWISE = 1 / 3


@dataclass(frozen=True)
class StreamStatistics:
    """Observed figures; each of them may be missing.

    ``rates`` are tuples per second by stream (updates per second by relation), ``distinct`` the
    values of a column in use at one time by ``stream.column``, ``selectivities`` the share of
    tuples that pass a condition by its text as EXPLAIN prints it, ``sizes`` the rows of a
    relation. Names are in lower case.
    """

    rates: Mapping[str, float] = field(default_factory=dict)
    distinct: Mapping[str, float] = field(default_factory=dict)
    selectivities: Mapping[str, float] = field(default_factory=dict)
    sizes: Mapping[str, float] = field(default_factory=dict)

    def rate(self, stream: str) -> float:
        return self.rates.get(stream.lower(), RATE)

    def updates(self, relation: str) -> float:
        return self.rates.get(relation.lower(), RELATION_UPDATES)

    def size(self, relation: str) -> float:
        return self.sizes.get(relation.lower(), RELATION_SIZE)

    def values(self, source: str, column: str) -> float:
        return self.distinct.get(f"{source}.{column}".lower(), DISTINCT)

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
