"""Queries that differ only in range predicates over one stream, as one plan for all of them.

Ten thousand queries ``SELECT ... FROM s [window] WHERE x BETWEEN a AND b ...`` select different
tuples of the same stream and then do the same. Their predicates are subscriptions: one index tells
for each tuple which queries want it (Wu, Chen, Yu 2004, 1). What they do then is done once, over
pairs of a query and a tuple: the plan is *widened* by a first column that says whose tuple it is,
which every grouping, comparison of whole tuples and count of rows takes into account. So each query
gets the answer that it would have had alone, and a batch costs the same however many there are.

Only plans that read one stream in one place are widened. TOP k, joins, negations and unions are
not: they would need a form that works per query.

An index can answer predicates that put an expression between constants, or make it equal to some.
Only comparisons whose meaning is an interval of the values themselves are taken: integers with
integers, floating point numbers with numbers, times with times of the same kind, texts for
equality. NULL is in no interval, and a comparison with it is not true either.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from windrow.core.schema import Type
from windrow.core.time import Clock
from windrow.plan.catalog import QueryDeclaration
from windrow.plan.expressions import (
    Call,
    Column,
    Expression,
    Literal,
    Named,
    Value,
    columns_of,
    conjunction,
    conjuncts,
    shift_columns,
)
from windrow.plan.nodes import (
    AppendOnly,
    DuplicateElimination,
    Every,
    GroupBy,
    Node,
    OutputWindow,
    Projection,
    Routed,
    Selection,
    StreamScan,
    TopLists,
    ToStream,
    Window,
    walk,
)
from windrow.plan.nodes.rebuild import map_inputs
from windrow.plan.nodes.routed import MEMBER, Among, Asked, Attribute, Between
from windrow.plan.nodes.window_specs import RowsWindow, SessionWindow

FEWEST = 3
"""Below so many queries a filter each costs less than the index (measured: even at three)."""
MIRRORED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq"}
ORDERED = (Type.TIMESTAMP, Type.DATE)


@dataclass(frozen=True)
class SharedSelection:
    """One plan for several queries, which are told apart by its first column.

    Its leaf is a Routed: the tuples of ``stream``, once per query that wants them, after the
    query's number, which is its place in ``queries``.
    """

    stream: str
    plan: Node
    queries: tuple[QueryDeclaration, ...]

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset(query.name for query in self.queries)

    @cached_property
    def routed_node(self) -> Routed:
        return next(node for node in walk(self.plan) if isinstance(node, Routed))

    @property
    def title(self) -> str:
        """What the queries are called together."""
        first, *others = self.queries
        return f"{first.name} and {len(others):,} more"


def shared_selections(
    queries: Sequence[QueryDeclaration], fewest: int = FEWEST
) -> tuple[SharedSelection, ...]:
    """The groups among the queries, each of ``fewest`` members or more."""
    groups: dict[tuple[Clock, Node], list[tuple[QueryDeclaration, tuple[Asked, ...]]]] = {}
    for query in queries:
        member = _member(query.plan)
        if member is not None:
            plan, asked = member
            groups.setdefault((query.clock, plan), []).append((query, asked))
    return tuple(_group(plan, found) for (_, plan), found in groups.items() if len(found) >= fewest)


def with_conditions(plan: Node, asked: tuple[tuple[Asked, ...], ...]) -> Node:
    """The plan of a group for queries that ask this."""
    if isinstance(plan, Routed):
        return replace(plan, asked=asked)
    return map_inputs(plan, lambda child: with_conditions(child, asked))


def _group(
    plan: Node, found: Sequence[tuple[QueryDeclaration, tuple[Asked, ...]]]
) -> SharedSelection:
    stream = next(node.name for node in walk(plan) if isinstance(node, StreamScan))
    asked = tuple(wanted for _, wanted in found)
    return SharedSelection(stream, with_conditions(plan, asked), tuple(query for query, _ in found))


def _member(plan: Node) -> tuple[Node, tuple[Asked, ...]] | None:
    """A query taken apart: what members of a group have in common, and what this one asks."""
    selection = _selection(plan)
    if selection is None:
        return None
    asked: dict[Attribute, Asked] = {}
    rest: list[Expression] = []
    for part in conjuncts(selection.predicate):
        condition = condition_of(part)
        if condition is None:
            rest.append(part)
        else:
            expression, kind, wanted = condition
            attribute = Attribute(expression, kind)
            before = asked.get(attribute)
            asked[attribute] = wanted if before is None else both(before, wanted)
    if not asked:
        return None
    order = sorted(asked, key=repr)
    leaf: Node = Routed(selection.input, tuple(order), ())
    residual = conjunction(tuple(shift_columns(part, 1) for part in rest))
    if residual is not None:
        leaf = Selection(leaf, residual)
    widened = _widen(plan, selection, leaf)
    return None if widened is None else (widened, tuple(asked[a] for a in order))


def _selection(plan: Node) -> Selection | None:
    """The selection directly on the plan's only stream, perhaps above a choice of columns."""
    node = plan
    while len(node.inputs) == 1:
        if isinstance(node, Selection):
            below = node.input
            while isinstance(below, Projection):
                below = below.input
            if isinstance(below, StreamScan):
                return node
        (node,) = node.inputs
    return None


