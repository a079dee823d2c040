"""Results that count each time they are produced, also if they are equal to the last."""

from __future__ import annotations

from dataclasses import replace

from windrow.plan.nodes import GroupBy, Node, Projection, Selection


def produced(plan: Node) -> Node:
    """The plan with its topmost group-by producing a row whenever its input changes.

    An append-only result, and a window over results, see how often a value came: the sums of
    two consecutive chunks are two results even if they are equal (Golab 2006, 3.4).
    """
    if isinstance(plan, Selection | Projection):
        return replace(plan, input=produced(plan.input))
    return replace(plan, every_time=True) if isinstance(plan, GroupBy) else plan
