"""What all nodes have in common."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

from windrow.core.errors import Span
from windrow.core.patterns import UpdatePattern
from windrow.core.schema import Schema
from windrow.plan.expressions import Expression
from windrow.plan.nodes.window_specs import WindowSpec

MONOTONIC, WEAKEST = UpdatePattern.MONOTONIC, UpdatePattern.WEAKEST
WEAK, STRICT = UpdatePattern.WEAK, UpdatePattern.STRICT


@dataclass(frozen=True, kw_only=True)
class Node:
    """Base of all plan nodes; ``span`` is where in the script it comes from."""

    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def inputs(self) -> tuple[Node, ...]:
        return ()

    @property
    def schema(self) -> Schema:
        raise TypeError(f"{type(self).__name__} has no schema")

    @property
    def pattern(self) -> UpdatePattern:
        raise TypeError(f"{type(self).__name__} has no update pattern")

    @property
    def lifetime(self) -> WindowSpec | None:
        """The one time window that gave every live tuple here its expiry, if there is just one."""
        return None


@dataclass(frozen=True)
class Unary(Node):
    """One input, whose columns and update pattern it keeps unless it says otherwise."""

    keeps_order: ClassVar[bool] = False
    """Whether tuples of one instant leave in the order in which they came."""

    input: Node

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @cached_property
    def schema(self) -> Schema:
        return self.input.schema

    @cached_property
    def pattern(self) -> UpdatePattern:
        return self.input.pattern


@dataclass(frozen=True)
class Matched(Node):
    """Two inputs, whose tuples match if their keys are equal; there may be no keys."""

    left: Node
    right: Node
    left_keys: tuple[Expression, ...]
    right_keys: tuple[Expression, ...]

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.left, self.right)


def walk(node: Node) -> Iterator[Node]:
    """The node and everything below it, the node first."""
    yield node
    for child in node.inputs:
        yield from walk(child)
