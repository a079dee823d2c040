"""Every storage method under every index that the paper allows, against a recount."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings

from tests.papers.window_indexes.models import (
    GROUPS,
    INDEXES,
    STORAGES,
    bag,
    cut_points,
    group_index,
    grouped,
    in_window,
    pieces,
    streams,
    windows,
)
from windrow.core.errors import WindrowError
from windrow.papers.window_indexes.basic_storage import GroupStorage, ListStorage
from windrow.papers.window_indexes.basic_windows import CountBased
from windrow.papers.window_indexes.group_index import BoundsError, GroupIndex, Groups
from windrow.papers.window_indexes.indexed_window import (
    IndexedWindow,
    UnanswerableError,
    UnsuitableIndexError,
)
from windrow.papers.window_indexes.set_queries import (
    distinct_count,
    histogram,
    intersection,
    median,
    quantile,
    range_histogram,
    range_intersection,
)
from windrow.papers.window_indexes.step_counts import Steps
from windrow.papers.window_indexes.value_index import Purging, h_index, l_index, t_index


def ranges(values: list[int]) -> list[tuple[int | None, int | None, int]]:
    edges = [None, *GROUPS.bounds.tolist(), None]
    found = []
    for low, high in pairwise(edges):
        count = sum((low is None or v >= low) and (high is None or v < high) for v in values)
        if count:
            found.append((low, high, count))
    return found


@pytest.mark.parametrize("index", [*INDEXES, "none"])
@pytest.mark.parametrize("storage", STORAGES)
@settings(max_examples=20)
@given(stream=streams(), cuts=cut_points, spec=windows)
def test_the_histogram_is_that_of_the_window_however_the_input_is_cut(
    storage, index, stream, cuts, spec
):
    values, ts = stream
    window = IndexedWindow(spec, STORAGES[storage](), INDEXES.get(index, lambda: None)())
    for part in pieces(len(values), cuts):
        window.append(values[part], ts[part])
        seen = values[in_window(spec, ts[: part.stop])].tolist()
        found = [a.tolist() for a in histogram(window)]
        assert list(zip(*found, strict=True)) == bag(seen)
        assert distinct_count(window) == len(set(seen))


@pytest.mark.parametrize("storage", [ListStorage, grouped])
@given(stream=streams(), cuts=cut_points, spec=windows)
def test_a_grouped_index_counts_ranges_by_pointers_and_by_delta_files(storage, stream, cuts, spec):
    values, ts = stream
    window = IndexedWindow(spec, storage(), group_index())
    for part in pieces(len(values), cuts):
        window.append(values[part], ts[part])
        seen = values[in_window(spec, ts[: part.stop])].tolist()
        assert range_histogram(window) == ranges(seen)


@given(stream=streams(), spec=windows)
def test_grouped_basic_windows_alone_know_the_ranges_too(stream, spec):
    values, ts = stream
    window = IndexedWindow(spec, grouped())
    window.append(values, ts)
    assert range_histogram(window) == ranges(values[in_window(spec, ts)].tolist())


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("index", [l_index, t_index, h_index])
@settings(max_examples=20)
@given(left=streams(), right=streams(), cuts=cut_points, spec=windows)
def test_two_windows_in_one_index_intersect_in_the_values_that_both_hold(
    storage, index, left, right, cuts, spec
):
    shared = index(windows=2)
    both = [IndexedWindow(spec, STORAGES[storage](), shared, number) for number in (0, 1)]
    for number, (values, ts) in enumerate((left, right)):
        for part in pieces(len(values), cuts):
            both[number].append(values[part], ts[part])
    held = [set(values[in_window(spec, ts)].tolist()) for values, ts in (left, right)]
    assert intersection(shared).tolist() == sorted(held[0] & held[1])
    for number, (values, ts) in enumerate((left, right)):
        found = [a.tolist() for a in histogram(both[number])]
        assert list(zip(*found, strict=True)) == bag(values[in_window(spec, ts)].tolist())


@given(left=streams(), right=streams(), spec=windows)
def test_the_approximate_intersection_is_the_ranges_that_both_windows_touch(left, right, spec):
    shared = group_index(windows=2)
    touched = []
    for number, (values, ts) in enumerate((left, right)):
        IndexedWindow(spec, grouped(), shared, number).append(values, ts)
        seen = values[in_window(spec, ts)].tolist()
        touched.append([(low, high) for low, high, _ in ranges(seen)])
    assert range_intersection(shared) == [r for r in touched[0] if r in touched[1]]


@pytest.mark.parametrize("index", ["T", "T ranked", "T ranked, zero nodes", "H", "none"])
@settings(max_examples=20)
@given(stream=streams(), cuts=cut_points, spec=windows)
def test_quantiles_are_those_of_the_sorted_window(index, stream, cuts, spec):
    values, ts = stream
    values = np.clip(values, -1000, 1000)
    window = IndexedWindow(spec, ListStorage(), INDEXES.get(index, lambda: None)())
    for part in pieces(len(values), cuts):
        window.append(values[part], ts[part])
    seen = values[in_window(spec, ts)]
    if not len(seen):
        assert median(window) is None
        return
    for fraction in (0.0, 0.25, 0.5, 0.9, 1.0):
        assert quantile(window, fraction) == pytest.approx(np.quantile(seen, fraction))


@pytest.mark.parametrize("index", [l_index, t_index, h_index])
@pytest.mark.parametrize("purging", Purging)
def test_values_that_left_long_ago_leave_the_index_and_pending_ones_stay(index, purging):
    made = index(purging=purging)
    window = IndexedWindow(CountBased(5, 10), ListStorage(), made)
    window.append(np.arange(10_005))
    # 50 in the window, 5 pending, and what left since the last purge, which is at every turn.
    assert len(made) <= 50 + 10 + 5
    assert histogram(window)[0].tolist() == list(range(9_950, 10_000))
    window.append(np.arange(10_005, 10_010))
    assert histogram(window)[0].tolist() == list(range(9_960, 10_010))


def test_a_pending_value_survives_a_purge_by_the_other_window_of_the_index():
    shared = t_index(windows=2)
    left = IndexedWindow(CountBased(1, 2), ListStorage(), shared, 0)
    right = IndexedWindow(CountBased(1, 2), ListStorage(), shared, 1)
    left.append(np.array([1]))  # pending
    right.append(np.arange(2, 42))  # turns, and purges, twenty times
    left.append(np.array([40]))
    assert intersection(shared).tolist() == [40]
    assert [a.tolist() for a in histogram(left)] == [[1, 40], [1, 1]]


@pytest.mark.parametrize(
    ("storage", "index"),
    [
        *((grouped, i) for i in (l_index, t_index, h_index)),
        *((STORAGES[s], group_index) for s in ("AGGR", "HASH")),
    ],
)
def test_pairs_that_the_paper_does_not_allow_are_refused_with_the_reason(storage, index):
    with pytest.raises(UnsuitableIndexError, match=r"GROUP no longer knows|AGGR and HASH count"):
        IndexedWindow(CountBased(2, 2), storage(), index())


def test_a_grouped_index_has_the_groups_of_its_basic_windows():
    other = GroupIndex(Groups(np.array([1, 2])))
    with pytest.raises(UnsuitableIndexError, match="different bounds"):
        IndexedWindow(CountBased(2, 2), grouped(), other)


def test_bounds_of_groups_increase():
    with pytest.raises(BoundsError, match="increase"):
        Groups(np.array([3, 3]))


def test_even_groups_divide_a_range_into_equal_parts():
    groups = Groups.even(0, 100, 4)
    assert [groups.label(g) for g in range(len(groups))] == [
        (None, 25), (25, 50), (50, 75), (75, None),
    ]  # fmt: skip


def test_questions_that_a_window_cannot_answer_name_the_ones_that_it_can():
    by_range = IndexedWindow(CountBased(2, 2), grouped(), group_index())
    with pytest.raises(UnanswerableError, match="use range_histogram"):
        histogram(by_range)
    with pytest.raises(UnanswerableError, match="use range_histogram"):
        median(IndexedWindow(CountBased(2, 2), GroupStorage(GROUPS)))
    with pytest.raises(UnanswerableError, match="use histogram"):
        range_histogram(IndexedWindow(CountBased(2, 2), ListStorage(), t_index()))
    with pytest.raises(UnanswerableError, match="two windows share"):
        intersection(l_index())
    with pytest.raises(WindrowError, match="from 0 to 1"):
        quantile(IndexedWindow(CountBased(2, 2), ListStorage()), 1.5)
    with pytest.raises(WindrowError, match="one window, if it is ranked"):
        t_index(windows=2, ranked=True)
    with pytest.raises(WindrowError, match="a window number below 1"):
        IndexedWindow(CountBased(2, 2), ListStorage(), l_index(), number=1)


def test_a_list_of_zero_nodes_spares_looking_through_the_index():
    scanned, noted = (
        IndexedWindow(CountBased(5, 20), ListStorage(), t_index(purging=p)) for p in Purging
    )
    values = np.random.default_rng(1).integers(0, 50, 4_000)
    for window in (scanned, noted):
        window.append(values)
    assert noted.steps.purge < scanned.steps.purge / 2
    assert histogram(noted)[1].tolist() == histogram(scanned)[1].tolist()


def test_steps_can_be_compared_with_earlier_ones():
    window = IndexedWindow(CountBased(2, 5), ListStorage(), l_index())
    window.append(np.arange(10))
    before = window.steps.copy()
    window.append(np.zeros(5, np.int64))
    assert window.steps.since(before) == Steps(
        store=5, locate=5, attach=5, expire=5, purge=window.steps.purge - before.purge
    )
    assert window.steps.total() > before.total()