def _widen(node: Node, selection: Selection, leaf: Node) -> Node | None:
    """The plan over ``leaf`` in place of ``selection``; None if a node cannot work per query."""
    if node is selection:
        return leaf
    below = _widen(node.inputs[0], selection, leaf) if len(node.inputs) == 1 else None
    if below is None:
        return None
    member = Named(MEMBER, Column(0, MEMBER, Type.BIGINT))
    match node:
        case Selection():
            return replace(node, input=below, predicate=shift_columns(node.predicate, 1))
        case Projection():
            columns = tuple(
                replace(c, expression=shift_columns(c.expression, 1)) for c in node.columns
            )
            return replace(node, input=below, columns=(member, *columns))
        case Window(spec=RowsWindow(slide=int())):
            return None  # it would have to move for each query by itself
        case Window(spec=(RowsWindow() | SessionWindow()) as spec):
            keys = (0, *(i + 1 for i in spec.partition_by))
            return replace(node, input=below, spec=replace(spec, partition_by=keys))
        case GroupBy(lists=TopLists()):
            return None  # a list is of the groups of one query
        case GroupBy():
            keys_ = tuple(replace(k, expression=shift_columns(k.expression, 1)) for k in node.keys)
            aggregates = tuple(
                a if a.argument is None else replace(a, argument=shift_columns(a.argument, 1))
                for a in node.aggregates
            )
            return replace(node, input=below, keys=(member, *keys_), aggregates=aggregates)
        case OutputWindow(spec=RowsWindow() | SessionWindow()):
            return None
        case (
            Window() | DuplicateElimination() | Every() | AppendOnly() | ToStream() | OutputWindow()
        ):
            return replace(node, input=below)
    return None


def condition_of(predicate: Expression) -> tuple[Expression, Type, Asked] | None:
    """The expression, the type it is compared in, and the condition; None if it is no such."""
    if not isinstance(predicate, Call):
        return None
    if predicate.function == "in":
        value, *members = predicate.args
        kinds = {_comparison_type(value, m) for m in members}
        kind = kinds.pop() if len(kinds) == 1 else None
        if kind is None:
            return None
        return _condition(value, kind, Among(tuple(_constant(m, kind) for m in members)))
    if predicate.function not in MIRRORED:
        return None
    left, right = predicate.args
    function = predicate.function
    if isinstance(left, Literal):
        left, right, function = right, left, MIRRORED[function]
    kind = _comparison_type(left, right)
    if kind is None:
        return None
    constant = _constant(right, kind)
    if kind is Type.STRING:
        return _condition(left, kind, Among((constant,))) if function == "eq" else None
    return _condition(left, kind, _between(function, constant))


def _between(function: str, value: Value) -> Between:
    match function:
        case "lt" | "le":
            return Between(high=value, high_open=function == "lt")
        case "gt" | "ge":
            return Between(low=value, low_open=function == "gt")
        case _:
            return Between(value, value)


def _condition(
    expression: Expression, kind: Type, condition: Asked
) -> tuple[Expression, Type, Asked] | None:
    if next(columns_of(expression), None) is None:
        return None
    return expression, kind, condition


def _constant(expression: Expression, kind: Type) -> Value:
    """The constant in the type in which it is compared: an integer may be rounded there."""
    assert isinstance(expression, Literal)
    value = expression.value
    return float(value) if kind is Type.DOUBLE and isinstance(value, int) else value


def _comparison_type(value: Expression, constant: Expression) -> Type | None:
    """The type in which a value is compared with a constant, if that is one of the plain cases."""
    if not isinstance(constant, Literal) or constant.value is None:
        return None
    if isinstance(constant.value, float) and math.isnan(constant.value):
        return None
    left, right = value.type, constant.type
    if left.integral and right.integral:
        return Type.BIGINT
    if left in (Type.FLOAT, Type.DOUBLE) and right.numeric and right is not Type.FLOAT:
        return Type.DOUBLE
    if left is right and (left in ORDERED or left is Type.STRING):
        return left
    return None


def both(one: Asked, other: Asked) -> Asked:
    """What meets both conditions.

    >>> both(Between(low=3), both(Between(high=9), Between(high=5, high_open=True)))
    Between(low=3, high=5, low_open=False, high_open=True)
    >>> both(Among((1, 4, 7)), Between(low=3))
    Among(values=(4, 7))
    """
    if isinstance(one, Among):
        return Among(tuple(v for v in one.values if _meets(v, other)))
    if isinstance(other, Among):
        return both(other, one)
    whole = one
    if other.low is not None:
        if whole.low is None or _beyond(other.low, whole.low):
            whole = replace(whole, low=other.low, low_open=other.low_open)
        elif other.low == whole.low:
            whole = replace(whole, low_open=whole.low_open or other.low_open)
    if other.high is not None:
        if whole.high is None or _beyond(whole.high, other.high):
            whole = replace(whole, high=other.high, high_open=other.high_open)
        elif other.high == whole.high:
            whole = replace(whole, high_open=whole.high_open or other.high_open)
    return whole


def _meets(value: Value, condition: Asked) -> bool:
    if isinstance(condition, Among):
        return value in condition.values
    low, high = condition.low, condition.high
    above = low is None or _beyond(value, low) or (value == low and not condition.low_open)
    below = high is None or _beyond(high, value) or (value == high and not condition.high_open)
    return above and below


def _beyond(one: Value, other: Value) -> bool:
    assert isinstance(one, int | float)
    assert isinstance(other, int | float)
    return one > other
