"""Worked examples of Golab et al. 2004: the basic windows of Figure 2, the indexes of Figure 3."""

from __future__ import annotations

import numpy as np
import pytest

from windrow.papers.window_indexes.basic_storage import (
    GroupStorage,
    ListStorage,
    aggr_storage,
    hash_storage,
)
from windrow.papers.window_indexes.basic_windows import CountBased
from windrow.papers.window_indexes.group_index import Groups
from windrow.papers.window_indexes.indexed_window import IndexedWindow
from windrow.papers.window_indexes.set_queries import histogram
from windrow.papers.window_indexes.step_counts import Steps
from windrow.papers.window_indexes.value_index import h_index, l_index, t_index
from windrow.windows.avl import HEIGHT, LEFT, RIGHT
from windrow.windows.index_nodes import VALUE

FIGURE_2 = [12, 14, 16, 17, 15, 4, 19, 17, 16, 23, 12, 19, 1, 12, 5, 23]
COUNTED = {1: 1, 4: 1, 5: 1, 12: 3, 14: 1, 15: 1, 16: 2, 17: 2, 19: 2, 23: 2}
FIGURE_3 = [12, 14, 16, 17, 19, 4, 15, 17]


def filled(storage):
    steps = Steps()
    storage.point(storage.insert(np.array(FIGURE_2), steps))
    return storage.close()


def test_a_list_is_the_tuples_as_they_came():
    contents = filled(ListStorage())
    assert contents.pointers.tolist() == FIGURE_2
    assert contents.tuples() == 16


@pytest.mark.parametrize("storage", [aggr_storage(), hash_storage(5)], ids=["AGGR", "HASH"])
def test_aggregated_and_hashed_basic_windows_are_sorted_values_with_counts(storage):
    contents = filled(storage)
    pairs = zip(contents.pointers.tolist(), contents.counts.tolist(), strict=True)
    assert dict(pairs) == COUNTED
    assert contents.pointers.tolist() == sorted(COUNTED)
    assert contents.tuples() == 16


def test_a_grouped_basic_window_is_counts_of_ranges():
    contents = filled(GroupStorage(Groups(np.array([11, 21]))))  # 1-10, 11-20, 21-30
    assert contents.counts.tolist() == [3, 11, 2]
    assert contents.tuples() == 16


@pytest.mark.parametrize("index", [l_index, t_index, lambda: h_index(4)], ids="LTH")
def test_two_basic_windows_of_four_tuples_are_seven_nodes(index):
    made = index()
    window = IndexedWindow(CountBased(2, 4), ListStorage(), made)
    window.append(np.array(FIGURE_3))
    assert len(made) == 7
    assert [a.tolist() for a in histogram(window)] == [
        [4, 12, 14, 15, 16, 17, 19],
        [1, 1, 1, 1, 1, 2, 1],
    ]
    first, second = (part.contents.pointers for part in window.basic)
    assert made.values(first).tolist() == FIGURE_3[:4]
    assert made.values(second).tolist() == FIGURE_3[4:]
    assert first[3] == second[3], "both tuples with the value 17 point to the one node of it"


def test_the_tree_over_the_two_basic_windows_is_the_avl_tree_of_their_values():
    #            14
    #        12      17
    #       4      16   19
    #             15
    index = t_index()
    IndexedWindow(CountBased(2, 4), ListStorage(), index).append(np.array(FIGURE_3))
    links = index.directory.nodes.links

    def drawn(node: int) -> list | None:
        if node < 0:
            return None
        return [int(links[node, VALUE]), drawn(links[node, LEFT]), drawn(links[node, RIGHT])]

    root = int(index.find(np.array([14]))[0])
    assert links[root, HEIGHT] == 4
    assert drawn(root) == [
        14,
        [12, [4, None, None], None],
        [17, [16, [15, None, None], None], [19, None, None]],
    ]
