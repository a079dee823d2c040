"""Subscriptions in a plan: a stream's tuples, each once per subscription that it satisfies."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from windrow.core.patterns import UpdatePattern
from windrow.core.schema import Field, Schema, Type
from windrow.core.time import Clock
from windrow.plan.catalog import FileSource
from windrow.plan.nodes import Unary
from windrow.plan.windows import WindowSpec

SUBSCRIPTION = "subscription"


@dataclass(frozen=True)
class Subscribe(Unary):
    """The subscriptions in ``source``, which have conditions on ``columns`` of the input.

    The input is MONOTONIC, and so is the output: a match is an event, not a state of affairs.
    """

    source: FileSource
    columns: tuple[int, ...]
    clock: Clock

    @cached_property
    def schema(self) -> Schema:
        return Schema((Field(SUBSCRIPTION, Type.STRING), *self.input.schema))

    @property
    def pattern(self) -> UpdatePattern:
        return UpdatePattern.MONOTONIC

    @property
    def lifetime(self) -> WindowSpec | None:
        return None

    @property
    def attributes(self) -> dict[str, Type]:
        """Name and type of each column that subscriptions speak of."""
        return {self.input.schema[i].name: self.input.schema[i].type for i in self.columns}
