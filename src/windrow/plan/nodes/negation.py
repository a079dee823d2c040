"""What has no match."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from windrow.core.patterns import UpdatePattern
from windrow.core.schema import Schema
from windrow.plan.expressions import Expression
from windrow.plan.nodes.base import STRICT, Matched


class NegationForm(Enum):
    """EXCEPT subtracts bags; NOT EXISTS and NOT IN withdraw a tuple while any match lives."""

    EXCEPT = "EXCEPT"
    NOT_EXISTS = "NOT EXISTS"
    NOT_IN = "NOT IN"


@dataclass(frozen=True)
class Negation(Matched):
    """Left tuples without a match (or in excess of their matches) on the right (2.2.2)."""

    form: NegationForm
    residual: Expression | None = None

    @cached_property
    def schema(self) -> Schema:
        return self.left.schema

    @property
    def pattern(self) -> UpdatePattern:
        return STRICT
