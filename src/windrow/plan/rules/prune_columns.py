"""Columns that nobody needs are dropped, and projections over projections become one.

Columns are dropped right above the leaves, and before they enter state. Going down, each operator
says which columns of its inputs it needs for those that are asked of it; coming up, each answers
where the columns that were asked for stand now. Operators that compare whole tuples (DISTINCT,
EXCEPT, ISTREAM and its kin, TOP k, stamps on a relation) need them all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from windrow.core.patterns import UpdatePattern
from windrow.core.schema import Schema, Type
from windrow.plan.expressions import Column, Expression, Named, columns_of, replace_columns
from windrow.plan.nodes import (
    ConstantRows,
    Every,
    GroupBy,
    Join,
    LastingJoin,
    LookBack,
    MatchFlag,
    MultiJoin,
    Negation,
    NegationForm,
    Node,
    Projection,
    RelationScan,
    Retimed,
    Selection,
    StageInput,
    Stamped,
    StreamScan,
    Union,
    Unnest,
    Window,
    arrives_in_order,
)
from windrow.plan.nodes.rebuild import itself_if_equal, map_inputs, remember
from windrow.plan.nodes.relational import changes_nothing
from windrow.plan.nodes.window_specs import PARTITIONED, RowsWindow

NARROW = (Type.BOOLEAN, Type.INT, Type.FLOAT, Type.DATE, Type.BIGINT, Type.DOUBLE, Type.TIMESTAMP)
Two = TypeVar("Two", bound=Join | LastingJoin | MatchFlag | Negation)


@dataclass(frozen=True)
class _Pruned:
    """A plan, and where the columns of the plan that it replaces stand in its row."""

    plan: Node
    places: Mapping[int, int]

    def move(self, expression: Expression) -> Expression:
        return replace_columns(expression, self._move_column)

    def _move_column(self, column: Column) -> Column:
        place = self.places[column.index]
        return column if place == column.index else replace(column, index=place)


def prune_columns(plan: Node) -> Node:
    """The plan without columns that have no influence on its answer."""
    return _prune(plan, _all(plan)).plan


def _all(node: Node) -> frozenset[int]:
    return frozenset(range(len(node.schema)))


def _columns_used(expressions: Iterable[Expression]) -> frozenset[int]:
    return frozenset(c.index for e in expressions for c in columns_of(e))


@remember
def _prune(node: Node, needed: frozenset[int]) -> _Pruned:
    pruned = _prune_node(node, needed)
    return _Pruned(itself_if_equal(node, pruned.plan), pruned.places)


def _prune_node(node: Node, needed: frozenset[int]) -> _Pruned:
    match node:
        case StreamScan() | StageInput() | ConstantRows():
            return _leave_out(_keep_all_columns(node), needed)
        case RelationScan():
            # An NRR must stay a direct input of its join.
            return (
                _leave_out(_keep_all_columns(node), needed)
                if node.retroactive
                else _keep_all_columns(node)
            )
        case Selection():
            below = _prune(node.input, needed | _columns_used([node.predicate]))
            predicate = below.move(node.predicate)
            return _Pruned(replace(node, input=below.plan, predicate=predicate), below.places)
        case Projection():
            return _prune_projection(node, needed)
        case Window():
            return _prune_window(node, needed)
        case Stamped() if node.pattern is UpdatePattern.MONOTONIC:
            width = len(node.input.schema)
            below = _trim(node.input, frozenset(i for i in needed if i < width))
            places = {**below.places, width: len(below.plan.schema)}
            return _Pruned(replace(node, input=below.plan), places)
        case Retimed():
            below = _trim(node.input, needed | {node.time})
            time = below.places[node.time]
            return _Pruned(replace(node, input=below.plan, time=time), below.places)
        case LookBack():
            return _prune_look_back(node, needed)
        case Unnest():
            width = len(node.input.schema)
            wanted = frozenset(i for i in needed if i < width) | _columns_used([node.array])
            below = _trim(node.input, wanted)
            added = {width + i: len(below.plan.schema) + i for i in range(len(node.columns))}
            array = below.move(node.array)
            kept_plan = replace(node, input=below.plan, array=array)
            return _Pruned(kept_plan, {**below.places, **added})
        case Union():
            kept = needed or _one(node.schema)
            branches = [_trim(b, kept) for b in node.branches]
            plan = replace(node, branches=tuple(b.plan for b in branches))
            return _Pruned(plan, branches[0].places)
        case Join() | LastingJoin():
            return _prune_join(node, needed)
        case MultiJoin():
            return _prune_multi_join(node, needed)
        case Negation() | MatchFlag():
            return _prune_negation(node, needed)
        case GroupBy():
            return _prune_groups(node)
        case Every():
            below = _prune(node.input, needed)
            return _Pruned(replace(node, input=below.plan), below.places)
    return _keep_all_columns(map_inputs(node, prune_columns))


def _keep_all_columns(node: Node) -> _Pruned:
    return _Pruned(node, {i: i for i in range(len(node.schema))})


def _one(schema: Schema) -> frozenset[int]:
    """A cheap column to keep when only the number of tuples matters."""
    order = sorted(
        range(len(schema)),
        key=lambda i: NARROW.index(schema[i].type) if schema[i].type in NARROW else len(NARROW),
    )
    return frozenset(order[:1])


def _trim(node: Node, needed: frozenset[int]) -> _Pruned:
    """``node`` with the needed columns and no others, in their order."""
    return _leave_out(_prune(node, needed), needed)


def _leave_out(pruned: _Pruned, needed: frozenset[int]) -> _Pruned:
    schema = pruned.plan.schema
    wanted = sorted(needed)
    kept = [pruned.places[i] for i in wanted] if wanted else sorted(_one(schema))
    if len(kept) == len(schema):
        return pruned
    columns = tuple(
        Named(schema[i].name, Column(i, schema[i].name, schema[i].type), schema[i].qualifier)
        for i in kept
    )
    plan = Projection(pruned.plan, columns, span=pruned.plan.span)
    return _Pruned(plan, {index: place for place, index in enumerate(wanted)})


def _prune_projection(node: Projection, needed: frozenset[int]) -> _Pruned:
    kept = sorted(needed or _one(node.schema))
    columns = [node.columns[i] for i in kept]
    used = _columns_used(c.expression for c in columns)
    leaf = isinstance(node.input, StreamScan | StageInput | RelationScan | ConstantRows)
    below = _keep_all_columns(node.input) if leaf else _prune(node.input, used)
    moved = tuple(replace(c, expression=below.move(c.expression)) for c in columns)
    plan = replace(node, input=below.plan, columns=moved)
    return _Pruned(plan, {index: place for place, index in enumerate(kept)})


def _prune_window(node: Window, needed: frozenset[int]) -> _Pruned:
    spec = node.spec
    if isinstance(spec, PARTITIONED):
        wanted = needed | frozenset(spec.partition_by)
        if isinstance(spec, RowsWindow) and not arrives_in_order(node.input):
            # then all columns decide which tuple came last
            wanted = _all(node.input)
        below = _trim(node.input, wanted)
        keys = tuple(below.places[i] for i in spec.partition_by)
        plan = replace(node, input=below.plan, spec=replace(spec, partition_by=keys))
        return _Pruned(plan, below.places)
    below = _trim(node.input, needed)
    return _Pruned(replace(node, input=below.plan), below.places)


def _prune_look_back(node: LookBack, needed: frozenset[int]) -> _Pruned:
    width = len(node.input.schema)
    wanted = frozenset(i for i in needed if i < width)
    wanted |= {*node.keys, *(column for column, _ in node.looks)}
    below = _trim(node.input, wanted if arrives_in_order(node.input) else _all(node.input))
    keys = tuple(below.places[i] for i in node.keys)
    looks = tuple((below.places[column], distance) for column, distance in node.looks)
    added = {width + i: len(below.plan.schema) + i for i in range(len(looks))}
    plan = replace(node, input=below.plan, keys=keys, looks=looks)
    return _Pruned(plan, {**below.places, **added})


def _prune_join(node: Join | LastingJoin, needed: frozenset[int]) -> _Pruned:
    width = len(node.left.schema)
    wanted = needed | (_columns_used([node.residual]) if node.residual is not None else frozenset())
    if isinstance(node, LastingJoin):
        wanted |= frozenset(node.stamps)
    left = _side(
        node.left, frozenset(i for i in wanted if i < width) | _columns_used(node.left_keys)
    )
    right_wanted = frozenset(i - width for i in wanted if i >= width)
    right = _side(node.right, right_wanted | _columns_used(node.right_keys))
    plan, places = _over(node, left, right)
    if isinstance(plan, LastingJoin):
        plan = replace(plan, stamps=tuple(left.places[i] for i in plan.stamps))
    return _Pruned(plan, places)


def _prune_multi_join(node: MultiJoin, needed: frozenset[int]) -> _Pruned:
    wanted = needed | (_columns_used([node.residual]) if node.residual is not None else frozenset())
    places: dict[int, int] = {}
    branches: list[_Pruned] = []
    before = after = 0
    for branch, keys in zip(node.branches, node.keys, strict=True):
        width = len(branch.schema)
        own = frozenset(i - before for i in wanted if before <= i < before + width)
        pruned = _trim(branch, own | _columns_used(keys))
        places.update({before + i: after + place for i, place in pruned.places.items()})
        branches.append(pruned)
        before, after = before + width, after + len(pruned.plan.schema)
    both = _Pruned(node, places)
    plan = replace(
        node,
        branches=tuple(b.plan for b in branches),
        keys=tuple(
            tuple(b.move(k) for k in keys) for b, keys in zip(branches, node.keys, strict=True)
        ),
        residual=both.move(node.residual) if node.residual is not None else None,
    )
    return _Pruned(plan, places)


def _over(node: Two, left: _Pruned, right: _Pruned) -> tuple[Two, dict[int, int]]:
    """The node over inputs that were pruned, and where the columns of both are side by side."""
    width, shift = len(node.left.schema), len(left.plan.schema)
    places = {**left.places, **{width + i: shift + place for i, place in right.places.items()}}
    both = _Pruned(node, places)
    plan = replace(
        node,
        left=left.plan,
        right=right.plan,
        left_keys=tuple(left.move(k) for k in node.left_keys),
        right_keys=tuple(right.move(k) for k in node.right_keys),
        residual=both.move(node.residual) if node.residual is not None else None,
    )
    return plan, places


def _side(node: Node, needed: frozenset[int]) -> _Pruned:
    if isinstance(node, RelationScan) and not node.retroactive:
        return _keep_all_columns(node)
    return _trim(node, needed)


def _prune_negation(node: Negation | MatchFlag, needed: frozenset[int]) -> _Pruned:
    """If nobody reads a flag nobody asks whether there is a match."""
    width = len(node.left.schema)
    if isinstance(node, MatchFlag) and width not in needed:
        return _prune(node.left, needed)
    if isinstance(node, Negation) and node.form is NegationForm.EXCEPT:
        return _keep_all_columns(map_inputs(node, prune_columns))
    residual = _columns_used([node.residual]) if node.residual is not None else frozenset()
    used = needed | _columns_used(node.left_keys) | residual
    other = _columns_used(node.right_keys) | frozenset(i - width for i in residual if i >= width)
    left = _trim(node.left, frozenset(i for i in used if i < width))
    plan, _ = _over(node, left, _trim(node.right, other))
    flag = {width: len(left.plan.schema)} if isinstance(node, MatchFlag) else {}
    return _Pruned(plan, {**left.places, **flag})


def _prune_groups(node: GroupBy) -> _Pruned:
    """Keys decide the groups, so all stay; so do the aggregates, which share one pass."""
    arguments = [a.argument for a in node.aggregates if a.argument is not None]
    below = _trim(node.input, _columns_used([*(k.expression for k in node.keys), *arguments]))
    keys = tuple(replace(k, expression=below.move(k.expression)) for k in node.keys)
    aggregates = tuple(
        replace(a, argument=below.move(a.argument)) if a.argument is not None else a
        for a in node.aggregates
    )
    return _keep_all_columns(replace(node, input=below.plan, keys=keys, aggregates=aggregates))


@remember
def merge_projections(plan: Node) -> Node:
    """The plan without superfluous projections; no expression is computed twice because of it."""
    node = map_inputs(plan, merge_projections)
    if not isinstance(node, Projection):
        return node
    inner = node.input
    if isinstance(inner, Projection) and _each_computed_once(node, inner):
        columns = tuple(replace(c, expression=_through(c.expression, inner)) for c in node.columns)
        node = replace(node, input=inner.input, columns=columns)
    return node.input if changes_nothing(node.columns, node.input.schema) else node


def _through(expression: Expression, inner: Projection) -> Expression:
    return replace_columns(expression, lambda c: inner.columns[c.index].expression)


def _each_computed_once(outer: Projection, inner: Projection) -> bool:
    uses = Counter(c.index for named in outer.columns for c in columns_of(named.expression))
    return all(
        count == 1 or isinstance(inner.columns[index].expression, Column)
        for index, count in uses.items()
    )
