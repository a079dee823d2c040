"""Tuples of one stream for many: each once per query that selects it, or per subscription."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

from windrow.core.patterns import UpdatePattern
from windrow.core.schema import Field, Schema, Type
from windrow.core.time import Clock
from windrow.plan.expressions import Expression, Value
from windrow.plan.nodes.base import Unary
from windrow.plan.nodes.stream_relation import FileSource

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


SUBSCRIPTION = "subscription"


@dataclass(frozen=True)
class Ranges:
    """Where an index is cut (Wu, Chen, Yu 2004, 3.4): part i + 1 begins at the key ``starts[i]``.

    ``place`` says of which of the columns with conditions; keys are integers in the order of its
    values. ``memory`` is how many bytes of parts one worker may hold.
    """

    place: int
    starts: tuple[int, ...]
    memory: int


@dataclass(frozen=True)
class Subscribe(Unary):
    """The subscriptions in ``source``, which have conditions on ``columns`` of the input.

    The input is MONOTONIC, and so is the output: a match is an event, not a state of affairs.
    With a ``cut`` a parallel runner sends each tuple to the part of the index that it falls into.
    """

    source: FileSource
    columns: tuple[int, ...]
    clock: Clock
    cut: Ranges | None = field(default=None, repr=False)

    @cached_property
    def schema(self) -> Schema:
        return Schema((Field(SUBSCRIPTION, Type.STRING), *self.input.schema))

    @property
    def pattern(self) -> UpdatePattern:
        return UpdatePattern.MONOTONIC

    @property
    def attributes(self) -> dict[str, Type]:
        """Name and type of each column that subscriptions speak of."""
        return {self.input.schema[i].name: self.input.schema[i].type for i in self.columns}
