"""In which order the answer of a TOP should be shown."""

from __future__ import annotations

from itertools import takewhile

from windrow.plan.expressions import Column
from windrow.plan.nodes import Node, Projection, TopK


def ranks(plan: Node) -> tuple[tuple[int, bool], ...]:
    """The columns by which a TOP at the end of a plan ranks, and whether the greatest is first.

    A key that is not in the answer ends the list: what comes after it would mislead.
    """
    if isinstance(plan, TopK):
        keys = [(k.expression, k.descending) for k in plan.keys]
        return tuple((e.index, down) for e, down in keys if isinstance(e, Column))
    if not isinstance(plan, Projection) or not isinstance(plan.input, TopK):
        return ()
    shown = {
        c.expression.index: place
        for place, c in reversed(list(enumerate(plan.columns)))
        if isinstance(c.expression, Column)
    }
    known = takewhile(lambda key: key[0] in shown, ranks(plan.input))
    return tuple((shown[index], descending) for index, descending in known)
