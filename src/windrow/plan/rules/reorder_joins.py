"""Joins in another order: left-deep trees over the same windows.

Windows that share one key are not reordered here, because an n-way join of them has its own
order (``flatten_joins``). A few windows are tried in every order that needs no more products
than the query itself; of many, only neighbours change places, and the search goes on from there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations

from windrow.plan.nodes import Join, Node
from windrow.plan.rules.clusters import Cluster, cluster, rebuild_joins
from windrow.plan.rules.flatten_joins import flatten_joins

FEWEST, MOST = 3, 4
"""Two windows have one order, since a join is symmetric; beyond four, neighbours are swapped."""


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
