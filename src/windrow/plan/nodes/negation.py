"""What has no match."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from windrow.core.patterns import UpdatePattern
from windrow.core.schema import Schema
from windrow.plan.expressions import Expression
from windrow.plan.nodes.base import STRICT, Node


class NegationForm(Enum):
    """EXCEPT subtracts bags; NOT EXISTS and NOT IN withdraw a tuple while any match lives."""

    EXCEPT = "EXCEPT"
    NOT_EXISTS = "NOT EXISTS"
    NOT_IN = "NOT IN"


@dataclass(frozen=True)
class Negation(Node):
    """Left tuples without a match (or in excess of their matches) on the right (2.2.2)."""

    left: Node
    right: Node
    left_keys: tuple[Expression, ...]
    right_keys: tuple[Expression, ...]
    form: NegationForm
    residual: Expression | None = None

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.left, self.right)

    @cached_property
    def schema(self) -> Schema:
        return self.left.schema

    @property
    def pattern(self) -> UpdatePattern:
        return STRICT
