"""GROUP BY over a join of two windows, for queries whose windows differ in length only."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from windrow.core.patterns import UpdatePattern
from windrow.core.schema import Field, Schema, Type
from windrow.plan.expressions import Named
from windrow.plan.nodes.base import STRICT, Unary
from windrow.plan.nodes.relational import Aggregate
from windrow.plan.nodes.routed import MEMBER


@dataclass(frozen=True)
class JoinLengths(Unary):
    """The input are results of a join of windows that slide by ``s`` and have the ``longest`` of
    the ``lengths``, each with its expiry: of a member with shorter windows a result expires so
    much earlier, or never comes (Golab 2006, 8.3.2).

    The output is a member's number, which is the place of its length, and what a ``GroupBy`` over
    a join of windows of that length gives. One whose length is 0 has gone.
    """

    keys: tuple[Named, ...]
    aggregates: tuple[Aggregate, ...]
    s: int
    longest: int
    lengths: tuple[int, ...] = field(repr=False)

    @property
    def b(self) -> int:
        """How many sub-windows the longest window has."""
        return self.longest // self.s

    @cached_property
    def schema(self) -> Schema:
        keys = tuple(Field(k.name, k.expression.type, k.qualifier) for k in self.keys)
        aggregates = tuple(Field(a.name, a.type) for a in self.aggregates)
        return Schema((Field(MEMBER, Type.BIGINT), *keys, *aggregates))

    @property
    def pattern(self) -> UpdatePattern:
        return STRICT
