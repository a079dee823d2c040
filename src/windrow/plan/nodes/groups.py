"""Groups, duplicates and ranks."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from windrow.core.errors import Span
from windrow.core.patterns import UpdatePattern
from windrow.core.schema import Field, Schema, Type
from windrow.plan.expressions import Expression, Named
from windrow.plan.nodes.base import STRICT, WEAK, WEAKEST, Unary


@dataclass(frozen=True)
class Aggregate:
    """One aggregate of a GROUP BY; ``argument`` is None for COUNT(*)."""

    function: str  # SUM COUNT AVG MIN MAX MEDIAN QUANTILE VAR STDDEV
    argument: Expression | None
    name: str
    type: Type
    distinct: bool = False
    parameter: float | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class GroupBy(Unary):
    """One tuple per group: the keys, then the aggregates.

    Without keys there is one group, absent while it is empty. ``every_time`` replaces a group's
    tuple whenever its input changes, also by an equal one: an append-only result counts how
    often a value was produced (3.3.2, 3.4).
    """

    keys: tuple[Named, ...]
    aggregates: tuple[Aggregate, ...]
    every_time: bool = False

    @cached_property
    def schema(self) -> Schema:
        keys = tuple(Field(k.name, k.expression.type, k.qualifier) for k in self.keys)
        return Schema(keys + tuple(Field(a.name, a.type) for a in self.aggregates))

    @property
    def pattern(self) -> UpdatePattern:
        return STRICT


@dataclass(frozen=True)
class DuplicateElimination(Unary):
    """Each distinct tuple once."""

    @cached_property
    def pattern(self) -> UpdatePattern:
        return WEAK if self.input.pattern is WEAKEST else self.input.pattern


@dataclass(frozen=True)
class OrderKey:
    """One expression to order by."""

    expression: Expression
    descending: bool = False


@dataclass(frozen=True)
class TopK(Unary):
    """The first ``count`` tuples in the order of ``keys``."""

    keys: tuple[OrderKey, ...]
    count: int

    @property
    def pattern(self) -> UpdatePattern:
        return STRICT
