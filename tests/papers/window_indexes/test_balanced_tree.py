"""The balanced tree against a plain dictionary: order, balance, weights, whatever is done to it."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from windrow.papers.window_indexes.balanced_tree import BalancedTree
from windrow.windows.avl import HEIGHT, LEFT, PARENT, RIGHT, WEIGHT
from windrow.windows.index_nodes import EACH_ONCE, VALUE


def checked(tree: BalancedTree) -> list[tuple[int, int]]:
    """Values and counts in order; fails if the tree is not a balanced, weighted search tree."""
    links, counts = tree.nodes.links, tree.nodes.counts
    found: list[tuple[int, int]] = []

    def visit(node: int, parent: int) -> tuple[int, int]:
        if node < 0:
            return 0, 0
        assert links[node, PARENT] == parent
        left_height, left_weight = visit(links[node, LEFT], node)
        found.append((int(links[node, VALUE]), int(counts[node, 0])))
        right_height, right_weight = visit(links[node, RIGHT], node)
        assert abs(left_height - right_height) <= 1
        assert links[node, HEIGHT] == 1 + max(left_height, right_height)
        weight = left_weight + right_weight + int(counts[node, 0])
        assert links[node, WEIGHT] == weight
        return int(links[node, HEIGHT]), weight

    visit(int(tree._roots[0]), ~0)
    assert [v for v, _ in found] == sorted({v for v, _ in found})
    return found


changes = st.lists(
    st.tuples(st.sampled_from(["come", "come", "go", "purge"]), st.integers(0, 40)), max_size=150
)


@given(changes)
def test_the_tree_stays_balanced_ordered_and_weighted(done):
    tree, counts, numbers = BalancedTree(ranked=True), {}, {}
    for what, value in done:
        if what == "come":
            (node,), _ = tree.locate(np.array([value]))
            assert numbers.setdefault(value, node) == node, "a node keeps its number"
            counts[value] = counts.get(value, 0) + 1
            tree.nodes.attach(np.array([node]), EACH_ONCE, 0)
        elif what == "go" and counts.get(value):
            counts[value] -= 1
            emptied, _ = tree.nodes.expire(np.array([numbers[value]]), EACH_ONCE, 0)
            assert len(emptied) == (counts[value] == 0)
        elif what == "purge":
            gone = [v for v, count in counts.items() if not count]
            tree.unlink(np.array([numbers.pop(v) for v in gone], np.int64))
            counts = {v: count for v, count in counts.items() if count}
        assert checked(tree) == sorted(counts.items())
    everything = sorted(v for v, count in counts.items() for _ in range(count))
    assert tree.weight() == len(everything)
    ranks = np.arange(len(everything))
    assert tree.nodes.values(tree.nth(ranks)).tolist() == everything


def test_sorted_arrivals_do_not_make_a_deep_tree():
    tree = BalancedTree()
    tree.locate(np.arange(100_000))
    root = int(tree._roots[0])
    assert tree.nodes.links[root, HEIGHT] <= 1.45 * np.log2(100_000)
    assert tree.nodes.values(tree.by_value()).tolist() == list(range(100_000))


def test_nodes_can_be_taken_out_wherever_they_are():
    rng = np.random.default_rng(5)
    for _ in range(20):
        tree, values = BalancedTree(ranked=True), rng.permutation(100)
        nodes, _ = tree.locate(values)
        tree.nodes.attach(nodes, EACH_ONCE, 0)
        left = dict(zip(values.tolist(), nodes.tolist(), strict=True))
        for gone in np.array_split(rng.permutation(100), 12):
            numbers = np.array([left.pop(v) for v in gone.tolist()])
            tree.nodes.expire(numbers, EACH_ONCE, 0)
            tree.unlink(numbers)
            assert checked(tree) == [(v, 1) for v in sorted(left)]
