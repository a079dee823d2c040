"""Duplicate elimination before a join or a negation instead of after it.

The pairs of two sets are a set, if the columns that the query leaves out are equal to ones that
it keeps; then nothing is left to do above the join. Otherwise duplicates are eliminated again
above it, from fewer tuples. NOT EXISTS and NOT IN keep all copies of a tuple or none, so there it
makes no difference for the answer; but below, the input is not yet STRICT, and the operator with
auxiliary state fits (Golab 2006, 3.5.2).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from windrow.core.schema import Type
from windrow.plan.expressions import Column
from windrow.plan.nodes import (
    DuplicateElimination,
    Join,
    Negation,
    NegationForm,
    Node,
    Projection,
    is_nrr,
)
from windrow.plan.rules.clusters import passes_columns_on

INEXACT = (Type.FLOAT, Type.DOUBLE)
"""Values of these types may be equal and yet look different: 0.0 and -0.0."""


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
