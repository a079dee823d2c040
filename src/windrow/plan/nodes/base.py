"""What all nodes have in common, and tables with an entry for each kind of node.

A node says how the tuples that leave it are to be kept, as the optimiser chose it (3.5.2). An edge
is what leaves a node. Without a choice, because nothing is known of the streams, state is kept in
the way that is never bad.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from functools import cached_property
from typing import Any, ClassVar, Generic, TypeVar

from windrow.core.errors import Span
from windrow.core.patterns import UpdatePattern
from windrow.core.schema import Schema
from windrow.plan.expressions import Expression
from windrow.plan.nodes.window_specs import WindowSpec

MONOTONIC, WEAKEST = UpdatePattern.MONOTONIC, UpdatePattern.WEAKEST
WEAK, STRICT = UpdatePattern.WEAK, UpdatePattern.STRICT
Entry = TypeVar("Entry")


@dataclass(frozen=True, kw_only=True)
class Node:
    """Base of all plan nodes; ``span`` is where in the script it comes from.

    ``edge`` is how what leaves it is kept, if that was chosen. Like ``span`` it is no part of what
    the node means, so plans that differ in it are equal. A plan is hashed once, however often its
    parts are looked up.
    """

    span: Span | None = field(default=None, compare=False, repr=False)
    edge: EdgeState | None = field(default=None, compare=False, repr=False)

    def __init_subclass__(cls) -> None:
        type.__setattr__(cls, "__hash__", Node.__hash__)  # or each class gets one that walks

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((type(self), *(getattr(self, f.name) for f in fields(self) if f.compare)))

    def __getstate__(self) -> dict[str, Any]:
        """Another process hashes texts in another way."""
        return {name: value for name, value in self.__dict__.items() if name != "_hash"}

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


class PerNode(Generic[Entry]):
    """Entries by the class of a node. ``absent`` says of some kinds why they never come here.

    Plans are drawn, estimated, cut into stages, turned into operators: each of these has to know
    every kind of node. A table that leaves a kind out is found by a test
    (``tests/plan/nodes/test_every_node_is_known.py``), not by the first plan that has such a node.
    """

    tables: ClassVar[list[PerNode[Any]]] = []
    """All tables of the modules that are imported."""

    def __init__(
        self,
        purpose: str,
        entries: Mapping[type[Node], Entry],
        absent: Mapping[type[Node], str] | None = None,
    ) -> None:
        self.purpose, self.entries, self.absent = purpose, dict(entries), dict(absent or {})
        PerNode.tables.append(self)

    def __getitem__(self, node: Node) -> Entry:
        entry = self.entries.get(type(node))
        if entry is None:
            reason = self.absent.get(type(node), "unknown kind of node")
            raise TypeError(f"{self.purpose}: {type(node).__name__} has no entry ({reason})")
        return entry


PARTITIONS = 500
"""Partitions of a calendar queue if nothing is known of what it will hold."""


class StrictState(Enum):
    """What finds STRICT tuples that expire, and those that a negative tuple withdraws.

    ``SEARCHED``: a calendar queue; a negative tuple looks through the partition of its expiry.
    ``HASHED``: besides the calendar there is a hash on the tuple, which every tuple pays for.
    """

    SEARCHED = "searched"
    HASHED = "hashed"


@dataclass(frozen=True)
class EdgeState:
    """``partitions`` of a calendar queue, the way for STRICT tuples, and why: the ``premature``
    share of expiries that was expected."""

    partitions: int = PARTITIONS
    strict: StrictState = StrictState.HASHED
    premature: float | None = None
