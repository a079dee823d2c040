"""Where the end of every tuple is announced by a negative tuple.

A tuple's end is known when it comes, or it is announced when it happens (Golab 2006, 3.1). A
group's row, or one of the first k, ends when another takes its place, which nobody knows before:
such operators send a negative tuple for each, and let none expire. What reads them to show changes
need not remember what there is.
"""

from __future__ import annotations

from windrow.plan.nodes import (
    GroupBy,
    NegativeTuples,
    Node,
    Projection,
    Selection,
    SharedGroupBy,
    SlidingGroupBy,
    TopK,
)


def announces_ends(node: Node) -> bool:
    """Whether no tuple of ``node`` ends without a negative tuple."""
    match node:
        case GroupBy() | SharedGroupBy() | SlidingGroupBy() | TopK() | NegativeTuples():
            return True
        case Selection(input=below) | Projection(input=below):
            return announces_ends(below)
        case _:
            return False
