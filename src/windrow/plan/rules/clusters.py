"""Neighbouring joins as one: what is joined, under which conditions, and which columns come out.

Joins with an NRR are never part of a cluster. Each tuple meets an NRR as it was when the tuple
came, so what is joined before and what after it makes a difference (Golab 2006, 3.3.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from windrow.core.errors import Span
from windrow.core.schema import Schema
from windrow.plan.expressions import (
    Column,
    Expression,
    Named,
    columns_of,
    replace_columns,
    shift_columns,
)
from windrow.plan.nodes import Join, Node, Projection, RelationScan, Selection, is_nrr
from windrow.plan.nodes.joins import conditions_of, join_of
from windrow.plan.nodes.relational import project


@dataclass(frozen=True)
class Cluster:
    """``conditions`` are over the rows of all branches side by side; so are ``outputs``.

    All joins of a cluster have the same number of ``buckets``.
    """

    branches: tuple[Node, ...]
    conditions: tuple[Expression, ...]
    outputs: tuple[int, ...]
    buckets: int = 0

    @property
    def starts(self) -> tuple[int, ...]:
        """Where the columns of each branch begin, and where the last one's end."""
        starts = [0]
        for branch in self.branches:
            starts.append(starts[-1] + len(branch.schema))
        return tuple(starts)

    def branches_of(self, expression: Expression) -> frozenset[int]:
        """The branches whose columns the expression uses."""
        starts = self.starts
        return frozenset(
            max(b for b, start in enumerate(starts[:-1]) if start <= column.index)
            for column in columns_of(expression)
        )


def cluster(node: Node) -> Cluster:
    """The joins at the top of the plan; a plan that is no join is a cluster of itself."""
    found = _cluster(node, _buckets_of(node))
    names = [field.name for branch in found.branches for field in branch.schema]
    conditions = tuple(
        replace_columns(c, lambda column: replace(column, name=names[column.index]))
        for c in found.conditions
    )
    return replace(found, conditions=tuple(dict.fromkeys(conditions)))


def _buckets_of(node: Node) -> int:
    """The number of buckets of the join at the top, if there is one."""
    while isinstance(node, Projection) and passes_columns_on(node):
        node = node.input
    return node.buckets if isinstance(node, Join) else 0


def _cluster(node: Node, buckets: int) -> Cluster:
    if isinstance(node, Projection) and passes_columns_on(node):
        inner = _cluster(node.input, buckets)
        places = [c.expression.index for c in node.columns if isinstance(c.expression, Column)]
        return replace(inner, outputs=tuple(inner.outputs[i] for i in places))
    if not isinstance(node, Join) or _stands_alone(node, buckets):
        return Cluster((node,), (), tuple(range(len(node.schema))), buckets)
    left, right = _cluster(node.left, buckets), _cluster(node.right, buckets)
    width = left.starts[-1]
    outputs = left.outputs + tuple(width + i for i in right.outputs)
    own = tuple(move_columns(c, outputs) for c in conditions_of(node))
    lifted = tuple(shift_columns(c, width) for c in right.conditions)
    conditions = left.conditions + lifted + own
    return Cluster(left.branches + right.branches, conditions, outputs, buckets)


def _stands_alone(node: Join, buckets: int) -> bool:
    return is_nrr(node.left) or is_nrr(node.right) or node.buckets != buckets


def passes_columns_on(node: Projection) -> bool:
    return all(isinstance(c.expression, Column) for c in node.columns)


def move_columns(expression: Expression, places: Sequence[int]) -> Expression:
    """The expression with each column i at ``places[i]``."""
    return replace_columns(expression, lambda c: Column(places[c.index], c.name, c.type))


def rebuild_joins(found: Cluster, order: Sequence[int], schema: Schema, span: Span | None) -> Node:
    """A left-deep join of the branches in ``order`` that puts out the columns of ``schema``."""
    starts, places = found.starts, [0] * found.starts[-1]
    width = 0
    for branch in order:
        for column in range(starts[branch], starts[branch + 1]):
            places[column] = width + column - starts[branch]
        width += starts[branch + 1] - starts[branch]
    rest = [(found.branches_of(c), move_columns(c, places)) for c in found.conditions]
    plan, taken = found.branches[order[0]], {order[0]}
    for branch in order[1:]:
        taken.add(branch)
        usable = [c for needed, c in rest if needed <= taken]
        rest = [(needed, c) for needed, c in rest if not needed <= taken]
        plan = join_of(plan, found.branches[branch], usable, span, found.buckets)
    return project_places(plan, [places[i] for i in found.outputs], schema, span)


def project_places(plan: Node, places: Sequence[int], schema: Schema, span: Span | None) -> Node:
    """The columns at ``places`` under the names of ``schema``."""
    columns = tuple(
        Named(f.name, Column(place, f.name, f.type), f.qualifier)
        for place, f in zip(places, schema, strict=True)
    )
    return project(plan, columns, span)


def is_relation(node: Node) -> bool:
    """Whether the node is a relation or an NRR, perhaps filtered or with columns left out."""
    while isinstance(node, Selection | Projection):
        node = node.input
    return isinstance(node, RelationScan)
