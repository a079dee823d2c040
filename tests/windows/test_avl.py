"""Trees of many groups over one array of nodes, against a sorted list per group."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.windows import avl
from windrow.windows.avl import WEIGHT, Forest, change, in_order, nth
from windrow.windows.index_nodes import VALUE

pytestmark = pytest.mark.usefixtures("sizes")


@numba.njit
def _apply(tree, value, sign, links, counts, state, roots, occupied):
    for i in range(len(tree)):
        change(value[i], tree[i], sign[i], links, counts, state, roots, occupied)


@numba.njit
def _all_of(root, links, counts):
    size = links[root, WEIGHT] if root >= 0 else 0
    return [links[nth(k, root, links, counts), VALUE] for k in range(size)]


events = st.lists(
    st.tuples(st.integers(0, 4), st.integers(-5, 5), st.booleans()), min_size=1, max_size=120
)


@given(batches=st.lists(events, min_size=1, max_size=4), keep=st.integers(0, 31))
def test_each_group_reads_as_its_sorted_values(batches, keep):
    trees, twin = Forest(), {g: [] for g in range(5)}
    trees.reserve(5, 0)
    for batch in batches:
        done = []
        for group, value, comes in batch:
            if comes:
                twin[group].append(value)
            elif value in twin[group]:
                twin[group].remove(value)
            else:
                continue
            done.append((group, value, 1 if comes else -1))
        trees.reserve(0, len(done))
        _apply(*np.array(done, np.int64).reshape(-1, 3).T, *trees.arrays())
        links, counts, _, roots, _ = trees.arrays()
        for group, values in twin.items():
            assert list(_all_of(roots[group], links, counts)) == sorted(values)
    # Some groups die, and the others get the numbers from 0 on.
    alive = np.array([g for g in range(5) if keep >> g & 1], np.int64)
    for group in range(5):
        if group not in alive:
            values = np.array(twin[group], np.int64)
            gone = np.full(len(values), -1)
            _apply(np.full(len(values), group), values, gone, *trees.arrays())
    remap = np.full(5, -1, np.int64)
    remap[alive] = np.arange(len(alive))
    trees.renumber(alive, remap)
    links, counts, _, roots, _ = trees.arrays()
    for new, old in enumerate(alive):
        assert list(_all_of(roots[new], links, counts)) == sorted(twin[old])


def test_the_number_of_a_tree_that_died_can_be_given_to_another(monkeypatch):
    """What the dead one left behind must not pass for the other's when it is taken out."""
    monkeypatch.setattr(avl.WORTH_PURGING, "value", 0)
    trees = Forest()
    trees.reserve(2, 8)
    one = np.ones(1, np.int64)
    _apply(0 * one, 7 * one, one, *trees.arrays())
    _apply(one, 9 * one, one, *trees.arrays())
    _apply(0 * one, 7 * one, -one, *trees.arrays())
    trees.renumber(one, np.array([-1, 0]))
    _apply(0 * one, 8 * one, one, *trees.arrays())
    _apply(0 * one, 8 * one, -one, *trees.arrays())
    trees.purge()
    links, counts, _, roots, _ = trees.arrays()
    assert list(_all_of(roots[0], links, counts)) == [9]


def test_unused_nodes_go_once_they_are_the_most(monkeypatch):
    monkeypatch.setattr(avl.WORTH_PURGING, "value", 8)
    trees = Forest()
    trees.reserve(1, 100)
    values, tree = np.arange(100), np.zeros(100, np.int64)
    _apply(tree, values, np.ones(100, np.int64), *trees.arrays())
    _apply(tree[:50], values[:50], np.full(50, -1), *trees.arrays())
    trees.purge()
    assert len(trees) == 100, "half of them is not the most"
    _apply(tree[:20], values[50:70], np.full(20, -1), *trees.arrays())
    trees.purge()
    assert len(trees) == 30
    links, _, _, roots, _ = trees.arrays()
    out = np.empty(30, np.int64)
    assert in_order(int(roots[0]), links, out) == 30
    assert links[out, VALUE].tolist() == list(range(70, 100))
