"""INTERNAL and external windows in one FROM: results that ignore when internal tuples expire.

A combination of tuples is a result once all of them are live together; from then on it lasts as
long as its external tuples do (Golab 2006, 3.3.2). Internal windows are joined with each other as
if they were external, since their state is maintained so, and the external ones likewise; one
LastingJoin brings the two together. External tuples say when they came, since equal ones that
came at different times have met different partners. NRRs are looked up by what comes out of the
join, since they are seen as they are when a result comes (Definition 3.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from windrow.plan.binder.from_clause import BoundTable, left_deep
from windrow.plan.binder.scope import clock_of
from windrow.plan.expressions import (
    Column,
    Expression,
    Named,
    columns_of,
    replace_columns,
    shift_columns,
)
from windrow.plan.nodes import Node, Stamped, Window, is_nrr
from windrow.plan.nodes.joins import lasting_join_of
from windrow.plan.nodes.relational import project


def join_mixed(
    tables: Sequence[BoundTable], conditions: Sequence[Expression]
) -> tuple[Node, tuple[Expression, ...]]:
    """The join of all tables with columns as FROM has them, and the conditions left over."""
    order = sorted(range(len(tables)), key=lambda i: _rank(tables[i]))
    ordered = [_add_stamp(tables[i]) for i in order]
    places = _places(tables, dict(zip(order, ordered, strict=True)))
    external, internal, nrrs = ([t for t in ordered if _rank(t) == rank] for rank in range(3))

    left, rest = left_deep(
        external[0].plan, external[1:], [_move_columns(c, places) for c in conditions]
    )
    width = len(left.schema)
    own = [c for c in rest if _lowest(c) >= width]
    right, unused = left_deep(
        internal[0].plan, internal[1:], [shift_columns(c, -width) for c in own]
    )
    rest = (*(c for c in rest if c not in own), *(shift_columns(c, width) for c in unused))
    both = width + len(right.schema)
    across = [c for c in rest if _lowest(c) < width <= _highest(c) < both]
    stamps = tuple(i for i in range(width) if i not in places)
    plan: Node = lasting_join_of(left, right, across, stamps, internal[0].span)
    clock_of(plan, internal[0].span)
    plan, rest = left_deep(plan, nrrs, [c for c in rest if c not in across])

    schema = plan.schema
    columns = tuple(
        Named(schema[i].name, Column(i, schema[i].name, schema[i].type), schema[i].qualifier)
        for i in places
    )
    back = {new: old for old, new in enumerate(places)}
    return project(plan, columns, None), tuple(_move_columns(c, back) for c in rest)


def _rank(table: BoundTable) -> int:
    """External tables first, then internal ones, then NRRs."""
    return 2 if is_nrr(table.plan) else int(bool(table.internal))


def _add_stamp(table: BoundTable) -> BoundTable:
    """An external table whose tuples say when they came; others as they are."""
    plan = table.plan
    if _rank(table):
        return table
    if isinstance(plan, Window):
        return replace(table, plan=replace(plan, input=Stamped(plan.input, span=table.span)))
    return replace(table, plan=Stamped(plan, span=table.span))


def _places(tables: Sequence[BoundTable], ordered: dict[int, BoundTable]) -> list[int]:
    """Where each column of the row of FROM stands once the tables are in another order."""
    starts, width = {}, 0
    for number, table in ordered.items():
        starts[number] = width
        width += len(table.plan.schema)
    return [
        starts[number] + column
        for number, table in enumerate(tables)
        for column in range(len(table.plan.schema))
    ]


def _move_columns(condition: Expression, places: Sequence[int] | dict[int, int]) -> Expression:
    return replace_columns(condition, lambda c: replace(c, index=places[c.index]))


def _lowest(condition: Expression) -> int:
    return min((c.index for c in columns_of(condition)), default=-1)


def _highest(condition: Expression) -> int:
    return max((c.index for c in columns_of(condition)), default=-1)
