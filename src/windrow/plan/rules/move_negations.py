"""NOT EXISTS and NOT IN above or below a join (Golab 2006, 3.5.3, Figure 3.5).

Below, a negation thins out what is joined, but everything above it has to process negative
tuples; above, the join works on simpler update patterns. Which is cheaper depends on the data.
A left tuple is kept or dropped by its own values, so both give the same answer. A join with a
relation or an NRR is never moved through a negation: it cannot process negative tuples.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from windrow.plan.expressions import Expression, columns_of, shift_columns
from windrow.plan.nodes import Join, Negation, NegationForm, Node, Projection
from windrow.plan.rules.clusters import is_relation, move_columns, passes_columns_on, project_places


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
