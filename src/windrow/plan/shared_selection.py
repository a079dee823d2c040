"""Queries that differ only in range predicates over one stream, as one plan for all of them.

Ten thousand queries ``SELECT ... FROM s [window] WHERE x BETWEEN a AND b ...`` select different
tuples of the same stream and then do the same. Their predicates are subscriptions: one index tells
for each tuple which queries want it (Wu, Chen, Yu 2004, 1). What they do then is done once, over
pairs of a query and a tuple: the plan is *widened* by a first column that says whose tuple it is,
which every grouping, comparison of whole tuples and count of rows takes into account. So each query
gets the answer that it would have had alone, and a batch costs the same however many there are.

Only plans that read one stream in one place are widened. TOP k, joins, negations and unions are
not: they would need a form that works per query.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from windrow.core.patterns import UpdatePattern
from windrow.core.schema import Field, Schema, Type
from windrow.plan.catalog import QueryDeclaration
from windrow.plan.expressions import Column, Expression, Named, conjunction, conjuncts, shifted
from windrow.plan.nodes import (
    AppendOnly,
    DuplicateElimination,
    Every,
    GroupBy,
    Node,
    OutputWindow,
    Projection,
    Selection,
    StageInput,
    StreamScan,
    ToStream,
    Window,
    arrives_in_order,
)
from windrow.plan.ranges import Asked, both, condition_of
from windrow.plan.windows import RowsWindow

MEMBER = "__member"
FEWEST = 3
"""Below so many queries a filter each costs less than the index (measured: even at three)."""


@dataclass(frozen=True)
class Attribute:
    """What the predicates speak of: an expression over the selection's input, and the type in
    which its values are compared."""

    expression: Expression
    type: Type


@dataclass(frozen=True)
class SharedSelection:
    """One plan for several queries; ``asked[i][j]`` is what query i asks of attribute j.

    ``input`` gives the tuples that the predicates are over; the leaf of ``plan`` is called MEMBER
    and takes those tuples, once per query that wants them, after the number of the query.
    """

    stream: str
    input: Node
    attributes: tuple[Attribute, ...]
    plan: Node
    queries: tuple[QueryDeclaration, ...]
    asked: tuple[tuple[Asked, ...], ...]

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset(query.name for query in self.queries)


@dataclass(frozen=True)
class _Member:
    """A query taken apart: the same for all members of a group, but for what is asked."""

    input: Node
    attributes: tuple[Attribute, ...]
    plan: Node
    asked: tuple[Asked, ...]


def shared_selections(queries: Sequence[QueryDeclaration]) -> tuple[SharedSelection, ...]:
    """The groups among the queries, each of FEWEST members or more."""
    groups: dict[object, list[tuple[QueryDeclaration, _Member]]] = {}
    for query in queries:
        member = _member(query.plan)
        if member is not None:
            shape = (query.clock, member.input, member.attributes, member.plan)
            groups.setdefault(shape, []).append((query, member))
    return tuple(_group(found) for found in groups.values() if len(found) >= FEWEST)


def _group(found: Sequence[tuple[QueryDeclaration, _Member]]) -> SharedSelection:
    _, first = found[0]
    return SharedSelection(
        _stream(first.input), first.input, first.attributes, first.plan,
        tuple(query for query, _ in found), tuple(member.asked for _, member in found),
    )  # fmt: skip


def _stream(node: Node) -> str:
    while isinstance(node, Projection):
        node = node.input
    assert isinstance(node, StreamScan)
    return node.name


def _member(plan: Node) -> _Member | None:
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
    columns = Schema((Field(MEMBER, Type.BIGINT), *selection.input.schema))
    ordered = arrives_in_order(selection.input)
    leaf: Node = StageInput(MEMBER, columns, UpdatePattern.MONOTONIC, None, ordered)
    residual = conjunction(tuple(shifted(part, 1) for part in rest))
    if residual is not None:
        leaf = Selection(leaf, residual)
    widened = _widened(plan, selection, leaf)
    if widened is None:
        return None
    return _Member(selection.input, tuple(order), widened, tuple(asked[a] for a in order))


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


def _widened(node: Node, selection: Selection, leaf: Node) -> Node | None:
    """The plan over ``leaf`` in place of ``selection``; None if a node cannot work per query."""
    if node is selection:
        return leaf
    below = _widened(node.inputs[0], selection, leaf) if len(node.inputs) == 1 else None
    if below is None:
        return None
    member = Named(MEMBER, Column(0, MEMBER, Type.BIGINT))
    match node:
        case Selection():
            return replace(node, input=below, predicate=shifted(node.predicate, 1))
        case Projection():
            columns = tuple(replace(c, expression=shifted(c.expression, 1)) for c in node.columns)
            return replace(node, input=below, columns=(member, *columns))
        case Window(spec=RowsWindow() as spec):
            keys = (0, *(i + 1 for i in spec.partition_by))
            return replace(node, input=below, spec=replace(spec, partition_by=keys))
        case GroupBy():
            keys_ = tuple(replace(k, expression=shifted(k.expression, 1)) for k in node.keys)
            aggregates = tuple(
                a if a.argument is None else replace(a, argument=shifted(a.argument, 1))
                for a in node.aggregates
            )
            return replace(node, input=below, keys=(member, *keys_), aggregates=aggregates)
        case OutputWindow(spec=RowsWindow()):
            return None
        case (
            Window() | DuplicateElimination() | Every() | AppendOnly() | ToStream() | OutputWindow()
        ):
            return replace(node, input=below)
    return None
