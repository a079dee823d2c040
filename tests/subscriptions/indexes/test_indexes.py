"""Every index answers as if each interval were compared with each point."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.subscriptions.indexes.stabbing import (
    MAX,
    MIN,
    RANGED,
    EveryInterval,
    ints,
    of_every_kind,
    stabbed,
)
from windrow.papers.interval_indexes import SimpleConstructs
from windrow.subscriptions.indexes import (
    ContainmentEncoded,
    GriddedIntervals,
    IntervalSkipList,
    UnitIntervals,
    cei,
    constructs,
    gridded_intervals,
    interval_index,
)
from windrow.subscriptions.indexes.idlists import CapacityError
from windrow.subscriptions.indexes.interval_index import IdsError
from windrow.subscriptions.indexes.segments import SegmentLists
from windrow.subscriptions.indexes.skiplist import SkipList

IDS = 40


def ends(near: int) -> st.SearchStrategy[int]:
    """Inside the range of 0 to ``near``, around it, far away, and none."""
    return st.one_of(
        st.integers(0, near),
        st.integers(-near, 2 * near),
        st.sampled_from([MIN, MIN + 1, -(2**40), 2**40, MAX - 1, MAX]),
    )


@st.composite
def changes(draw, near: int = 24):
    """Insertions and removals, with ids that come back under other bounds."""
    held: set[int] = set()
    steps = []
    for _ in range(draw(st.integers(1, 6))):
        free = [i for i in range(IDS) if i not in held]
        ids = draw(st.lists(st.sampled_from(free), unique=True, max_size=12)) if free else []
        lo = [draw(ends(near)) for _ in ids]
        hi = [draw(st.one_of(ends(near), st.just(min(a + 1, MAX)), st.just(a))) for a in lo]
        held |= set(ids)
        gone = draw(st.lists(st.sampled_from(sorted(held)), unique=True)) if held else []
        held -= set(gone)
        steps.append((ids, lo, hi, gone))
    return steps


def every_bound(steps, near: int) -> list[int]:
    """Points at, before and after every end."""
    named = {x for _, lo, hi, _ in steps for x in (*lo, *hi)} | {0, near, MIN, MAX}
    return sorted({min(max(x + d, MIN), MAX) for x in named for d in (-1, 0, 1)})


@pytest.mark.usefixtures("sizes")
@given(
    steps=changes(),
    low=st.integers(-3, 8),
    high=st.integers(-3, 40),
    length=st.sampled_from([None, 1, 2, 8, 32]),
)
def test_every_index_gives_what_comparing_gives(steps, low, high, length):
    twin = EveryInterval()
    indexes = of_every_kind(low, high, length)
    points = every_bound(steps, high)
    for ids, lo, hi, gone in steps:
        twin.insert(ids, lo, hi)
        twin.remove(gone)
        for index in indexes:
            index.insert(ints(ids), ints(lo), ints(hi))
            index.remove(ints(gone))
            assert stabbed(index, points) == twin.search(points), type(index).__name__
            assert len(index) == len(twin.held)


@pytest.mark.usefixtures("sizes")
@given(steps=changes())
@settings(max_examples=30)
def test_edited_lists_are_as_good_as_rebuilt_ones(steps):
    """The same, with nothing ever rebuilt."""
    twin = EveryInterval()
    indexes = of_every_kind(0, 24, 8)
    points = every_bound(steps, 24)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(constructs.ConstructIndex, "_rebuilt_is_cheaper", lambda *_: False)
        patch.setattr(constructs.ConstructIndex, "_much_changed", lambda *_: False)
        patch.setattr(GriddedIntervals, "_much_changed", _forget_the_walk)
        for ids, lo, hi, gone in steps:
            twin.insert(ids, lo, hi)
            for index in indexes:
                index.insert(ints(ids), ints(lo), ints(hi))
            twin.remove(gone)
            for index in indexes:
                index.remove(ints(gone))
                assert stabbed(index, points) == twin.search(points), type(index).__name__


def _forget_the_walk(index: GriddedIntervals, count: int) -> bool:
    index._collect = None
    return False


@pytest.mark.usefixtures("sizes")
@pytest.mark.parametrize("kind", [*RANGED, IntervalSkipList, GriddedIntervals])
def test_many_intervals_come_and_go_one_by_one_and_at_once(kind):
    rng = np.random.default_rng(11)
    index = kind(0, 3_000, 16) if kind in RANGED else kind()
    lo = rng.integers(0, 3_000, 2_000)
    hi = lo + rng.integers(1, 60, 2_000)
    live = np.zeros(2_000, bool)
    points = rng.integers(0, 3_000, 300)
    for count in (1_000, 1, 1, 400, 1, 30):
        new = rng.choice(np.flatnonzero(~live), count, replace=False)
        index.insert(new, lo[new], hi[new])
        live[new] = True
        old = rng.choice(np.flatnonzero(live), count // 2, replace=False)
        index.remove(old)
        live[old] = False
        inside = (lo <= points[:, None]) & (points[:, None] < hi) & live
        assert stabbed(index, points) == sorted(
            zip(*(a.tolist() for a in inside.nonzero()), strict=True)
        )
    index.remove(np.flatnonzero(live))
    assert len(index) == 0
    assert stabbed(index, points) == []


@pytest.mark.usefixtures("sizes")
@pytest.mark.parametrize("kind", [*RANGED, IntervalSkipList, GriddedIntervals])
def test_nothing_is_found_where_nothing_was_put(kind):
    index = kind(0, 10) if kind in RANGED else kind()
    assert stabbed(index, [0, 5, MIN, MAX]) == []
    assert stabbed(index, []) == []
    index.insert(ints([]), ints([]), ints([]))
    index.remove(ints([]))
    index.insert(ints([3, 4]), ints([5, 7]), ints([5, 2]))
    assert stabbed(index, range(10)) == []
    assert len(index) == 2
    index.remove(ints([3, 4]))
    assert len(index) == 0


@pytest.mark.usefixtures("sizes")
@pytest.mark.parametrize("kind", [*RANGED, IntervalSkipList, GriddedIntervals])
def test_ids_are_new_when_inserted_and_known_when_removed(kind):
    index = kind(0, 10) if kind in RANGED else kind()
    index.insert(ints([1, 2]), ints([0, 1]), ints([4, 5]))
    for ids in ([2], [3, 3], [-1], [2**31]):
        with pytest.raises(IdsError):
            index.insert(ints(ids), ints([0] * len(ids)), ints([9] * len(ids)))
    for ids in ([3], [1, 1], [-1], [99]):
        with pytest.raises(IdsError):
            index.remove(ints(ids))
    with pytest.raises(IdsError, match="as many ids"):
        index.insert(ints([7]), ints([0, 1]), ints([4, 5]))
    assert stabbed(index, [0, 1, 4]) == [(0, 1), (1, 1), (1, 2), (2, 2)]


@pytest.mark.usefixtures("sizes")
@pytest.mark.parametrize("kind", [*RANGED, IntervalSkipList, GriddedIntervals])
def test_points_may_be_any_view_of_an_array(kind):
    index = kind(0, 10) if kind in RANGED else kind()
    index.insert(np.arange(4)[::2], np.arange(4)[::2], np.arange(3, 7)[::2])
    assert stabbed(index, np.arange(10)[::3]) == [(0, 0), (1, 2)]


@pytest.mark.usefixtures("sizes")
def test_the_range_grows_when_many_intervals_end_outside():
    index = cei(0, 100)
    ids = np.arange(1_000)
    index.insert(ids[:200], ids[:200], ids[:200] + 5)
    assert index.range == (0, 304)
    index.insert(ids[200:], -ids[200:], 10 * ids[200:])
    assert index.range[0] < -999
    assert index.range[1] > 9_990
    twin = EveryInterval()
    twin.insert(ids[:200].tolist(), ids[:200].tolist(), (ids[:200] + 5).tolist())
    twin.insert(ids[200:].tolist(), (-ids[200:]).tolist(), (10 * ids[200:]).tolist())
    points = [-20_000, -999, -500, 0, 150, 9_989, 9_990, 40_000]
    assert stabbed(index, points) == twin.search(points)


def test_a_range_does_not_grow_for_a_few_intervals_nor_without_end():
    few, far = cei(0, 100), cei(0, 100)
    few.insert(np.arange(60), np.arange(60) * 50, np.arange(60) * 50 + 7)
    assert few.range == (0, 100)
    far.insert(np.arange(600), np.arange(600) * 2**40, np.arange(600) * 2**40 + 7)
    assert far.range == (0, 100)
    assert stabbed(far, [3, 2**41 + 6, 2**41 + 7]) == [(0, 0), (1, 2)]


@pytest.mark.usefixtures("sizes")
@pytest.mark.parametrize("kind", [ContainmentEncoded, GriddedIntervals])
def test_unbounded_intervals_are_few_pieces(kind):
    index = kind(0, 2**20, 16) if kind is ContainmentEncoded else kind()
    spread = np.arange(2_000) * 500
    index.insert(np.arange(2_000), spread, spread + 16)
    before = index.nbytes
    index.insert(np.arange(2_000, 2_400), np.arange(400) * 2_000, np.full(400, MAX))
    assert index.nbytes - before < 400 * 500
    assert len(stabbed(index, [1_000_003])) == 400
    assert len(stabbed(index, [2**50])) == 400


def test_the_maximal_length_follows_the_data():
    index = cei(0, 2**16)
    rng = np.random.default_rng(5)
    lo = rng.integers(0, 2**16 - 2_000, 60_000)
    index.insert(np.arange(20_000), lo[:20_000], lo[:20_000] + 1)
    short = index.layout.k
    index.insert(np.arange(20_000, 60_000), lo[20_000:], lo[20_000:] + 1_000)
    assert index.layout.k > short
    index.remove(np.arange(20_000, 60_000))
    assert index.layout.k == short


@pytest.mark.usefixtures("sizes")
def test_a_given_length_is_kept():
    index = cei(0, 2**12, 8)
    index.insert(np.arange(5_000), np.arange(5_000) % 4_000, np.arange(5_000) % 4_000 + 90)
    assert index.layout.k == 3


@pytest.mark.usefixtures("sizes")
def test_a_segment_holds_more_ids_than_two_bytes_count():
    index = cei(0, 64, 16)
    count = 70_000
    index.insert(np.arange(count), np.full(count, 3), np.full(count, 9))
    index.insert(ints([count]), ints([4]), ints([5]))
    rows, ids = index.search(ints([2, 3, 4]))
    assert np.bincount(rows, minlength=3).tolist() == [0, count, count + 1]
    assert sorted(ids[rows == 2].tolist()) == list(range(count + 1))


def test_ends_become_wide_when_a_segment_grows_past_two_bytes():
    lists = SegmentLists(1, 2, 1)
    lists.build(np.full(65_530, 1, np.int32), np.arange(65_530, dtype=np.int32))
    assert lists.ends.dtype == np.uint16
    lists.push(np.full(9, 2, np.int32), np.arange(65_530, 65_539, dtype=np.int32))
    assert lists.ends.dtype == np.int32
    assert lists.ends[:4].tolist() == [0, 65_530, 65_539, 65_539]


@pytest.mark.usefixtures("sizes")
@pytest.mark.parametrize("kind", [UnitIntervals, IntervalSkipList, ContainmentEncoded])
def test_a_buffer_that_is_too_small_grows_and_one_that_is_too_large_is_two(kind, monkeypatch):
    index = kind(0, 64) if kind in RANGED else kind()
    count = 700
    index.insert(np.arange(count), np.arange(count) % 7, np.arange(count) % 7 + 40)
    points = ints([0, 10, 63, 20, 6, 46, 45])
    whole = stabbed(index, points)
    assert len(whole) == sum(1 for x in points for i in range(count) if i % 7 <= x < i % 7 + 40)
    monkeypatch.setattr(interval_index.MOST_PAIRS, "value", 4_000)
    assert stabbed(index, points) == whole


@pytest.mark.usefixtures("sizes")
def test_more_pieces_than_can_be_numbered_are_refused():
    index = UnitIntervals(0, 2**25)
    with pytest.raises(CapacityError, match="containment-encoded"):
        index.insert(np.arange(40), np.zeros(40, np.int64), np.full(40, 2**25))


@pytest.mark.usefixtures("sizes")
def test_a_range_of_too_many_integers_and_too_many_lists_are_refused():
    with pytest.raises(CapacityError, match="GriddedIntervals"):
        cei(0, 2**40)
    with pytest.raises(CapacityError, match="maximal length"):
        SimpleConstructs(0, 2**20, 2**12)


@pytest.mark.usefixtures("sizes")
@pytest.mark.parametrize("kind", [*RANGED, IntervalSkipList, GriddedIntervals])
def test_an_index_travels_to_another_process_and_goes_on_there(kind):
    index = kind(0, 10) if kind in RANGED else kind()
    index.insert(ints([0, 1]), ints([0, 3]), ints([4, 2**50]))
    index.search(ints([3]))
    there = pickle.loads(pickle.dumps(index))
    assert stabbed(there, [3, 2**40]) == stabbed(index, [3, 2**40]) == [(0, 0), (0, 1), (1, 1)]
    there.remove(ints([0]))
    assert (stabbed(there, [3]), len(index)) == ([(0, 1)], 2)


@pytest.mark.usefixtures("sizes")
def test_a_skip_list_is_the_same_however_it_came_about():
    """Where markers are depends on the nodes alone: what was edited is minimal, too."""
    rng = np.random.default_rng(2)
    lo = rng.integers(0, 300, 400)
    hi = lo + rng.integers(1, 80, 400)
    edited = IntervalSkipList()
    edited.insert(np.arange(200), lo[:200], hi[:200])
    for first in range(200, 400, 10):
        ids = np.arange(first, first + 10)
        edited.insert(ids, lo[ids], hi[ids])
        edited.remove(ids - 150)
    _check_markers(edited._list, lo, hi, [*range(50), *range(250, 400)])


def _check_markers(skips: SkipList, lo, hi, ids) -> None:
    """Each interval marks edges that make it up, none of which is in a longer one inside it."""
    edges = skips._edges
    spans = {}
    node, key = 0, MIN
    while node >= 0:
        for level in range(int(skips._heights[node])):
            spans[node + level] = (key, int(edges[node + level, 0]), level)
        node, key = int(edges[node, 1]), int(edges[node, 0])
    marked: dict[int, list[tuple[int, int, int]]] = {i: [] for i in ids}
    for edge, span in spans.items():
        for i in skips._markers.contents(ints([edge])).tolist():
            marked[i].append(span)
    longer = sorted({(a, b) for a, b, _ in spans.values()})
    for i in ids:
        pieces = sorted(marked[i])
        assert pieces[0][0] == lo[i]
        assert pieces[-1][1] == hi[i]
        assert all(p[1] == q[0] for p, q in itertools.pairwise(pieces))
        for a, b, _ in pieces:
            assert not any(
                lo[i] <= c <= a and b <= d <= hi[i] and (c, d) != (a, b) for c, d in longer
            )


def test_bytes_are_those_of_what_is_held():
    index = cei(0, 2**20)
    rng = np.random.default_rng(9)
    lo = rng.integers(0, 2**20, 100_000)
    index.insert(np.arange(100_000), lo, lo + rng.integers(1, 201, 100_000))
    assert 17 * 100_000 < index.nbytes < 110 * 100_000
    grid = GriddedIntervals()
    grid.insert(np.arange(100_000), lo * 2**30, (lo + 100) * 2**30)
    assert grid.nbytes < 130 * 100_000
    assert gridded_intervals.LEAST.value < grid.grid.cells < 2**20
