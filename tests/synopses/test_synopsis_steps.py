"""How much work synopses take, counted: Figure 2.5 of Golab 2006, and the costs of 2.3.4."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.synopses.recomputation import closed
from windrow.synopses import (
    BasicIntervalSynopsis,
    Extremes,
    IntervalSynopsis,
    RunningSynopsis,
    Sums,
    Synopsis,
    SynopsisError,
)


def filled(synopsis: Synopsis[Any], updates: int) -> Synopsis[Any]:
    rows = [(number, 0, number) for number in range(1, updates + 1)]
    for number in range(1, updates + 1):
        synopsis.update(closed(synopsis.f, rows, number))
    return synopsis


def combined(synopsis: Synopsis[Any], n: int) -> int:
    before = synopsis.work.combined
    synopsis.probe(n)
    return synopsis.work.combined - before


def test_figure_2_5_with_b_8_and_a_window_of_7() -> None:
    assert combined(filled(RunningSynopsis(Sums(), 1, 8), 16), 7) == 2
    assert combined(filled(IntervalSynopsis(Extremes("MAX"), 1, 8), 16), 7) == 3
    assert combined(filled(BasicIntervalSynopsis(Extremes("MAX"), 1, 8), 16), 7) == 7


def test_an_interval_synopsis_cuts_a_window_into_few_disjoint_intervals() -> None:
    b = 64
    at_its_alignment, anywhere = [], []
    synopsis = filled(IntervalSynopsis(Sums(), 1, b), b)
    for number in range(b + 1, 3 * b + 1):
        synopsis.update(closed(synopsis.f, [(number, 0, 1)], number))
        found = [combined(synopsis, n) for n in range(1, b + 1)]
        (at_its_alignment if number % b == 0 else anywhere).append(max(found))
        assert synopsis.size() < 2 * b
    assert max(at_its_alignment) == math.log2(b)
    assert max(anywhere) <= 2 * math.log2(b) - 2


def test_an_update_of_an_interval_synopsis_writes_two_values_on_average() -> None:
    synopsis = filled(IntervalSynopsis(Extremes("MIN"), 1, 64), 640)
    assert 1.9 * 640 < synopsis.work.touched < 2 * 640
    basic = filled(BasicIntervalSynopsis(Extremes("MIN"), 1, 64), 640)
    assert (basic.work.touched, basic.size()) == (640, 64)


def test_a_running_synopsis_writes_one_value_and_is_rebased_once_per_window() -> None:
    synopsis = filled(RunningSynopsis(Sums(), 1, 64), 640)
    assert synopsis.work.touched == 640
    assert 0 < synopsis.work.rebased <= 640 + 64
    assert synopsis.size() == 65
    # What it holds is not the whole past: the oldest value has nothing that was rebased away.
    totals = [synopsis.f.answer("SUM", v)["value"].to_pylist() for v in synopsis._held.values()]
    assert max(value for found in totals for value in found) < sum(range(512, 641))


def test_one_scan_answers_windows_of_all_lengths() -> None:
    synopsis = BasicIntervalSynopsis(Extremes("MAX"), 1, 8)
    filled(synopsis, 20)
    before = synopsis.work.combined
    found = synopsis.scan([3, 8, 5, 3])
    assert synopsis.work.combined - before == 8
    assert sorted(found) == [3, 5, 8]
    for n, value in found.items():
        assert synopsis.f.answer("MAX", value) == synopsis.answer("MAX", n)
    with pytest.raises(SynopsisError, match="1 to 8 sub-windows"):
        synopsis.scan([2, 9])
