"""GROUP BY over ``[RANGE T SLIDE s]`` by summaries of sub-windows (Golab 2006, 2.3.4).

A group-by directly over such a window, but for selections and projections, needs no tuples: those
of a sub-window come and go together. Selections and projections move below the window, where
they see the same tuples. Over anything else (a join of windows, a window without SLIDE) the tuples
are needed one by one, and the plan stays as it is.
"""

from __future__ import annotations

from dataclasses import replace

from windrow.plan.nodes import GroupBy, Node, TupleWise, Window
from windrow.plan.nodes.rebuild import map_inputs
from windrow.plan.nodes.sliding_groups import SlidingGroupBy
from windrow.plan.nodes.window_specs import RangeWindow


def use_sub_windows(plan: Node) -> Node:
    """The plan with a SlidingGroupBy wherever one can stand."""
    node = map_inputs(plan, use_sub_windows)
    if not isinstance(node, GroupBy):
        return node
    found = _below_window(node.input)
    if found is None:
        return node
    below, spec = found
    return SlidingGroupBy(below, node.keys, node.aggregates, spec, node.every_time, span=node.span)


def _below_window(node: Node) -> tuple[Node, RangeWindow] | None:
    """What is below a sliding window, under the selections and projections above it."""
    match node:
        case Window(spec=RangeWindow(slide=slide) as spec) if slide is not None:
            return node.input, spec
        case TupleWise():
            found = _below_window(node.input)
            return None if found is None else (replace(node, input=found[0]), found[1])
    return None
