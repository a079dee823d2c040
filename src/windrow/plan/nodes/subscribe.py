"""Subscriptions in a plan: a stream's tuples, each once per subscription that it satisfies."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from windrow.core.patterns import UpdatePattern
from windrow.core.schema import Field, Schema, Type
from windrow.core.time import Clock
from windrow.plan.nodes.base import Unary
from windrow.plan.nodes.sources import FileSource

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
