"""Joins in another order, and several as one n-way join.

A tree of two-way joins keeps every intermediate result; the n-way join of three or more windows on
one common key keeps the windows alone (Golab 2006, ch. 5). Equalities are transitive, so
s.k = t.k AND t.k = u.k is one class of keys. A class counts if it has an expression of every
branch; conditions that it does not imply are checked on the result.

Reordering gives left-deep trees over the same windows. Windows that share one key are not
reordered, because an n-way join of them has its own order. A few windows are tried in every order
that needs no more products than the query itself; of many, only neighbours change places, and the
search goes on from there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations

from windrow.plan.expressions import Call, Expression, conjunction, shift_columns
from windrow.plan.nodes import Join, MultiJoin, Node
from windrow.plan.rules.clusters import Cluster, cluster, is_relation, project_places, rebuild_joins

FEWEST, MOST = 3, 4
"""Two windows have one order, since a join is symmetric; beyond four, neighbours are swapped."""
Member = tuple[int, Expression]
"""A branch, and an expression over the rows of all branches that only uses that one's columns."""


def flatten_joins(node: Node) -> Iterator[Node]:
    """The n-way join that a cluster of joins is, probed in the order in which it is written."""
    if not isinstance(node, Join):
        return
    found = cluster(node)
    if len(found.branches) < FEWEST or any(is_relation(b) for b in found.branches):
        return
    keys = [chosen for same in _classes(found) if (chosen := _one_of_each(same, found)) is not None]
    if not keys:
        return
    rest = tuple(c for c in found.conditions if not _is_implied(c, keys))
    starts = found.starts
    per_branch = tuple(
        tuple(shift_columns(chosen[b], -starts[b]) for chosen in keys)
        for b in range(len(found.branches))
    )
    order = tuple(range(len(found.branches)))
    others, buckets = conjunction(rest), found.buckets
    join = MultiJoin(found.branches, per_branch, order, others, buckets, span=node.span)
    yield project_places(join, found.outputs, node.schema, node.span)


def _sides(condition: Expression, found: Cluster) -> tuple[Member, Member] | None:
    """The two sides of an equality between different branches."""
    if not isinstance(condition, Call) or condition.function != "eq":
        return None
    one, other = condition.args
    places = found.branches_of(one), found.branches_of(other)
    if len(places[0]) != 1 or len(places[1]) != 1 or places[0] == places[1]:
        return None
    if one.type is not other.type:
        return None
    return (min(places[0]), one), (min(places[1]), other)


def _classes(found: Cluster) -> list[list[Member]]:
    """Expressions that are equal in every result, in the order in which they are written."""
    classes: list[list[Member]] = []
    for condition in found.conditions:
        sides = _sides(condition, found)
        if sides is None:
            continue
        touched = [same for same in classes if sides[0] in same or sides[1] in same]
        merged = [member for same in touched for member in same]
        merged += [side for side in sides if side not in merged]
        classes = [same for same in classes if same not in touched] + [merged]
    return classes


def _one_of_each(same: list[Member], found: Cluster) -> tuple[Expression, ...] | None:
    chosen: dict[int, Expression] = {}
    for branch, expression in same:
        chosen.setdefault(branch, expression)
    if len(chosen) < len(found.branches):
        return None
    return tuple(chosen[b] for b in range(len(found.branches)))


def _is_implied(condition: Expression, keys: list[tuple[Expression, ...]]) -> bool:
    return (
        isinstance(condition, Call)
        and condition.function == "eq"
        and any(set(condition.args) <= set(chosen) for chosen in keys)
    )


def reorder_joins(node: Node) -> Iterator[Node]:
    """The cluster at the top joined in other orders; its columns stay where they are."""
    if not isinstance(node, Join):
        return
    found = cluster(node)
    count = len(found.branches)
    if count < FEWEST or any(True for _ in flatten_joins(node)):
        return
    written = tuple(range(count))
    fewest = _products(found, written)
    for order in permutations(written) if count <= MOST else _swaps(written):
        mirrored = order[0] > order[1]
        if order != written and not mirrored and _products(found, order) <= fewest:
            yield rebuild_joins(found, order, node.schema, node.span)


def _swaps(order: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    for i in range(1, len(order) - 1):
        yield (*order[:i], order[i + 1], order[i], *order[i + 2 :])


def _products(found: Cluster, order: Sequence[int]) -> int:
    """How many joins of the order have no condition, and so pair everything with everything."""
    needs = [found.branches_of(c) for c in found.conditions]
    taken, products = {order[0]}, 0
    for branch in order[1:]:
        before = frozenset(taken)
        taken.add(branch)
        products += not any(
            branch in needed and needed <= taken and needed & before for needed in needs
        )
    return products
