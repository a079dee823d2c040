"""Plans rebuilt: a node over other inputs, or one node of a plan replaced by an equivalent."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import count

from windrow.plan.nodes import (
    EdgeState,
    GroupBy,
    Join,
    LastingJoin,
    MatchFlag,
    MultiJoin,
    Negation,
    Node,
    SlidingGroupBy,
    Unary,
    Union,
)

LocalRule = Callable[[Node], Iterator[Node]]
"""Equivalents of a node, with the same columns; it looks at the top of the plan only."""


def map_inputs(node: Node, change: Callable[[Node], Node]) -> Node:
    """The node with each of its inputs passed through ``change``."""
    match node:
        case Join() | LastingJoin() | MatchFlag() | Negation():
            return replace(node, left=change(node.left), right=change(node.right))
        case Union() | MultiJoin():
            return replace(node, branches=tuple(change(b) for b in node.branches))
        case Unary():
            return replace(node, input=change(node.input))
    return node


def with_inputs(node: Node, inputs: Sequence[Node]) -> Node:
    """The node over other inputs, given in its order of them."""
    following = iter(inputs)
    return map_inputs(node, lambda _: next(following))


def with_input(node: Node, position: int, child: Node) -> Node:
    """The node with one of its inputs replaced."""
    numbers = count()
    return map_inputs(node, lambda old: child if next(numbers) == position else old)


def rewrite_anywhere(
    plan: Node, local: LocalRule, above: tuple[type[Node], ...] = ()
) -> Iterator[Node]:
    """Every plan in which one node, not below one of ``above``, has one of its alternatives."""
    yield from local(plan)
    if isinstance(plan, above):
        return
    for position, child in enumerate(plan.inputs):
        for changed in rewrite_anywhere(child, local, above):
            yield with_input(plan, position, changed)


def without_spans(plan: Node) -> Node:
    """The same plan without positions in a script."""
    node = replace(map_inputs(plan, without_spans), span=None)
    if isinstance(node, GroupBy | SlidingGroupBy):
        return replace(node, aggregates=tuple(replace(a, span=None) for a in node.aggregates))
    return node


def keep_edges_as(plan: Node, state: EdgeState) -> Node:
    """The same plan with ``state`` chosen for all its edges."""
    return replace(map_inputs(plan, lambda child: keep_edges_as(child, state)), edge=state)
