"""How often a join over windows that slide is evaluated (Golab 2006, 5.2.2, Algorithm 4).

A window with SLIDE, and a query with EVERY, let tuples come and go at multiples of a period only.
What meets nothing before the next multiple and is gone by then need not be kept until then: a
join drops it as soon as it has been evaluated. That takes expiries that are known in advance, so
not STRICT input.
"""

from __future__ import annotations

from math import gcd

from windrow.core.patterns import UpdatePattern
from windrow.plan.nodes import (
    Every,
    Join,
    MultiJoin,
    Node,
    Projection,
    Selection,
    Window,
    is_nrr,
)
from windrow.plan.nodes.window_specs import RangeWindow


def evaluation_period(join: Join | MultiJoin) -> int:
    """The period at whose multiples all inputs change; 0 if there is none."""
    if any(is_nrr(i) or i.pattern is UpdatePattern.STRICT for i in join.inputs):
        return 0
    periods = [_period_of_lives(i) for i in join.inputs]
    return gcd(*periods) if all(periods) else 0


def _period_of_lives(node: Node) -> int:
    """The period at whose multiples tuples come and go; 0 if there is none."""
    match node:
        case Selection() | Projection():
            return _period_of_lives(node.input)
        case Window(spec=RangeWindow(slide=slide)) if slide is not None:
            return slide
        case Every():
            return node.period
        case Join() | MultiJoin():
            return evaluation_period(node)
    return 0
