"""How far time has come, from what packing tasks know."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from windrow.core.time import BEGINNING
from windrow.streams.stream_time import StreamTime, from_json, merge_times, time_reached, to_json

times = st.builds(
    StreamTime,
    top=st.integers(-50, 50),
    advanced=st.integers(-50, 50),
    over=st.booleans(),
    at=st.integers(0, 9),
    idle=st.booleans(),
)


def test_the_slowest_stream_holds_time_back():
    known = {"a": StreamTime(top=100), "b": StreamTime(top=40)}
    assert time_reached(known, {"a": 0, "b": 5}) == 40 - 5 - 1


def test_a_stream_of_which_nothing_is_known_holds_time_at_the_beginning():
    assert time_reached({"a": StreamTime(top=100)}, {"a": 0, "b": 0}) == BEGINNING


def test_a_stream_that_is_over_holds_nothing_back():
    known = {"a": StreamTime(top=100), "b": StreamTime(top=40, over=True)}
    assert time_reached(known, {"a": 0, "b": 0}) == 99


def test_a_stream_that_is_idle_holds_nothing_back_unless_all_are():
    known = {"a": StreamTime(top=100), "b": StreamTime(top=40, idle=True)}
    assert time_reached(known, {"a": 0, "b": 0}) == 99
    silent = {"a": StreamTime(top=100, idle=True), "b": StreamTime(top=40, idle=True)}
    assert time_reached(silent, {"a": 0, "b": 0}) == 39, "no further than it was before"
    half = {"a": StreamTime(top=100, over=True), "b": StreamTime(top=40, idle=True)}
    assert time_reached(half, {"a": 0, "b": 0}) == 39, "the end of one does not end the other"


def test_a_stream_that_brings_rows_again_is_not_idle():
    silent, awake = StreamTime(10, at=3, idle=True), StreamTime(12, at=4)
    assert not silent.merge(awake).idle
    assert not awake.merge(silent).idle


def test_when_all_streams_are_over_time_ends_at_the_greatest_timestamp():
    known = {"a": StreamTime(top=100, over=True), "b": StreamTime(top=140, over=True)}
    assert time_reached(known, {"a": 7, "b": 7}) == 140


def test_advancing_closes_instants_that_no_row_has_reached():
    assert time_reached({"a": StreamTime(top=10, advanced=80)}, {"a": 3}) == 80


def test_a_stream_that_goes_on_after_its_end_is_not_over():
    ended, going_on = StreamTime(10, over=True, at=3), StreamTime(12, at=4)
    assert not ended.merge(going_on).over
    assert not going_on.merge(ended).over


@given(order=st.permutations([0, 1, 2]), parts=st.lists(times, min_size=3, max_size=3))
def test_what_is_known_does_not_depend_on_the_order_in_which_it_is_told(order, parts):
    told = [{"s": parts[i]} for i in order]
    assert merge_times(told) == merge_times([{"s": p} for p in parts])


@given(st.dictionaries(st.sampled_from("ab"), times))
def test_times_survive_a_manifest(known):
    assert from_json(to_json(known)) == known


def test_times_of_state_from_before_there_were_idle_streams_are_read():
    assert from_json({"s": [7, 5, 1, 3]}) == {"s": StreamTime(7, 5, over=True, at=3)}
