"""NOT EXISTS, NOT IN and duplicate elimination above or below a join.

Below, a negation thins out what is joined, but everything above it has to process negative
tuples; above, the join works on simpler update patterns. Which is cheaper depends on the data
(Golab 2006, 3.5.3, Figure 3.5). A left tuple is kept or dropped by its own values, so both give the
same answer. A join with a relation or an NRR is never moved through a negation: it cannot process
negative tuples.

Duplicates are eliminated before a join or a negation instead of after it. The pairs of two sets are
a set, if the columns that the query leaves out are equal to ones that it keeps; then nothing is
left to do above the join. Otherwise duplicates are eliminated again above it, from fewer tuples.
NOT EXISTS and NOT IN keep all copies of a tuple or none, so there it makes no difference for the
answer; but below, the input is not yet STRICT, and the operator with auxiliary state fits (Golab
2006, 3.5.2).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from windrow.core.schema import Type
from windrow.plan.expressions import Column, Expression, columns_of, shift_columns
from windrow.plan.nodes import (
    DuplicateElimination,
    Join,
    Negation,
    NegationForm,
    Node,
    Projection,
    is_nrr,
)
from windrow.plan.rules.clusters import is_relation, move_columns, passes_columns_on, project_places

INEXACT = (Type.FLOAT, Type.DOUBLE)
"""Values of these types may be equal and yet look different: 0.0 and -0.0."""


def pull_up_negations(node: Node) -> Iterator[Node]:
    """A join of a negation becomes a negation of the join."""
    if not isinstance(node, Join) or is_relation(node.left) or is_relation(node.right):
        return
    width = len(node.left.schema)
    for position, side in enumerate(node.inputs):
        negation, places = _below_columns(side)
        if not isinstance(negation, Negation) or not _movable(negation):
            continue
        inner = negation.left
        if position == 0:
            keys = tuple(move_columns(k, places) for k in node.left_keys)
            join = replace(node, left=inner, left_keys=keys)
            at, outputs = 0, [*places, *(len(inner.schema) + i for i in _all(node.right))]
        else:
            keys = tuple(move_columns(k, places) for k in node.right_keys)
            join = replace(node, right=inner, right_keys=keys)
            at, outputs = width, [*_all(node.left), *(width + i for i in places)]
        if node.residual is not None:
            join = replace(join, residual=move_columns(node.residual, outputs))
        lifted = tuple(shift_columns(k, at) for k in negation.left_keys)
        yield project_places(
            replace(negation, left=join, left_keys=lifted), outputs, node.schema, node.span
        )


def push_down_negations(node: Node) -> Iterator[Node]:
    """A negation of a join becomes a join of negations, on the side that has its columns."""
    if not isinstance(node, Negation) or not _movable(node) or not node.left_keys:
        return
    join, places = _below_columns(node.left)
    if not isinstance(join, Join) or is_relation(join.left) or is_relation(join.right):
        return
    keys = tuple(move_columns(k, places) for k in node.left_keys)
    width = len(join.left.schema)
    used = [column.index for key in keys for column in columns_of(key)]
    if not used:
        return
    if max(used) < width:
        changed = replace(join, left=replace(node, left=join.left, left_keys=keys))
    elif min(used) >= width:
        own: tuple[Expression, ...] = tuple(shift_columns(k, -width) for k in keys)
        changed = replace(join, right=replace(node, left=join.right, left_keys=own))
    else:
        return
    yield project_places(changed, places, node.schema, node.span)


def _movable(node: Negation) -> bool:
    return node.form is not NegationForm.EXCEPT and node.residual is None


def _below_columns(node: Node) -> tuple[Node, tuple[int, ...]]:
    """What a projection that only passes columns on stands on, and where they are there."""
    if isinstance(node, Projection) and passes_columns_on(node):
        return node.input, tuple(next(columns_of(c.expression)).index for c in node.columns)
    return node, _all(node)


def _all(node: Node) -> tuple[int, ...]:
    return tuple(range(len(node.schema)))


def push_down_distinct(node: Node) -> Iterator[Node]:
    """The alternatives below the operator that DISTINCT stands on."""
    if not isinstance(node, DuplicateElimination):
        return
    below = node.input
    if isinstance(below, Negation) and below.form is not NegationForm.EXCEPT:
        yield replace(below, left=_distinct(below.left))
        return
    join = below.input if isinstance(below, Projection) else below
    if not isinstance(join, Join) or is_nrr(join.left) or is_nrr(join.right):
        return
    if isinstance(join.left, DuplicateElimination) and isinstance(join.right, DuplicateElimination):
        return
    changed = replace(join, left=_distinct(join.left), right=_distinct(join.right))
    above = replace(below, input=changed) if isinstance(below, Projection) else changed
    if isinstance(below, Projection) and not _keeps_sets(below, join):
        yield replace(node, input=above)
    else:
        yield above


def _distinct(node: Node) -> Node:
    already = isinstance(node, DuplicateElimination)
    return node if already else DuplicateElimination(node, span=node.span)


def _keeps_sets(projection: Projection, join: Join) -> bool:
    """Whether different pairs stay different although the projection leaves columns out."""
    if not passes_columns_on(projection):
        return False
    kept = {c.expression.index for c in projection.columns if isinstance(c.expression, Column)}
    width = len(join.left.schema)
    for one, other in zip(join.left_keys, join.right_keys, strict=True):
        if not isinstance(one, Column) or not isinstance(other, Column) or one.type in INEXACT:
            continue
        if one.index in kept or width + other.index in kept:
            kept |= {one.index, width + other.index}
    return len(kept) == len(join.schema)
