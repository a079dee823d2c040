"""Nodes rebuilt over other inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from windrow.plan.nodes import (
    GroupBy,
    Join,
    LastingJoin,
    MultiJoin,
    Negation,
    Node,
    Unary,
    Union,
)


def over(node: Node, change: Callable[[Node], Node]) -> Node:
    """The node with each of its inputs passed through ``change``."""
    match node:
        case Join() | LastingJoin() | Negation():
            return replace(node, left=change(node.left), right=change(node.right))
        case Union() | MultiJoin():
            return replace(node, branches=tuple(change(b) for b in node.branches))
        case Unary():
            return replace(node, input=change(node.input))
    return node


def with_inputs(node: Node, inputs: Sequence[Node]) -> Node:
    """The node over other inputs, given in its order of them."""
    following = iter(inputs)
    return over(node, lambda _: next(following))


def without_places(plan: Node) -> Node:
    """The same plan without positions in a script."""
    node = replace(over(plan, without_places), span=None)
    if isinstance(node, GroupBy):
        return replace(node, aggregates=tuple(replace(a, span=None) for a in node.aggregates))
    return node
