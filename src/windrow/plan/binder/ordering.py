"""TOP k and ORDER BY ... LIMIT k."""

from __future__ import annotations

from windrow.core.errors import BindError
from windrow.cql.syntax_tree import Limit, Select
from windrow.plan.binder.clauses import Clauses, Order
from windrow.plan.expressions import Column, Named
from windrow.plan.nodes import Node, OrderKey, TopK
from windrow.plan.nodes.projections import columns_of_row, projected


def first(plan: Node, clauses: Clauses, select: Select) -> Node:
    """The first tuples of the select list; a key that is not in the list is carried and dropped."""
    limit = _limit(select)
    carried = list(clauses.items)
    keys = []
    for expression, descending in _order(clauses, limit):
        place = next((i for i, c in enumerate(carried) if c.expression == expression), None)
        if place is None:
            place = len(carried)
            carried.append(Named(f"order{place + 1}", expression))
        keys.append(OrderKey(Column(place, carried[place].name, expression.type), descending))
    listed = projected(plan, tuple(carried), select.span)
    top = TopK(listed, tuple(keys), limit.count, span=limit.span)
    return projected(top, columns_of_row(top.schema)[: len(clauses.items)], select.span)


def distinct_first(plan: Node, clauses: Clauses, select: Select) -> Node:
    """The first of ``plan``'s tuples, which are distinct: only their own columns can order them."""
    limit = _limit(select)
    keys = []
    for expression, descending in _order(clauses, limit):
        place = next((i for i, c in enumerate(clauses.items) if c.expression == expression), None)
        if place is None:
            raise BindError(
                span=select.order_by[0].span,
                expected="only columns of the select list in ORDER BY with DISTINCT",
                found="another expression",
            )
        column = Column(place, plan.schema[place].name, expression.type)
        keys.append(OrderKey(column, descending))
    return TopK(plan, tuple(keys), limit.count, span=limit.span)


def _limit(select: Select) -> Limit:
    if select.limit is None:
        raise BindError(
            span=select.order_by[0].span, expected="LIMIT with ORDER BY", found="none",
            remedy="an answer is a bag without an order; write LIMIT to keep its first tuples",
        )  # fmt: skip
    if select.limit.count < 1:
        raise BindError(span=select.limit.span, expected="at least one row", found="0")
    return select.limit


def _order(clauses: Clauses, limit: Limit) -> tuple[Order, ...]:
    """ORDER BY; without it the first aggregate of the select list, greatest first."""
    if clauses.order:
        return clauses.order
    if clauses.grouping is not None:
        keys = len(clauses.grouping.keys)
        for item in clauses.items:
            if isinstance(item.expression, Column) and item.expression.index >= keys:
                return ((item.expression, True),)
    raise BindError(
        span=limit.span, expected="an order to take the first tuples of", found="none",
        remedy="write ORDER BY",
    )  # fmt: skip
