"""Buffers: how rows are cut into batches makes no difference, and nothing is lost."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.synopses.recomputation import by_group, recompute
from windrow.synopses import Counters, RowBuffer, Sums, SynopsisError, TimeBuffer

ROWS = st.lists(
    st.tuples(st.integers(0, 12), st.integers(0, 2), st.integers(-9, 9)), min_size=1, max_size=25
)
"""Pauses before a row, its group and its value."""
CUTS = st.lists(st.integers(0, 25), max_size=4)


def pieces(count: int, cuts: list[int]) -> list[slice]:
    points = [0, *sorted(min(cut, count) for cut in cuts), count]
    return [slice(*pair) for pair in pairwise(points)]


@given(rows=ROWS, cuts=CUTS)
def test_sub_windows_of_time_are_the_rows_of_their_time(
    rows: list[tuple[int, int, int]], cuts: list[int]
) -> None:
    pauses, groups, values = (np.array(column) for column in zip(*rows, strict=True))
    ts = np.cumsum(pauses) - 20
    buffer, handed = TimeBuffer(Sums(), s=5), []
    for piece in pieces(len(ts), cuts):
        saved = buffer.save()
        buffer = TimeBuffer(Sums(), s=5)
        buffer.load(saved.put, saved.meta)
        handed += buffer.feed(values[piece], groups[piece], ts=ts[piece])
    last = -(-int(ts[-1]) // 5)
    handed += buffer.advance(5 * last + 14)
    numbers = [closed.number for closed in handed]
    assert numbers == sorted(set(numbers))
    assert numbers[-2:] == [last, last + 2]
    found = {c.number: by_group("SUM", Sums().answer("SUM", c.summary)) for c in handed}
    for number in range(-4, last + 3):
        mine = [
            (0, g, v) for t, g, v in zip(ts, groups, values, strict=True) if -(-t // 5) == number
        ]
        assert found.get(number, {}) == recompute("SUM", mine, None)


@given(rows=ROWS, cuts=CUTS)
def test_sub_windows_of_rows_have_as_many_rows_each(
    rows: list[tuple[int, int, int]], cuts: list[int]
) -> None:
    _, groups, values = (np.array(column) for column in zip(*rows, strict=True))
    buffer, handed = RowBuffer(Counters(), s=4), []
    for piece in pieces(len(values), cuts):
        saved = buffer.save()
        buffer = RowBuffer(Counters(), s=4)
        buffer.load(saved.put, saved.meta)
        handed += buffer.feed(values[piece], groups[piece])
    assert [closed.number for closed in handed] == list(range(1, len(values) // 4 + 1))
    for closed in handed:
        part = slice(4 * closed.number - 4, 4 * closed.number)
        mine = [(0, g, v) for g, v in zip(groups[part], values[part], strict=True)]
        assert by_group("TOP", Counters().answer("TOP", closed.summary, 9)) == recompute(
            "TOP", mine, 9
        )


def test_a_buffer_holds_values_and_not_rows() -> None:
    buffer = RowBuffer(Sums(), s=10**6)
    list(buffer.feed(np.arange(10**5), np.arange(10**5) % 7))
    assert buffer.size() == 7
    saved = buffer.save()
    assert saved.put["pending"].num_rows == 7
    assert buffer.save().drop == []


def test_a_sub_window_that_was_handed_over_is_no_longer_saved() -> None:
    buffer = TimeBuffer(Sums(), s=5)
    list(buffer.feed(np.array([1]), ts=np.array([3])))
    assert list(buffer.save().put) == ["pending"]
    assert [closed.number for closed in buffer.advance(5)] == [1]
    assert buffer.save().drop == ["pending"]
    assert list(buffer.advance(5)) == []


@pytest.mark.parametrize(
    ("arguments", "wrong"),
    [
        ({"ts": np.array([5, 3])}, "a timestamp that decreases"),
        ({"ts": np.array([5])}, "2, 2 and 1"),
        ({"ts": np.array([5, 6]), "groups": np.array([1])}, "2, 1 and 2"),
        ({"ts": np.array([-9, 6])}, "a timestamp that decreases"),
    ],
)
def test_rows_that_cannot_be_are_refused(arguments: dict[str, Any], wrong: str) -> None:
    buffer = TimeBuffer(Sums(), s=5)
    list(buffer.advance(-1))
    with pytest.raises(SynopsisError, match=wrong):
        list(buffer.feed(np.array([1, 2]), **arguments))
    for wrong_type in (
        np.array([1, 2], "datetime64[s]"),
        np.array(["a", None], object),
        np.array([1, 2**63], np.uint64),
        np.array([1, 2**70], object),
    ):
        with pytest.raises(SynopsisError, match="integers, floats or texts, without NULLs"):
            list(buffer.feed(wrong_type, ts=np.array([1, 2])))
    with pytest.raises(SynopsisError, match="expected numbers"):
        list(buffer.feed(np.array(["a"]), ts=np.array([1])))
