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

from windrow.core.schema import Type
from windrow.core.time import Clock
from windrow.plan.catalog import QueryDeclaration
from windrow.plan.expressions import (
    Column,
    Expression,
    Named,
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
    ToStream,
    Window,
    walk,
)
from windrow.plan.nodes.rebuild import map_inputs
from windrow.plan.nodes.routed import MEMBER, Asked, Attribute
from windrow.plan.nodes.window_specs import RowsWindow
from windrow.plan.sharing.ranges import both, condition_of

FEWEST = 3
"""Below so many queries a filter each costs less than the index (measured: even at three)."""


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
        case Window(spec=RowsWindow() as spec):
            keys = (0, *(i + 1 for i in spec.partition_by))
            return replace(node, input=below, spec=replace(spec, partition_by=keys))
        case GroupBy():
            keys_ = tuple(replace(k, expression=shift_columns(k.expression, 1)) for k in node.keys)
            aggregates = tuple(
                a if a.argument is None else replace(a, argument=shift_columns(a.argument, 1))
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
