"""One selection for many queries: the tuples of its input, each once per query that selects it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

from windrow.core.patterns import UpdatePattern
from windrow.core.schema import Field, Schema, Type
from windrow.plan.expressions import Expression, Value
from windrow.plan.nodes.base import Unary

MEMBER = "__member"


@dataclass(frozen=True)
class Between:
    """From ``low`` to ``high``; None is no bound. Ends are included unless they are open."""

    low: Value = None
    high: Value = None
    low_open: bool = False
    high_open: bool = False


@dataclass(frozen=True)
class Among:
    """One of these."""

    values: tuple[Value, ...]


Asked = Between | Among


@dataclass(frozen=True)
class Attribute:
    """What the predicates speak of: an expression over the selection's input, and the type in
    which its values are compared."""

    expression: Expression
    type: Type


@dataclass(frozen=True)
class Routed(Unary):
    """Tuples of a MONOTONIC input after the number of a query that selects them.

    ``asked[i][j]`` is what query i asks of attribute j. It is left out of the text of the node:
    a run goes on from its checkpoint when queries have left the script (``spark.groups``).
    """

    keeps_order: ClassVar[bool] = True

    attributes: tuple[Attribute, ...]
    asked: tuple[tuple[Asked, ...], ...] = field(repr=False)

    @cached_property
    def schema(self) -> Schema:
        return Schema((Field(MEMBER, Type.BIGINT), *self.input.schema))

    @property
    def pattern(self) -> UpdatePattern:
        return UpdatePattern.MONOTONIC
