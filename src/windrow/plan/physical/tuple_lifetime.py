"""How long a tuple of an answer can live, which is what an archive of answers must have room for.

Exact for a single window; for joins it is the shortest window, which a pair of two tuples of the
same instant lives through. Lives that are moved to multiples of a period (``SLIDE``, ``EVERY``)
are as long as the next multiple.
"""

from __future__ import annotations

from windrow.core.time import FOREVER
from windrow.plan.nodes import (
    AppendOnly,
    Every,
    Join,
    LastingJoin,
    MultiJoin,
    Node,
    OutputWindow,
    ToStream,
    Unary,
    Union,
    Window,
)
from windrow.plan.nodes.window_specs import NowWindow, RangeWindow, WindowSpec


def longest_life(node: Node) -> int:
    """In ticks; FOREVER for what is not withdrawn by time, or not by time alone."""
    match node:
        case Window(spec=spec) | OutputWindow(spec=spec):
            return _longest_in(spec)
        case Every(input=below, period=period):
            return _rounded_up(longest_life(below), period)
        case Join() | MultiJoin():
            return min(map(longest_life, node.inputs))
        case LastingJoin(left=left):
            return longest_life(left)
        case Union():
            return max(map(longest_life, node.inputs))
        case Unary(input=below) if not isinstance(node, ToStream | AppendOnly):
            return longest_life(below)
    return FOREVER


def _longest_in(spec: WindowSpec) -> int:
    match spec:
        case RangeWindow(length=length, slide=slide):
            return length if slide is None else _rounded_up(length, slide)
        case NowWindow():
            return 1
    return FOREVER


def _rounded_up(life: int, period: int) -> int:
    return life if life == FOREVER else -(-life // period) * period
