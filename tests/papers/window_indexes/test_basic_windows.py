"""The circular array of basic windows: when it turns, what it keeps, what queries may see."""

from __future__ import annotations

from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.papers.window_indexes.models import cut_points, in_window, pieces, streams, windows
from windrow.papers.window_indexes.basic_storage import ListStorage
from windrow.papers.window_indexes.basic_windows import CountBased, TimeBased, WindowError
from windrow.papers.window_indexes.indexed_window import IndexedWindow
from windrow.papers.window_indexes.set_queries import histogram


def listed(spec: CountBased | TimeBased) -> IndexedWindow:
    return IndexedWindow(spec, ListStorage())


def held(window: IndexedWindow) -> list[list[int]]:
    return [part.contents.pointers.tolist() for part in window.basic]


def test_what_is_filling_is_seen_only_when_it_is_full():
    window = listed(CountBased(basic_windows=2, tuples=3))
    assert window.append(np.arange(5)) == 1
    assert held(window) == [[0, 1, 2]]
    assert window.append(np.array([5])) == 1
    assert held(window) == [[0, 1, 2], [3, 4, 5]]
    assert window.append(np.arange(6, 9)) == 1
    assert held(window) == [[3, 4, 5], [6, 7, 8]]


def test_a_basic_window_has_the_timestamp_of_its_oldest_tuple():
    window = listed(CountBased(2, 2))
    window.append(np.array([7, 7, 7]), np.array([10, 11, 15]))
    assert window.stamps() == [10]
    window.append(np.array([7]), np.array([19]))
    assert window.stamps() == [10, 15]


def test_arrival_is_the_time_of_tuples_that_come_without_one():
    window = listed(CountBased(2, 2))
    window.append(np.arange(6))
    assert window.stamps() == [2, 4]


def test_a_span_without_tuples_is_an_empty_basic_window():
    #  span   0   1   2   3
    #  tuple  a           b      the third span is reached when b comes
    window = listed(TimeBased(basic_windows=3, span=10))
    turns = list(window.feed(np.array([1, 2]), np.array([3, 31])))
    assert turns == [1, 2, 3]
    assert held(window) == [[1], [], []]
    assert window.stamps() == [3, 10, 20]


def test_a_gap_longer_than_the_window_empties_it_in_as_many_turns_as_it_has_basic_windows():
    window = listed(TimeBased(3, 10))
    window.append(np.array([1]), np.array([5]))
    assert window.append(np.array([2]), np.array([10**9])) == 4
    assert held(window) == [[], [], []]
    assert window.stamps() == [10**9 - 30, 10**9 - 20, 10**9 - 10]


def test_time_that_passes_without_tuples_turns_the_window():
    window = listed(TimeBased(2, 10))
    window.append(np.array([1, 2]), np.array([5, 9]))
    assert window.advance(9) == 0
    assert held(window) == []
    assert window.advance(10) == 1
    assert held(window) == [[1, 2]]
    assert window.advance(35) == 2
    assert held(window) == [[], []]


@given(stream=streams(), cuts=cut_points, spec=windows)
def test_basic_windows_are_the_same_however_the_input_is_cut(stream, cuts, spec):
    values, ts = stream
    whole, parts = listed(spec), listed(spec)
    whole.append(values, ts)
    for part in pieces(len(values), cuts):
        parts.append(values[part], ts[part])
    assert held(parts) == held(whole)
    assert parts.stamps() == whole.stamps()
    assert list(chain(*held(whole))) == values[in_window(spec, ts)].tolist()


@given(stream=streams(), spec=st.builds(CountBased, st.integers(1, 5), st.integers(1, 7)))
def test_at_each_turn_queries_see_full_basic_windows_only(stream, spec):
    values, ts = stream
    window = listed(spec)
    for turn in window.feed(values, ts):
        seen = values[in_window(spec, ts[: turn * spec.tuples])]
        assert histogram(window)[1].sum() == len(seen)


def test_time_does_not_go_back():
    window = listed(TimeBased(2, 10))
    with pytest.raises(WindowError, match="order of their timestamps"):
        window.append(np.array([1, 2]), np.array([5, 4]))
    window = listed(TimeBased(2, 10))
    window.append(np.array([1]), np.array([50]))
    with pytest.raises(WindowError, match="from 50 on"):
        window.append(np.array([1]), np.array([49]))
    with pytest.raises(WindowError, match="from 50 on"):
        window.advance(20)


def test_a_window_of_a_time_span_asks_for_timestamps():
    with pytest.raises(WindowError, match="a timestamp per tuple"):
        listed(TimeBased(2, 10)).append(np.array([1]))


@pytest.mark.parametrize("kind", [CountBased, TimeBased])
@pytest.mark.parametrize("sizes", [(0, 5), (5, 0), (-1, 3)])
def test_a_window_has_basic_windows_and_they_have_a_size(kind, sizes):
    with pytest.raises(WindowError, match="at least one basic window"):
        kind(*sizes)
