"""Alternatives for one node, tried at every place of a plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count

from windrow.plan.nodes import Node
from windrow.plan.rules.inputs import over

Local = Callable[[Node], Iterator[Node]]
"""Equivalents of a node, with the same columns; it looks at the top of the plan only."""


def somewhere(plan: Node, local: Local, above: tuple[type[Node], ...] = ()) -> Iterator[Node]:
    """Every plan in which one node, not below one of ``above``, has one of its alternatives."""
    yield from local(plan)
    if isinstance(plan, above):
        return
    for position, child in enumerate(plan.inputs):
        for changed in somewhere(child, local, above):
            yield with_input(plan, position, changed)


def with_input(node: Node, position: int, child: Node) -> Node:
    """The node with one of its inputs replaced."""
    numbers = count()
    return over(node, lambda old: child if next(numbers) == position else old)
