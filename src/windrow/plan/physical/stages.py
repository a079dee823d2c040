"""Stages of a plan: runs of operators that agree on where a tuple is to be.

A parallel runner spreads the tuples of a stage over buckets, and an operator sees one bucket only.
``cut_stages`` says how a plan becomes stages; here is what they are.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from windrow.plan.expressions import Column, Expression
from windrow.plan.nodes import Node, Subscribe


@dataclass(frozen=True)
class RangeKey:
    """A bucket for each range of a column's values; see ``windrow.plan.nodes.subscribe.Ranges``."""

    column: Column
    starts: tuple[int, ...]


Hashed = tuple[Expression, ...] | None
"""A bucket is chosen by a hash of these; None is the single bucket."""
Key = Hashed | RangeKey


@dataclass(frozen=True)
class StageEdge:
    """An input of a stage, and the leaf of the stage's plan with the same ``name``.

    ``source`` is the name of a stream or relation, or the number of the stage whose output this
    is. ``pre`` is evaluated by the sender; ``key`` is over its result. ``post`` is evaluated by the
    receiver, and is what the leaf stands for: a match needs no state but a part of an index.
    """

    name: str
    source: str | int
    pre: Node
    key: Key
    post: Subscribe | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Stage:
    """Operators that share their buckets; every leaf of ``plan`` is the StageInput of an edge."""

    number: int
    plan: Node
    inputs: tuple[StageEdge, ...]
