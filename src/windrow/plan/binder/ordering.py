"""TOP k and ORDER BY ... LIMIT k."""

from __future__ import annotations

from windrow.core.errors import BindError
from windrow.cql.tree import Select
from windrow.plan.binder.context import projected
from windrow.plan.expressions import Column, Expression, Named
from windrow.plan.nodes import Node, OrderKey, TopK


def ordered(
    plan: Node, columns: tuple[Named, ...], keys: list[tuple[Expression, bool]], select: Select
) -> Node:
    """The first tuples of the select list; a key that is not in the list is carried and dropped."""
    limit = select.limit
    if limit is None:
        raise BindError(
            span=select.order_by[0].span, expected="LIMIT with ORDER BY", found="none",
            remedy="an answer is a bag without an order; write LIMIT to keep its first tuples",
        )  # fmt: skip
    if limit.count < 1:
        raise BindError(span=limit.span, expected="at least one row", found=str(limit.count))
    if not keys:
        raise BindError(
            span=limit.span, expected="an order to take the first tuples of", found="none",
            remedy="write ORDER BY",
        )  # fmt: skip
    carried = list(columns)
    order = []
    for expression, descending in keys:
        place = next((i for i, c in enumerate(carried) if c.expression == expression), None)
        if place is None:
            if select.distinct:
                raise BindError(
                    span=select.order_by[0].span,
                    expected="only columns of the select list in ORDER BY with DISTINCT",
                    found="another expression",
                )
            place = len(carried)
            carried.append(Named(f"order{place + 1}", expression))
        order.append(OrderKey(Column(place, carried[place].name, expression.type), descending))
    top = TopK(
        projected(plan, tuple(carried), select.span), tuple(order), limit.count, span=limit.span
    )
    if len(carried) == len(columns):
        return top
    shown = tuple(
        Named(c.name, Column(i, c.name, c.expression.type), c.qualifier)
        for i, c in enumerate(columns)
    )
    return projected(top, shown, select.span)
