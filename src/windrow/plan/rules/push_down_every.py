"""EVERY moved below a GROUP BY over streams without windows.

The answer at an instant is that of the last multiple of the period. Selections, projections and
groups are functions of what they see at that instant, so it is the same whether their answer or
their input is that of the multiple. Above a group-by each tuple changes the answer, and most of
these changes are cancelled by the next one. Below it, the group-by meets all tuples of a period at
one instant, and replaces the row of a group once.

The tuples of a period wait where the changes of the answer waited: one for each, not two. Only what
never expires moves: rounding lives up would take the lives of tuples of a window from indexes
that know them.
"""

from __future__ import annotations

from dataclasses import replace

from windrow.core.patterns import UpdatePattern
from windrow.plan.nodes import Every, GroupBy, Node, Projection, Selection
from windrow.plan.nodes.rebuild import map_inputs, remember


@remember
def push_down_every(plan: Node) -> Node:
    """The plan with each Every below the group-bys that it is above, if it can be."""
    node = map_inputs(plan, push_down_every)
    if not isinstance(node, Every):
        return node
    moved = _over_its_streams(node.input, node)
    return node if moved is None else moved


def _over_its_streams(node: Node, every: Every) -> Node | None:
    """``node`` with the rhythm below its last group-by; None without one, or if it must not."""
    match node:
        case Selection() | Projection():
            below = _over_its_streams(node.input, every)
        case GroupBy(every_time=False) if node.exact:
            if node.input.pattern is UpdatePattern.MONOTONIC:
                below = replace(every, input=node.input)
            else:
                below = _over_its_streams(node.input, every)
        case _:
            return None
    return None if below is None else replace(node, input=below)
