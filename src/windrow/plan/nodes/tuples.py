"""Nodes that take tuples one at a time, and unions of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from windrow.core.patterns import UpdatePattern
from windrow.core.schema import Field, Schema, Type
from windrow.plan.expressions import Expression, Named
from windrow.plan.nodes.base import MONOTONIC, STRICT, WEAK, WEAKEST, Node, Unary
from windrow.plan.nodes.sources import StageInput, StreamScan
from windrow.plan.nodes.window_specs import WindowSpec


@dataclass(frozen=True)
class TupleWise(Unary):
    """What looks at each tuple by itself: lifetimes and order stay (rule 1)."""

    keeps_order: ClassVar[bool] = True

    @property
    def lifetime(self) -> WindowSpec | None:
        return self.input.lifetime


@dataclass(frozen=True)
class Selection(TupleWise):
    """The tuples for which ``predicate`` is true (neither false nor NULL)."""

    predicate: Expression


@dataclass(frozen=True)
class Projection(TupleWise):
    """One output column per expression."""

    columns: tuple[Named, ...]

    @cached_property
    def schema(self) -> Schema:
        return Schema(tuple(Field(c.name, c.expression.type, c.qualifier) for c in self.columns))


@dataclass(frozen=True)
class Union(Node):
    """All tuples of all inputs, as a bag.

    Rule 2 calls the union of two WEAKEST inputs WEAKEST; that holds only if their windows
    are equally long, so windows of different lengths make it WEAK here.
    """

    branches: tuple[Node, ...]

    @property
    def inputs(self) -> tuple[Node, ...]:
        return self.branches

    @cached_property
    def schema(self) -> Schema:
        return self.branches[0].schema

    @cached_property
    def pattern(self) -> UpdatePattern:
        worst = max(b.pattern for b in self.branches)
        return WEAK if worst is WEAKEST and self.lifetime is None else worst

    @property
    def lifetime(self) -> WindowSpec | None:
        lifetimes = {b.lifetime for b in self.branches}
        return lifetimes.pop() if len(lifetimes) == 1 else None


@dataclass(frozen=True)
class Stamped(Unary):
    """The tuples, and behind their own columns the instant at which each came.

    A LastingJoin has to tell equal tuples apart by their history. Of equal rows of a relation
    the one that came first leaves first, so the answer does not depend on how they are kept.
    """

    keeps_order: ClassVar[bool] = True

    @cached_property
    def schema(self) -> Schema:
        return self.input.schema + Schema((Field("came", Type.BIGINT),))

    @cached_property
    def pattern(self) -> UpdatePattern:
        return MONOTONIC if self.input.pattern is MONOTONIC else STRICT


@dataclass(frozen=True)
class NegativeTuples(Unary):
    """Announces every expiry of its input by a negative tuple: the NT strategy (2.3.3)."""

    @property
    def pattern(self) -> UpdatePattern:
        return MONOTONIC if self.input.pattern is MONOTONIC else STRICT


def arrives_in_order(node: Node) -> bool:
    """Whether tuples of one instant stand in the order in which a base stream brought them."""
    while isinstance(node, Unary) and node.keeps_order:
        node = node.input
    if isinstance(node, Union):
        return all(arrives_in_order(branch) for branch in node.branches)
    if isinstance(node, StageInput):
        return node.ordered
    return isinstance(node, StreamScan)
